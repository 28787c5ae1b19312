"""What a run gives back: `AgentResult`, a frozen value and a mapping."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from typing_extensions import TypeVar

from notebook_agents import checks
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.events import Event
from notebook_agents.front_ends import front_ends
from notebook_agents.messages import Message, to_dicts
from notebook_agents.tables import COLUMNS, frame_of, rows_of

__all__ = ["AgentResult"]

T = TypeVar("T", default=Any)
"""The type of ``output``."""


@dataclass(slots=True)
class _Looks:
    """What becomes of a frozen result when somebody looks at it."""

    is_answer_on_screen: bool = False
    """Whether the next display should spare the reader a second answer."""
    messages: list[dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class AgentResult(Mapping[str, Any], Generic[T]):
    """The outcome of one run.

    ``str(result)`` is the answer, ``result["answer"]`` and ``dict(result)``
    work as for a dict, and every field is an attribute.

    Parameters
    ----------
    answer : str
        The final text.
    output : T
        The answer as a value of the type that was asked for; None if none was, or
        if a limit ended the run first, as ``stop_reason`` tells.
    new_messages : list of dict
        This turn alone.
    context_tokens, prompt_tokens, completion_tokens, reasoning_tokens : int
        Tokens of the last prompt, of all prompts, written, and of those spent
        on reasoning.
    cost : float or None
        US dollars for the model calls that came to their end. None if the price
        of one is not known, which it never is for a model on your own machine,
        and without the extra ``cost`` only where the service itself says it.
    steps : int
        Model calls made.
    tool_calls : list of dict
        One entry a call, in call order: tool, args, content, seconds, status
        (``done``, ``answered`` in its place, ``failed``, ``denied`` or
        ``cancelled``), failed.
    approvals : list of dict
        One entry a decision: request_id, agent, tool, args (those that counted),
        asked (those of the model), decision (``allow``, ``always``, ``deny``,
        ``respond`` or ``stop``), scope and until of an ``always``, reason (of a
        denial, or the answer in place of the tool), by, and at, in seconds since
        the epoch.
    errors : list of str
        What went wrong on the way, one line each.
    stop_reason : str
        ``stop``, ``length``, ``refusal``, ``content_filter``,
        ``max_tool_rounds``, ``budget``, ``blocked`` or ``cancelled``; ``error`` in
        the result that an `OutputValidationError` has.
    is_blocked : bool
        Whether a guard stopped the turn.
    run_id, trace_id, message_id, conversation_id, user_id : str
        Identifiers; ``user_id`` is empty where there are no users.
    turn_number : int
        Position in the conversation, from 1.
    latency_ms : int
        Wall-clock time of the run, in milliseconds.
    model : str
        What answered, as ``provider:model``.
    events : tuple of Event
        Everything that happened.

    Examples
    --------
    >>> from notebook_agents import Agent, ScriptedProvider
    >>> result = Agent(ScriptedProvider(["Hello!"])).run_sync("Hi")
    >>> str(result), result["answer"], result.steps
    ('Hello!', 'Hello!', 1)
    """

    answer: str
    output: T = None  # type: ignore[assignment]  # only where no type was asked for
    new_messages: list[dict[str, Any]] = field(default_factory=list)
    context_tokens: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    steps: int = 0
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    approvals: list[dict[str, Any]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    stop_reason: str = "stop"
    is_blocked: bool = False
    run_id: str = ""
    trace_id: str = ""
    message_id: str = ""
    conversation_id: str = ""
    user_id: str = ""
    turn_number: int = 1
    latency_ms: int = 0
    model: str = ""
    events: tuple[Event, ...] = ()
    _prior: Sequence[Message] = ()
    _looks: _Looks = field(default_factory=_Looks)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation before the run, with this turn at its end.

        Made at the first look: where nobody asks for them, the messages of a
        long conversation take neither time nor room.
        """
        if self._looks.messages is None:
            earlier = to_dicts(self._prior)
            self._looks.messages = [*earlier, *self.new_messages]
        return self._looks.messages

    def __getitem__(self, key: str) -> Any:
        if key in _KEYS:
            return getattr(self, key)
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(_KEYS)

    def __len__(self) -> int:
        return len(_KEYS)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __str__(self) -> str:
        return self.answer

    def __repr__(self) -> str:
        return f"<AgentResult: {self.summary()}>"

    @property
    def total_billable_tokens(self) -> int:
        """The tokens read and written, all calls together."""
        return self.prompt_tokens + self.completion_tokens

    def summary(self) -> str:
        """Say in a few words what the run took.

        Returns
        -------
        str
            Such as ``"stop, 2 steps, 1 tool call, 153 tokens, 1.2 s"``.
        """
        tokens = self.total_billable_tokens
        parts = [
            self.stop_reason,
            _count(self.steps, "step"),
            _count(len(self.tool_calls), "tool call") if self.tool_calls else "",
            f"{tokens} tokens" if tokens else "",
            f"${self.cost:.4f}" if self.cost is not None else "",
            f"{self.latency_ms / 1000:.1f} s",
        ]
        return ", ".join(part for part in parts if part)

    def to_dict(self) -> dict[str, Any]:
        """Give the result as plain JSON values.

        Returns
        -------
        dict
            Every field, the events in their serialised form and ``output`` as
            far as JSON can hold it.
        """
        data = dict(self)
        data["output"] = _plain(self.output)
        data["events"] = [event.to_dict() for event in self.events]
        return data

    def to_frame(self) -> Any:
        """Give everything that happened as a table.

        Returns
        -------
        pandas.DataFrame
            One row an event, but for the pieces of streamed text: its time,
            step, kind, tool, text, arguments, status, seconds and tokens, which
            are those of the run so far: the last row has them all.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.

        Examples
        --------
        >>> from notebook_agents import Agent, ScriptedProvider, call
        >>> def add(a: int, b: int) -> int:
        ...     return a + b
        >>> script = [call("add", a=1, b=2), "It is 3."]
        >>> result = Agent(ScriptedProvider(script), [add]).run_sync("1 + 2?")
        >>> result.to_frame()["event"].tolist()
        ['task', 'action', 'observation', 'answer']
        """
        return frame_of(rows_of(self.events), COLUMNS)

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write the run into a file, as a person sees it.

        Parameters
        ----------
        path : str or path
            Its ending says how: ``.md``, ``.ipynb`` (a cell that can be run
            again), ``.html`` (needs ``nbconvert``), or ``.json``, with
            everything that `to_dict` gives. A file that is there is replaced.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        AgentConfigurationError
            If it has another ending, the file cannot be written there, or this
            package is not installed properly.

        Examples
        --------
        >>> from notebook_agents import Agent, ScriptedProvider
        >>> result = Agent(ScriptedProvider(["Hello!"])).run_sync("Hi")
        >>> print(result.export("run.md").read_text("utf-8"))
        # agent
        <BLANKLINE>
        > Hi
        <BLANKLINE>
        Hello!
        <BLANKLINE>
        *scripted:script: stop, 1 step, ...*
        <BLANKLINE>
        """
        file = checks.path("path", path)
        for front_end in front_ends():
            front_end.export(self, file)
            return file
        message = "No front end is installed; install the package with pip."
        raise AgentConfigurationError(message)

    def _ipython_display_(self) -> None:
        if not self._looks.is_answer_on_screen:
            # IPython then goes on to `_repr_mimebundle_`.
            raise NotImplementedError
        # Only in the cell that streamed it: shown again, it shows itself.
        self._looks.is_answer_on_screen = False

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        bundle = {"text/plain": self.answer}
        # What shows Markdown may run and fetch what stands in it, so the front end
        # makes that of a model harmless first.
        for front_end in front_ends():
            bundle["text/markdown"] = front_end.markdown(self._as_markdown())
        return bundle

    def _as_markdown(self) -> str:
        if self.output is None or isinstance(self.output, str):
            return self.answer
        shown = laid_out(self.answer)
        return f"```json\n{shown}\n```" if shown != self.answer else shown


_KEYS = (
    *(name for name in AgentResult.__dataclass_fields__ if not name.startswith("_")),
    "messages",
    "total_billable_tokens",
)


def mark_displayed(result: AgentResult[Any]) -> None:
    """Note that the answer is on screen, so the next display shows nothing."""
    result._looks.is_answer_on_screen = True  # noqa: SLF001 - same module


def laid_out(answer: str) -> str:
    """Give an answer as a person reads it: an object or a list over several lines.

    Parameters
    ----------
    answer : str
        What a model wrote where a type was asked for.

    Returns
    -------
    str
        The same JSON; the answer as it is where it is something else.

    Examples
    --------
    >>> print(laid_out('{"a": 1}'))
    {
      "a": 1
    }
    """
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        return answer
    if not isinstance(value, dict | list):
        return answer
    return json.dumps(value, indent=2, ensure_ascii=False)


def _plain(value: object) -> Any:
    if value is None or type(value) in {str, int, float, bool}:
        return value
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=str)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
