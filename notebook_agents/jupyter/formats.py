"""``--format``: how an answer is shown, and what it is read as."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from IPython.core.error import UsageError
from pydantic_core import to_jsonable_python as to_jsonable

from notebook_agents._optional import require
from notebook_agents.errors import AnswerFormatError
from notebook_agents.jupyter._words import clean
from notebook_agents.jupyter.answer import code_in, formula_in, frame_in, json_in
from notebook_agents.results import AgentResult

__all__ = ["FORMATS", "AnswerFormat", "Formatted", "format_named"]

Bundle = dict[str, Any]

_OF_TEXT = ("code", "math")
_LONGEST_SHOWN = 50_000  # characters of JSON that are shown a second time, in order


@dataclass(frozen=True, slots=True)
class Formatted:
    """An answer, read.

    Parameters
    ----------
    result : AgentResult
        Its ``output`` is the value.
    bundle : dict
        What takes the place of the text; empty leaves it as it was written.
    next_cell : str
        Code for a cell below.
    """

    result: AgentResult[Any]
    bundle: Bundle = field(default_factory=dict)
    next_cell: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFormat:
    """One way to read answers.

    Parameters
    ----------
    name : str
        As ``-f`` has it.
    noun : str
        What the answer should be, for the error.
    instruction : str
        What the model is told.
    read : callable or None
        Gives the value of an answer; raises `ValueError`.
    show : callable or None
        Gives the MIME bundle of a value; None leaves the text as it is.
    is_typed : bool
        Whether the answer has been read already, as the type asked for.
    is_verbatim : bool
        Whether the text is shown as it was written, and not as Markdown.
    binds_value : bool
        Whether ``-o`` binds the value, and not the result.
    proposes_cell : bool
        Whether the value is code for a cell below.
    needs : str
        A package without which there is no use to ask.
    """

    name: str
    noun: str = ""
    instruction: str = ""
    read: Callable[[str], Any] | None = None
    show: Callable[[Any], Bundle] | None = None
    is_typed: bool = False
    is_verbatim: bool = False
    binds_value: bool = False
    proposes_cell: bool = False
    needs: str = ""

    def prepare(self) -> None:
        """Refuse before anything is asked if the answer could not be read."""
        if self.needs:
            require(self.needs, extra="notebook")

    def apply(self, result: AgentResult[Any]) -> Formatted:
        """Read the answer of a run.

        Parameters
        ----------
        result : AgentResult
            The outcome.

        Returns
        -------
        Formatted
            The same outcome with its value.

        Raises
        ------
        AnswerFormatError
            If the answer is not what was asked for.
        """
        if self.read is None:
            return Formatted(result)
        text = result.answer
        if self.is_typed and result.stop_reason == "stop":
            # The model was asked for the shape of the type, perhaps with an object
            # around it.
            text = json.dumps(to_jsonable(result.output), ensure_ascii=False)
        try:
            value = self.read(text)
        except ValueError as error:
            message = (
                f"The answer above is not {self.noun}: {error}. "
                "All of it is in the agent's last_run."
            )
            raise AnswerFormatError(message, result=result) from error
        keeps_output = self.is_typed and self.name == "json"
        return Formatted(
            result if keeps_output else replace(result, output=value),
            self.show(value) if self.show is not None else {},
            value if self.proposes_cell else "",
        )


def format_named(
    name: str, *, display: Callable[[Any], Bundle], type_name: str = ""
) -> AnswerFormat:
    """Find a format.

    Parameters
    ----------
    name : str
        One of `FORMATS`.
    display : callable
        Gives the MIME bundle by which the notebook shows any value.
    type_name : str
        The type that the answer shall have; empty where it is any text.

    Returns
    -------
    AnswerFormat
        With which to read answers.

    Raises
    ------
    UsageError
        If answers of a type cannot be read that way.
    """
    found = _FORMATS[name]
    if name == "df":
        found = replace(found, show=display)
    if not type_name:
        return found
    if name in _OF_TEXT:
        message = (
            f"-f {name} reads a text, but the answer is of the type {type_name}. "
            "Leave -f out, or take -f json."
        )
        raise UsageError(message)
    return replace(found, is_typed=True, instruction="")


def _show_json(value: Any) -> Bundle:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    if len(text) > _LONGEST_SHOWN:
        return {}
    return {
        "text/markdown": f"```json\n{text}\n```",
        "text/plain": clean(text),
    }


def _show_formula(formula: str | None) -> Bundle:
    if formula is None:
        return {}
    # A blank line would end the display.
    parts = [_aligned(part.strip()) for part in formula.split("\n\n") if part.strip()]
    markdown = "\n\n".join(f"$$\n{part}\n$$" for part in parts)
    return {"text/markdown": markdown, "text/plain": clean(formula)}


def _aligned(formula: str) -> str:
    """Give lines an environment, without which they would be one."""
    if r"\\" not in formula or r"\begin" in formula:
        return formula
    name = "aligned" if "&" in formula else "gathered"
    return f"\\begin{{{name}}}\n{formula}\n\\end{{{name}}}"


_FORMATS = {
    each.name: each
    for each in (
        AnswerFormat(name="markdown"),
        AnswerFormat(name="text", is_verbatim=True),
        AnswerFormat(
            name="json",
            noun="JSON",
            instruction="Answer with one JSON value and nothing else.",
            read=json_in,
            show=_show_json,
            is_verbatim=True,
            binds_value=True,
        ),
        AnswerFormat(
            name="df",
            noun="a table",
            instruction="Answer with one table and nothing else, as a JSON list of "
            "records.",
            read=frame_in,
            is_verbatim=True,
            binds_value=True,
            needs="pandas",
        ),
        AnswerFormat(
            name="code",
            noun="code",
            instruction="Answer with Python code for one notebook cell, in one "
            "```python fence.",
            read=code_in,
            proposes_cell=True,
        ),
        AnswerFormat(
            name="math",
            noun="a formula",
            instruction="Answer with one formula in LaTeX and nothing else.",
            read=formula_in,
            show=_show_formula,
        ),
    )
}
FORMATS = tuple(_FORMATS)
"""What ``-f`` takes."""
