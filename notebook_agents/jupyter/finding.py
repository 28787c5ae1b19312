"""Which agent a cell means: by variable, by the name it shows, or the last one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from IPython.core.error import UsageError

from notebook_agents.agent import Agent
from notebook_agents.spelling import did_you_mean

__all__ = ["AgentFinder"]


class AgentFinder:
    """The agents of one shell.

    Parameters
    ----------
    shell : InteractiveShell
        Whose variables to look at.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._last: str | None = None
        self._default: Agent | None = None

    def here(self) -> dict[str, Agent]:
        """Give the agents of the notebook by the variables that hold them."""
        return {
            name: value
            for name, value in self._shell.user_ns.items()
            if isinstance(value, Agent) and not name.startswith("_")
        }

    def peek(self, name: str | None) -> Agent | None:
        """Find an agent as `find` does, but make and remember nothing.

        Parameters
        ----------
        name : str or None
            As for `find`.

        Returns
        -------
        Agent or None
            None if it is not clear which one is meant.
        """
        here = self.here()
        if name is None:
            name = self._last
        if name in here:
            return here[name]
        meant = [a for a in here.values() if name is None or a.name == name]
        return meant[0] if len({id(agent) for agent in meant}) == 1 else None

    def find(self, name: str | None) -> Agent:
        """Find an agent, and remember it as the one used last.

        Parameters
        ----------
        name : str or None
            A variable, or the name that an agent shows. None means the one used
            last, else the only one there is, else one on the default model.

        Returns
        -------
        Agent
            The one that is meant.
        """
        here = self.here()
        if name is None:
            name = self._last if self._last in here else _only(here)
        if name is None:
            self._default = self._default or Agent()
            return self._default
        if name not in here:
            name = _called(name, here, self._shell.user_ns)
        self._last = name
        return here[name]


def _called(name: str, here: Mapping[str, Agent], variables: Mapping[str, Any]) -> str:
    """Find the variable of an agent by the name that its answers show."""
    meant = [key for key, agent in here.items() if agent.name == name]
    if len({id(here[key]) for key in meant}) == 1:
        return meant[0]
    message = f"There is no agent named {name!r} here"
    if name in variables:
        message += f" ({name} is of type {type(variables[name]).__name__})"
    message += f"; agents: {', '.join(sorted(here)) or 'none yet'}."
    free = "agent" if name in variables else name
    make = f' Make one in a cell: {free} = Agent("local")'
    message += did_you_mean(name, here) or make
    raise UsageError(message)


def _only(here: dict[str, Agent]) -> str | None:
    if len({id(agent) for agent in here.values()}) > 1:
        names = ", ".join(sorted(here))
        message = f"There are several agents here: {names}. Name one after %%agent."
        raise UsageError(message)
    return next(iter(here), None)
