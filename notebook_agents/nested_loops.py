"""`allow_nested_loops`: for tools that run an event loop themselves.

Nothing else in this package patches asyncio, and this does so only when called.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import warnings

from notebook_agents._optional import require
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.sync import agent_loop
from notebook_agents.waiting import running_loop

__all__ = ["allow_nested_loops", "nesting_hint"]

_NEEDS_THE_SAME = "This event loop is already running"
_NEEDS_ANY = (
    "asyncio.run() cannot be called from a running event loop",
    "Runner.run() cannot be called from a running event loop",
    "Cannot run the event loop while another loop is running",
)
"""How asyncio says that a loop runs here already."""


def allow_nested_loops() -> bool:
    """Let tools call ``asyncio.run`` although a loop runs where they do.

    A tool that calls ``asyncio.run`` or ``loop.run_until_complete`` fails in a
    cell, since a kernel runs a loop there already. For a sync function of yours,
    ``@tool(thread=True)`` is the better answer: it patches nothing. This is for
    the rest: async tools, and code of others that does so somewhere inside.

    Call it once, in a cell, or anywhere else before the first run.

    Returns
    -------
    bool
        Whether asyncio has been patched now. False if it was before, by an
        earlier call or by ``nest_asyncio2.apply()``; then nothing is done.

    Raises
    ------
    MissingExtraError
        If nest-asyncio2 is not installed; it comes with the extra ``notebook``.
    AgentConfigurationError
        If a loop here is of a kind that cannot be nested, as those of uvloop.

    Warns
    -----
    UserWarning
        If ``nest_asyncio.apply()`` was called before. That stays in force, and
        loses messages of the kernel from ipykernel 7 on.

    Notes
    -----
    Patched are the loop of the calling cell, the agent loop, all others of the
    same classes, ``asyncio.run``, and up to Python 3.13 tasks and futures, which
    become those written in Python: a run then costs about a third more CPU. It
    holds for the whole process, until its end.

    While a nested loop runs in a cell, cells that are queued behind it wait, and
    so may a click: the input box then asks instead of the card.

    Examples
    --------
    In the first cell of a notebook::

        from notebook_agents import allow_nested_loops

        allow_nested_loops()
    """
    here = running_loop()
    if here is not None:
        _wake_at_signals(here)
    loops = {loop for loop in (here, agent_loop()) if loop is not None}
    for loop in loops:
        if not isinstance(loop, asyncio.BaseEventLoop):
            kind = f"{type(loop).__module__}.{type(loop).__qualname__}"
            message = (
                f"A loop of the kind {kind} cannot be nested. Use asyncio's own "
                "loops, or mark the tool @tool(thread=True)."
            )
            raise AgentConfigurationError(message)
    if hasattr(asyncio, "_nest_patched") and not hasattr(asyncio, "_nest_asyncio2"):
        message = (
            "nest_asyncio.apply() was called before; from ipykernel 7 on it loses "
            "messages of the kernel. Restart the kernel and call "
            "allow_nested_loops() instead."
        )
        warnings.warn(message, stacklevel=2)
    plain = [loop for loop in loops if not hasattr(loop, "_nest_patched")]
    if not plain:
        return False
    nest = require("nest_asyncio2", extra="notebook")
    for loop in plain:
        nest.apply(loop)
    return True


def _wake_at_signals(loop: asyncio.AbstractEventLoop) -> None:
    """Let a loop look up when any signal comes.

    An interrupt that comes just before a loop begins to sleep is seen when something
    else wakes it, which in a nested loop nothing may do. A loop that handles one
    signal is woken by all: here one that nobody sends.
    """
    # Windows has no such signals, and only the main thread gets any.
    with contextlib.suppress(AttributeError, NotImplementedError, RuntimeError):
        loop.add_signal_handler(signal.SIGURG, lambda: None)


def nesting_hint(error: BaseException, *, is_async: bool) -> str:
    """Say what helps a tool that failed because a loop runs where it does.

    Parameters
    ----------
    error : BaseException
        What the tool raised.
    is_async : bool
        Whether the tool is a coroutine function.

    Returns
    -------
    str
        To be put behind the message; empty for any other error.
    """
    text = str(error) if type(error) is RuntimeError else ""
    if text == _NEEDS_THE_SAME or (text in _NEEDS_ANY and is_async):
        return " (call notebook_agents.allow_nested_loops() first)"
    if text in _NEEDS_ANY:
        return (
            " (mark the tool @tool(thread=True), "
            "or call notebook_agents.allow_nested_loops() first)"
        )
    return ""
