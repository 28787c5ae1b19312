"""`ToolForm`: a tool, tried by hand in a cell.

The form is a widget only until the tool runs: then a record of the call takes
its place and the result comes below, so that the saved notebook holds none.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import signal
import threading
import time
import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from IPython.display import DisplayHandle, display
from IPython.utils.capture import capture_output

from notebook_agents.errors import ToolArgumentsError
from notebook_agents.jupyter import kernel
from notebook_agents.jupyter._words import encodable
from notebook_agents.jupyter.fields import changed_args, fields_of
from notebook_agents.jupyter.form_card import FormCard
from notebook_agents.jupyter.html import ToolCard, tool_card
from notebook_agents.jupyter.stack import stacked
from notebook_agents.jupyter.variables import NotebookVariables
from notebook_agents.tools import execution, generators
from notebook_agents.tools.call import BoundCall
from notebook_agents.tools.definition import ToolDefinition
from notebook_agents.tools.execution import Outcome, execute
from notebook_agents.tools.variables import Variables
from notebook_agents.waiting import running_loop

__all__ = ["ToolForm"]

Bundle = dict[str, Any]

_OURS = {__file__, execution.__file__, generators.__file__}
NOTHING: Bundle = {"text/plain": ""}


class ToolForm:
    """A form that shows itself at the end of a cell.

    Parameters
    ----------
    definition : ToolDefinition
        The tool.
    tried : dict
        With what each tool was tried last, by name; read and written.
    """

    def __init__(
        self, definition: ToolDefinition, tried: dict[str, Mapping[str, Any]]
    ) -> None:
        self._definition = definition
        self._tried = tried

    def __repr__(self) -> str:
        definition = self._definition
        names = definition.schema["function"]["parameters"].get("properties", {})
        return (
            f"Form for {definition.name}({', '.join(names)}), which shows in a "
            "notebook with widgets. Without them, call the function."
        )

    def _ipython_display_(self) -> None:
        loop = running_loop()
        # Where nobody is there, a widget would only be left over.
        if loop is None or kernel.kernel() is None or not kernel.can_ask_stdin():
            display({"text/plain": repr(self)}, raw=True)
        else:
            _Trial(self._definition, self._tried, loop, repr(self)).show()


class _Trial:
    """One form on screen, good for one call."""

    def __init__(
        self,
        definition: ToolDefinition,
        tried: dict[str, Mapping[str, Any]],
        loop: asyncio.AbstractEventLoop,
        plain: str,
    ) -> None:
        self._definition = definition
        self._tried = tried
        self._loop = loop
        self._plain = plain
        # In the context of this cell what an async tool prints comes here, where the
        # kernel can tell. A sync one is no part of the cell: its output is captured,
        # and so would be a question that it asks.
        is_apart = definition.is_async or definition.thread is True
        self._context = contextvars.copy_context() if is_apart else None
        schema = definition.schema["function"]["parameters"]
        known = schema.get("properties", {})
        before = tried.get(definition.name, {})
        self._before = {key: value for key, value in before.items() if key in known}
        fields = fields_of(schema, self._before)
        self._fields = sorted(fields, key=lambda each: list(known).index(each["name"]))
        self._card = FormCard(definition, self._fields)
        self._card.on_msg(self._on_message)
        self._form, self._result = DisplayHandle(), DisplayHandle()
        self._lock = threading.Lock()
        self._has_begun = False
        self._task: asyncio.Task[None] | None = None

    def show(self) -> None:
        self._form.display(self._card.bundle(self._plain), raw=True)
        self._result.display(NOTHING, raw=True)

    def _on_message(self, _: Any, content: Any, __: Any) -> None:
        # Runs in the main thread or in a subshell's, and more than once:
        # the form repeats itself until it hears back.
        said = content if isinstance(content, dict) else {}
        self._card.send({"kind": "ack", "of": said.get("kind"), "n": said.get("n")})
        if said.get("kind") == "run":
            self._run(said)
        elif said.get("kind") == "close":
            self._in_the_kernel(self._close)

    def _run(self, said: Mapping[str, Any]) -> None:
        try:
            args = changed_args(self._fields, self._before, said.get("changes"))
            here = Variables(NotebookVariables(kernel.shell()))
            bound = self._definition.rebind(args, here)
        except ToolArgumentsError as error:
            what = f"Invalid arguments for {self._definition.name!r}: "
            text = encodable(str(error).removeprefix(what))
            self._card.send({"kind": "invalid", "n": said.get("n"), "text": text})
            return
        with self._lock:
            if self._has_begun:
                return
            self._has_begun = True
        self._in_the_kernel(lambda: self._start(args, bound))

    def _in_the_kernel(self, function: Any) -> None:
        """Call a function on the kernel's loop."""
        self._loop.call_soon_threadsafe(function, context=self._context)

    def _start(self, args: Mapping[str, Any], bound: BoundCall) -> None:
        self._tried[self._definition.name] = args
        self._task = self._loop.create_task(self._perform(args, bound))

    async def _perform(self, args: Mapping[str, Any], bound: BoundCall) -> None:
        began = time.monotonic()
        outcome, shown = await _call(self._definition, bound)
        seconds = time.monotonic() - began
        card = ToolCard(
            tool=self._definition.name,
            args=args,
            state="failed" if outcome.error is not None else "done",
            error=_said(outcome.error) if outcome.error is not None else "",
            detail=outcome.detail and _traceback(outcome.error),
            seconds=seconds,
        )
        self._form.update(encodable(tool_card(card)), raw=True)
        self._result.update(stacked(shown) or NOTHING, raw=True)
        self._card.close()

    def _close(self) -> None:
        if not self._has_begun:
            self._form.update({"text/plain": self._plain}, raw=True)
            self._card.close()


async def _call(
    definition: ToolDefinition, bound: BoundCall
) -> tuple[Outcome, list[Bundle]]:
    """Call a tool as a cell would, and give all that it shows."""
    if definition.is_async or definition.thread is True:
        outcome, shown = await _awaited(definition, bound), []
    else:
        func = _interruptible(definition.func)
        here = replace(definition, func=func, thread=False)
        with capture_output() as said:
            outcome = await execute(here, bound)
        shown = _bundles(said)
    if outcome.error is None and outcome.value is not None:
        with capture_output() as said:
            bundle = kernel.shell().display_formatter.format(outcome.value)[0]
        shown += [*_bundles(said), bundle]
    return outcome, [bundle for bundle in shown if bundle]


async def _awaited(definition: ToolDefinition, bound: BoundCall) -> Outcome:
    """Await a tool; Stop cancels it."""
    task = asyncio.create_task(execute(definition, bound))
    loop = asyncio.get_running_loop()

    def stop(*_: Any) -> None:
        loop.call_soon_threadsafe(task.cancel)

    with kernel.on_interrupt(stop):
        try:
            return await task
        except asyncio.CancelledError:
            return Outcome(error=KeyboardInterrupt("stopped"))


def _interruptible(func: Any) -> Any:
    """Let Stop end a function although no cell runs."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with kernel.on_interrupt(signal.default_int_handler):
            value = func(*args, **kwargs)
            if inspect.isgenerator(value):  # its work is done while it is read
                return generators.read(value, lambda _: None, lambda: False)
            return value

    return call


def _bundles(said: Any) -> list[Bundle]:
    """Give what was printed and displayed while output was captured."""
    printed = f"{said.stdout}{said.stderr}".rstrip("\n")
    texts = [{"text/plain": printed}] if printed else []
    return [*texts, *(each.data for each in said.outputs)]


def _traceback(error: BaseException | None) -> str:
    """Give a traceback from the tool's own code on."""
    frames = error.__traceback__ if error is not None else None
    while frames is not None and frames.tb_frame.f_code.co_filename in _OURS:
        frames = frames.tb_next
    return "".join(traceback.format_exception(None, error, frames))


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")
