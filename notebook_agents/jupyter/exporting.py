"""A run as a file: Markdown, a notebook, a web page or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from notebook_agents._optional import require
from notebook_agents.errors import (
    AgentConfigurationError,
    MissingFileError,
    UnusableFileError,
)
from notebook_agents.events import (
    AnswerEvent,
    ErrorEvent,
    ObservationEvent,
    TaskEvent,
)
from notebook_agents.jupyter._targets import character_references
from notebook_agents.jupyter._words import encodable, quoted
from notebook_agents.jupyter.html import header
from notebook_agents.jupyter.markdown import safe_bundle
from notebook_agents.jupyter.segments import ObjectSegment, Segment, TextSegment
from notebook_agents.jupyter.transcript import Transcript
from notebook_agents.messages import Usage
from notebook_agents.results import AgentResult

__all__ = ["export"]

_Bundle = dict[str, Any]

_PICTURES = ("image/png", "image/jpeg")


def export(result: AgentResult[Any], path: Path) -> None:
    """Write a run into a file, whose name says in which form.

    Parameters
    ----------
    result : AgentResult
        The run.
    path : Path
        Ends with ``.md``, ``.ipynb``, ``.html`` or ``.json``.

    Raises
    ------
    AgentConfigurationError
        If it ends with anything else.
    MissingFileError
        If its folder is not there.
    UnusableFileError
        If it cannot be written.
    MissingExtraError
        If ``nbconvert``, which makes web pages, is not installed.
    """
    write = _WRITERS.get(path.suffix.lower())
    if write is None:
        known = ", ".join(_WRITERS)
        message = f"A run can be written as {known}, not as {path.name!r}."
        raise AgentConfigurationError(message)
    # Made whole before the file is touched, which may hold an earlier run.
    text = write(result)
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        _refuse(path, error)


def _refuse(path: Path, error: OSError) -> NoReturn:
    """Say why a file cannot be written, and what to do."""
    folder = path.parent
    if not folder.exists():
        make = f"Path({str(folder)!r}).mkdir(parents=True)"
        message = f"There is no folder {str(folder)!r} to write into; make it: {make}."
        raise MissingFileError(message) from error
    reason = "it is a folder" if path.is_dir() else error.strerror or str(error)
    message = f"{str(path)!r} cannot be written: {reason}."
    raise UnusableFileError(message) from error


def _as_json(result: AgentResult[Any]) -> str:
    data = encodable(result.to_dict())
    return json.dumps(data, ensure_ascii=False, indent=2, default=str)


def _as_markdown(result: AgentResult[Any]) -> str:
    parts = [f"# {_agent(result)}", _quoted(_prompt(result))]
    for segment in _segments(result):
        bundle = segment.bundle()
        if isinstance(segment, TextSegment):
            parts.append(bundle["text/markdown"])
        elif isinstance(segment, ObjectSegment):
            parts.append(_object(bundle))
        else:
            parts.append(_quoted(bundle["text/plain"], fenced=True))
    parts.append(f"*{result.model}: {result.summary()}*")
    return "\n\n".join(part for part in encodable(parts) if part.strip()) + "\n"


def _as_notebook(result: AgentResult[Any]) -> str:
    notebook = _notebook(result)
    notebook["cells"].insert(0, _cell("load", "%load_ext notebook_agents"))
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _as_html(result: AgentResult[Any]) -> str:
    require("nbconvert", extra="notebook")
    from nbconvert import HTMLExporter
    from nbformat import from_dict

    exporter = HTMLExporter(exclude_input_prompt=True, exclude_output_prompt=True)
    page: str = exporter.from_notebook_node(
        from_dict(_notebook(result)),
        resources={"metadata": {"name": _agent(result)}},
    )[0]
    return page.replace("</head>", f"{_STYLE}</head>", 1)


# nbconvert's own style gives code within Markdown the font of the text around it.
_STYLE = """<style>
.jp-RenderedMarkdown .highlight { margin: 0.8em 0; padding: 0.5em 0.8em }
.jp-RenderedMarkdown .highlight pre {
  font: var(--jp-code-font-size) / 1.4 var(--jp-code-font-family);
  background: none;
}
</style>
"""

_WRITERS: dict[str, Callable[[AgentResult[Any]], str]] = {
    ".md": _as_markdown,
    ".ipynb": _as_notebook,
    ".html": _as_html,
    ".json": _as_json,
}


def _notebook(result: AgentResult[Any]) -> dict[str, Any]:
    """Give a notebook with one cell, which can be run again."""
    source = f"{_line(result)}\n{_prompt(result)}"
    cells = encodable([_cell("run", source, _outputs(result))])
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _cell(name: str, source: str, shown: Iterable[_Bundle] = ()) -> dict[str, Any]:
    return {
        "id": name,
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "source": source,
        "outputs": [
            {"output_type": "display_data", "metadata": {}, "data": bundle}
            for bundle in shown
        ],
    }


def _outputs(result: AgentResult[Any]) -> Iterator[_Bundle]:
    yield header(
        _agent(result),
        model=result.model,
        state=_state(result),
        seconds=result.latency_ms / 1000,
        usage=Usage(
            context_tokens=result.context_tokens,
            prompt_tokens=result.prompt_tokens,
            completion_tokens=result.completion_tokens,
            reasoning_tokens=result.reasoning_tokens,
        ),
    )
    for segment in _segments(result):
        yield segment.bundle()


def _segments(result: AgentResult[Any]) -> list[Segment]:
    """Give all that a cell shows of the run, in the order in which it does."""
    transcript = Transcript()
    shown: dict[str, Segment | None] = {}
    for event in result.events:
        shown.update(dict.fromkeys(transcript.apply(event)))
        if isinstance(event, ObservationEvent) and event.bundle:
            key = f"object:{event.seq}"
            shown[key] = ObjectSegment(key, event.step, safe_bundle(event.bundle))
    known = {segment.key: segment for segment in transcript.segments}
    parts = [segment or known[key] for key, segment in shown.items()]
    return [part for part in parts if any(part.bundle().values())]


def _state(result: AgentResult[Any]) -> Any:
    last = result.events[-1] if result.events else None
    if isinstance(last, ErrorEvent):
        return "cancelled" if last.reason == "cancelled" else "failed"
    return "done" if isinstance(last, AnswerEvent) else "running"


def _agent(result: AgentResult[Any]) -> str:
    return result.events[0].agent if result.events else "agent"


def _prompt(result: AgentResult[Any]) -> str:
    first = next((e for e in result.events if isinstance(e, TaskEvent)), None)
    return first.prompt if first is not None else ""


def _line(result: AgentResult[Any]) -> str:
    """Give the line of a cell that asks the same."""
    raw = " -r" if "{" in _prompt(result) else ""  # what stood in a variable is in it
    return f"%%agent {quoted(_agent(result))}{raw}"


def _object(bundle: _Bundle) -> str:
    """Write what a tool returned, printed or drew as Markdown."""
    markdown, plain = bundle.get("text/markdown"), bundle["text/plain"]
    if markdown:
        return str(markdown)
    for kind in _PICTURES:
        if kind in bundle:
            data = "".join(str(bundle[kind]).split())
            return f"![{character_references(plain)}](data:{kind};base64,{data})"
    return _quoted(plain, fenced=True)  # the card above has what the model read


def _quoted(text: str, *, fenced: bool = False) -> str:
    """Quote a text; fenced, so that nothing in it counts as Markdown."""
    if not text.strip():
        return ""
    if fenced:
        fence = "`" * (max(map(len, _runs_of_ticks(text)), default=2) + 1)
        fence = fence if len(fence) > 2 else "```"  # noqa: PLR2004 - the shortest fence
        text = f"{fence}text\n{text}\n{fence}"
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def _runs_of_ticks(text: str) -> list[str]:
    marks = "".join(letter if letter == "`" else " " for letter in text)
    return marks.split()
