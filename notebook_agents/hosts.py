"""The hook through which an environment says how to run, ask and show there.

Nothing below `notebook_agents.jupyter` imports it: a front end is found by its
entry point, and only where IPython has been loaded already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from notebook_agents.front_ends import front_ends

if TYPE_CHECKING:
    from notebook_agents.approval import Approver
    from notebook_agents.tools.definition import ToolDefinition
    from notebook_agents.waiting import Waiter

__all__ = ["Host", "Shown", "current_host", "register_host"]

T = TypeVar("T")


class Host(Protocol):
    """A front end in which a person waits for what they asked."""

    def is_here(self) -> bool:
        """Tell whether the code that asks is a cell of this front end."""

    def waiter(self) -> Waiter:
        """Make a waiter for the calling cell."""

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the agent loop while the cell blocks."""

    async def wait_async(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the agent loop while the cell awaits."""

    def approver(self) -> Approver:
        """Give the surface on which this front end asks for consent."""

    def namespace(self) -> Mapping[str, Any]:
        """Give the variables of the calling cell, as they are at each look."""

    def began(self, run: Any, agent: Any, approver: Approver | None) -> None:
        """Take note of a run that the calling cell has begun, and who asks for it."""

    def show(self, run: Any) -> None:
        """Show a run in the calling cell, also while it goes on."""

    def form(self, definition: ToolDefinition) -> object:
        """Give what shows itself as a form to try a tool by hand."""


_registered: list[Host] = []


def register_host(host: Host) -> Callable[[], None]:
    """Make a front end known before its entry point is looked up.

    Parameters
    ----------
    host : Host
        The front end.

    Returns
    -------
    callable
        Takes it back.
    """
    _registered.append(host)
    return lambda: _registered.remove(host)


def current_host() -> Host | None:
    """Find the front end whose cell runs the calling code.

    Returns
    -------
    Host or None
        None in plain Python, in other threads, and outside a cell.
    """
    if "IPython" not in sys.modules:
        return None
    hosts: tuple[Host, ...] = (*_registered, *front_ends())
    for host in hosts:
        if host.is_here():
            return host
    return None


class Shown:
    """Something that shows itself in a cell, as the front end of that sees fit."""

    def _ipython_display_(self) -> None:
        host = current_host()
        if host is None:
            # IPython then goes on to the text of it.
            raise NotImplementedError
        host.show(self)
