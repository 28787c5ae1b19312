"""Asking for consent with ``input()``, where no click can arrive."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from notebook_agents.approval import (
    Allow,
    Always,
    ApprovalRequest,
    Decision,
    Deny,
    PendingApproval,
    Respond,
    Stop,
)
from notebook_agents.errors import ToolArgumentsError
from notebook_agents.jupyter import kernel
from notebook_agents.jupyter._words import arguments_text, clean, shortened
from notebook_agents.jupyter.json_text import read_json
from notebook_agents.jupyter.kernel import Cell
from notebook_agents.jupyter.output import CellOutput
from notebook_agents.jupyter.prompt import input_until
from notebook_agents.one_at_a_time import OneAtATime
from notebook_agents.sync import cell_waiter
from notebook_agents.waiting import Waiter

__all__ = ["InputBox"]

MOST_LINES = 20
"""How many lines are read about one call before it counts as denied."""
SETTLE_SECONDS = 0.1
"""How long an answer may take to decide other calls as well."""
_LONGEST_VALUE = 100  # characters of an argument in the prompt
_LONGEST_CALL = 300  # characters of a call there
_LONGEST_VIEW = 100_000  # characters: a notebook that is sent more loses some of it

_ANSWERS: dict[str, Decision] = {
    **dict.fromkeys(("y", "yes", "ok", "okay", "approve", "allow"), Allow()),
    "a": Always(),
    "always": Always(),
    "q": Stop(),
    "quit": Stop(),
    "stop": Stop(),
    "": Deny(),
}
_UNCLEAR = re.compile(r"(?:y|yes|ok|okay|approved?|allow|sure|always)\b", re.IGNORECASE)
"""How a yes may begin: with more behind it, it is neither that nor plainly a no."""
_ASK_AGAIN = "Yes or no? y runs it as it is, n and a reason does not; e changes it."
_NO = re.compile(r"(?:no?|deny)(?:[\s,.:;]+(?P<reason>.*))?", re.IGNORECASE | re.DOTALL)


class InputBox:
    """Asks in the cell that waits, about one call after the other.

    Parameters
    ----------
    cell : Cell
        The one that began the run.
    """

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._turn = OneAtATime()
        self._calls: list[PendingApproval] = []
        """Those of the present series, decided or not."""

    def is_there(self) -> bool:
        """Tell whether a cell waits, in which can be asked.

        Returns
        -------
        bool
            False in the background: ``input()`` would block the whole kernel with
            a question that no front end shows.
        """
        waiter = cell_waiter()
        if waiter is None or not waiter.is_open:
            return False
        is_terminal = kernel.kernel() is None
        return is_terminal or waiter.loop is None or self._cell.is_running()

    async def ask(self, pending: PendingApproval) -> None:
        """Ask about one call, as soon as it is its turn.

        Parameters
        ----------
        pending : PendingApproval
            The question. When it is answered elsewhere, or expires, the prompt
            ends. Where no cell waits, the person is told how to answer.
        """
        waiter = cell_waiter()
        if waiter is None or not self.is_there():
            call = f"{pending.request.agent} asks to run {_call(pending.request)}."
            self._say(f"{_noted(pending.request, call)} {kernel.how_to_answer()}")
            await pending.wait()
            return
        if all(each.decision for each in self._calls):
            self._calls.clear()
        self._calls.append(pending)
        await asyncio.sleep(0)  # the others of this step, so that they are counted
        async with self._turn:
            if pending is not self._calls[0]:
                # The answer before may have decided this one too, in a moment.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(pending.wait(), SETTLE_SECONDS)
            if pending.decision is None:
                await _Dialog(waiter, pending, self._calls).hold()

    def _say(self, text: str) -> None:
        if kernel.kernel() is None:
            print(text)  # noqa: T201 - in a terminal
        else:  # the cell has ended, and its output may be captured
            CellOutput(self._cell).display({"text/plain": text}, raw=True)


class _Dialog:
    """What is said back and forth about one call."""

    def __init__(
        self, waiter: Waiter, pending: PendingApproval, calls: list[PendingApproval]
    ) -> None:
        self._waiter = waiter
        self._pending = pending
        self._calls = calls
        self._lines_left = MOST_LINES
        self._steps = {
            "all": self._approve_all,
            "e": self._edit,
            "edit": self._edit,
            "r": self._respond,
            "respond": self._respond,
            "v": self._view,
            "view": self._view,
        }

    async def hold(self) -> None:
        """Ask until there is a decision, from whomever."""
        hint = ""
        while self._pending.decision is None:
            text = await self._read(f"{hint}{self._question()}")
            if text is None:
                return
            step, decision = self._steps.get(text.lower()), _decision(text)
            hint = ""
            if step is not None:
                await step()
            elif decision is not None:
                self._pending.decide(decision, by="person")
            else:
                hint = f"{_ASK_AGAIN}\n"

    async def _read(self, prompt: str) -> str | None:
        """Read a line; None if the call has been decided meanwhile."""
        self._lines_left -= 1
        if self._lines_left < 0:
            reason = f"no answer could be used within {MOST_LINES} lines"
            self._pending.decide(Deny(reason), by="person")
            return None

        def is_over() -> bool:
            expires = self._pending.request.expires_at
            return self._pending.decision is not None or time.time() > expires

        line = await self._waiter.run(lambda: input_until(is_over, prompt))
        if line is None:
            self._pending.decide(Deny("nobody answered in time"), by="timeout")
        return None if line is None else line.strip()

    def _question(self) -> str:
        place = self._calls.index(self._pending) + 1
        number = f"({place} of {len(self._calls)}) " if len(self._calls) > 1 else ""
        call = _call(self._pending.request)
        view = ["[v]iew in full"] if "\N{HORIZONTAL ELLIPSIS}" in call else []
        others = ["[all] yes to all"] if len(self._waiting()) > 1 else []
        choices = ["[y]es", *others, "[a]lways", "[N]o", "[e]dit", "[r]espond", *view]
        if not self._pending.request.call_id:  # a question about the budget
            choices = ["[y]es", "[N]o", "[e]dit"]
        question = f"{number}Run {call}? {', '.join(choices)}, [q]uit the run: "
        return _noted(self._pending.request, question)

    def _waiting(self) -> list[PendingApproval]:
        return [each for each in self._calls if each.decision is None]

    async def _approve_all(self) -> None:
        waiting = self._waiting()
        calls = "".join(f"  {_call(each.request)}\n" for each in waiting)
        text = await self._read(f"Run all {len(waiting)}?\n{calls}[y]es, [N]o: ")
        if text is not None and isinstance(_decision(text), Allow):
            for each in waiting:
                each.decide(Allow(), by="person")

    async def _edit(self) -> None:
        args = self._pending.request.args
        example = shortened(_json(dict(args)), _LONGEST_CALL)
        ask = f"Arguments to change, as JSON; empty goes back. Now {example}\nJSON: "
        prompt = ask
        while text := await self._read(prompt):
            try:
                self._pending.decide(Allow({**args, **_object(text)}), by="person")
            except ToolArgumentsError as error:
                prompt = f"{_printable(str(error))}\n{ask}"
            else:
                return

    async def _respond(self) -> None:
        text = await self._read("What the model reads as the result: ")
        if text:
            self._pending.decide(Respond(text), by="person")

    async def _view(self) -> None:
        text = clean(arguments_text(self._pending.request.args))
        if len(text) > _LONGEST_VIEW:
            left = len(text) - _LONGEST_VIEW
            text = f"{text[:_LONGEST_VIEW]}\n\N{HORIZONTAL ELLIPSIS} {left:,} more"
        show: Callable[[], None] = lambda: print(text)  # noqa: E731, T201
        await self._waiter.run(show)


def _decision(text: str) -> Decision | None:
    """Read an answer: anything else is a no and its reason, but for half a yes."""
    known = _ANSWERS.get(text.lower().rstrip(".! "))
    if known is not None:
        return known
    if _UNCLEAR.match(text):
        return None
    no = _NO.fullmatch(text)
    return Deny((no["reason"] or "").strip() if no else text)


def _object(text: str) -> Mapping[str, Any]:
    try:
        value = read_json(text)
    except ValueError as error:
        message = f"This is no JSON: {error}."
        raise ToolArgumentsError(message) from None
    if not isinstance(value, dict):
        message = 'Write a JSON object, such as {"n": 1}.'
        raise ToolArgumentsError(message)
    return value


def _noted(request: ApprovalRequest, question: str) -> str:
    """Say first, on a line of its own, what was wrong with a rule."""
    return f"{_printable(request.note)}\n{question}" if request.note else question


def _call(request: ApprovalRequest) -> str:
    """Write a call as it would stand in Python, with what is long shortened."""
    args = ", ".join(
        f"{name}={shortened(_json(value), _LONGEST_VALUE)}"
        for name, value in request.args.items()
    )
    return _printable(f"{request.tool}({shortened(args, _LONGEST_CALL)})")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _printable(text: str) -> str:
    """Write out what could move the cursor, or turn the direction of a text."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode()
        for each in text
    )
