"""`ScriptedProvider`: answers from a script, for documentation and tests.

`PlayedProvider` plays whatever item it is given, for others of that kind.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from abc import abstractmethod
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from notebook_agents import checks
from notebook_agents.checks import shown
from notebook_agents.errors import AgentProviderError
from notebook_agents.messages import ToolCall, Usage
from notebook_agents.providers.base import (
    Delta,
    ModelReply,
    ModelRequest,
    Provider,
    ReasoningDelta,
    TextDelta,
)
from notebook_agents.providers.output_format import OutputMode
from notebook_agents.spelling import by_name, refuse_option

__all__ = ["Call", "Item", "PlayedProvider", "ScriptedProvider", "call"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call in a script; `call` makes one."""

    name: str
    args: Mapping[str, Any] | str = field(default_factory=dict)


def call(tool: str, /, raw: str | None = None, **args: Any) -> Call:
    """Write a tool call into a script.

    Parameters
    ----------
    tool : str
        Name of the tool.
    raw : str, optional
        The argument text as the model writes it, valid or not.
    **args : object
        The arguments, when there is no ``raw``.

    Returns
    -------
    Call
        An item for `ScriptedProvider`.

    Examples
    --------
    >>> call("add", a=1, b=2)
    Call(name='add', args={'a': 1, 'b': 2})
    """
    checks.not_blank("The name of a tool", tool)
    if raw is not None:
        checks.text("raw", raw)
        return Call(tool, raw)
    try:
        json.dumps(args)
    except (TypeError, ValueError, RecursionError) as error:
        checks.fail(
            f"call({tool!r}) has arguments that JSON cannot carry: {error}.", error
        )
    return Call(tool, args)


KEYS = ("text", "reasoning", "tool_calls", "usage", "stop_reason")
"""What a reply that is a dict may say."""
Item = str | Call | list["str | Call"] | Mapping[str, Any] | BaseException


class PlayedProvider(Provider):
    """A provider that has no model: each reply is an item, streamed in pieces.

    Parameters
    ----------
    chunk : int, default 8
        Characters of a streamed piece.
    delay : float, default 0.0
        Seconds before each piece.
    """

    def __init__(self, *, chunk: int = 8, delay: float = 0.0) -> None:
        checks.whole("chunk", chunk, least=1)
        checks.number("delay", delay, least=0)
        self._chunk = chunk
        self._delay = delay
        self._ids = itertools.count(1)
        self.requests: list[ModelRequest] = []
        """Every request, in order."""

    @abstractmethod
    async def item(self, request: ModelRequest) -> Item:
        """Give what to reply.

        Parameters
        ----------
        request : ModelRequest
            What is asked.

        Returns
        -------
        Item
            As in the script of a `ScriptedProvider`.
        """

    def output_mode(self, *, has_tools: bool) -> OutputMode:
        """Leave the shape of an answer to the script, whose text is the JSON."""
        return "native"

    async def models(self) -> list[str]:
        """List the one that plays a model."""
        return [self.model or self.name]

    async def respond(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Play an item, as in `Provider.respond`."""
        self.requests.append(request)
        item = await self.item(request)
        if isinstance(item, BaseException):
            raise item
        _check_item(item)
        reply = self._reply(item, request)
        for piece in self._pieces(reply.reasoning):
            await asyncio.sleep(self._delay)
            yield ReasoningDelta(piece)
        for piece in self._pieces(reply.text):
            await asyncio.sleep(self._delay)
            yield TextDelta(piece)
        yield reply

    def _pieces(self, text: str) -> Iterable[str]:
        size = self._chunk
        return (text[start : start + size] for start in range(0, len(text), size))

    def _reply(
        self,
        item: str | Call | list[str | Call] | Mapping[str, Any],
        request: ModelRequest,
    ) -> ModelReply:
        if isinstance(item, Mapping):
            calls = [self._call(one) for one in item.get("tool_calls", ())]
            text, given = item.get("text", ""), item.get("usage")
            reasoning, stop = item.get("reasoning", ""), item.get("stop_reason")
        else:
            parts = item if isinstance(item, list) else [item]
            calls = [self._call(part) for part in parts if isinstance(part, Call)]
            text = "".join(part for part in parts if isinstance(part, str))
            reasoning, given, stop = "", None, None
        usage = given if isinstance(given, Usage) else _usage(request, text, given)
        return ModelReply(
            text=text,
            tool_calls=tuple(calls),
            reasoning=reasoning,
            usage=usage,
            stop_reason=stop or ("tool_calls" if calls else "stop"),
        )

    def _call(self, scripted: Call) -> ToolCall:
        args = scripted.args
        text = args if isinstance(args, str) else json.dumps(dict(args))
        return ToolCall(f"call_{next(self._ids)}", scripted.name, text)


@by_name
class ScriptedProvider(PlayedProvider):
    """Answer from a script, one item a model response.

    Parameters
    ----------
    script : iterable
        Each item is a text, a `call`, a list that mixes both, a dict with
        ``text``, ``reasoning``, ``tool_calls``, ``usage`` and ``stop_reason``,
        or an exception to raise.
    chunk : int, default 8
        Characters of a streamed piece.
    delay : float, default 0.0
        Seconds before each piece.

    Examples
    --------
    >>> from notebook_agents import Agent
    >>> provider = ScriptedProvider(["Hello!"])
    >>> Agent(provider).run_sync("Hi").answer
    'Hello!'
    >>> provider.assert_done()
    """

    name = "scripted"
    model = "script"

    def __init__(
        self, script: Iterable[Item], *, chunk: int = 8, delay: float = 0.0
    ) -> None:
        super().__init__(chunk=chunk, delay=delay)
        if isinstance(script, str | bytes | Mapping) or not isinstance(
            script, Iterable
        ):
            checks.fail(
                f"A script is a list of replies, such as ['Hello!'], not {shown(script)}."
            )
        self._script = iter(script)

    def assert_done(self) -> None:
        """Fail if the script has lines left.

        Raises
        ------
        AssertionError
            With the first line that nobody asked for.
        """
        left = list(self._script)
        if left:
            message = f"{len(left)} line(s) of the script were not used: {left[0]!r}"
            raise AssertionError(message)

    async def item(self, request: ModelRequest) -> Item:
        """Give the next line of the script."""
        del request  # whatever is asked
        try:
            return next(self._script)
        except StopIteration:
            message = (
                "The script has no line left for this request. "
                "Add one, or ask less often."
            )
            raise AgentProviderError(message, provider=self.name) from None


def _check_item(item: object) -> None:
    """Refuse what would be played as an empty reply."""
    if isinstance(item, Mapping):
        for key in item:
            if key not in KEYS:
                refuse_option("A reply", str(key), KEYS)
        return
    for part in item if isinstance(item, list) else [item]:
        if not isinstance(part, str | Call):
            checks.fail(
                f"{shown(part)} is no reply: a script has texts, call(...), lists of "
                "both, dicts and exceptions."
            )


def _usage(request: ModelRequest, text: str, given: Mapping[str, int] | None) -> Usage:
    if given is not None:
        return Usage.of_call(
            given.get("prompt", 0),
            given.get("completion", 0),
            given.get("reasoning", 0),
        )
    # Content may also be a list of parts.
    words = sum(len(str(message.content).split()) for message in request.messages)
    return Usage.of_call(words, len(text.split()))
