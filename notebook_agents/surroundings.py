"""What the tools of an agent find around them: the user's own things, by name or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from notebook_agents.agent_checks import checked_namespace
from notebook_agents.consent import person_of
from notebook_agents.options import RunOptions
from notebook_agents.tools.handles import HandleBook
from notebook_agents.tools.variables import Variables, enclosing_names

__all__ = ["Around", "Surroundings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What the tools of one run find around them.

    Parameters
    ----------
    deps : object
        What the user's own tools find in their `RunContext`.
    user_id, conversation_id : str
        Whose conversation it is; empty where the memory does not say.
    variables : Variables
        The live objects that calls may name.
    """

    deps: Any = None
    user_id: str = ""
    conversation_id: str = ""
    variables: Variables = field(default_factory=Variables)


class Surroundings:
    """What the tools of an agent find around them.

    Parameters
    ----------
    deps : object
        As for `Agent`.
    namespace : mapping of str to object, optional
        As for `Agent`.
    """

    def __init__(self, deps: Any, namespace: Mapping[str, Any] | None) -> None:
        self._deps = deps
        self._namespace = None if namespace is None else checked_namespace(namespace)
        self._book = HandleBook()

    def of_run(self, options: RunOptions, memory: object) -> Around:
        """Give those of one run.

        Parameters
        ----------
        options : RunOptions
            What differs in this run.
        memory : object
            Its conversation.

        Returns
        -------
        Around
            The agent's own namespace comes first, then the one of the run, then that
            of the run whose tool starts this one.
        """
        named = (self._namespace, options.get("namespace"), enclosing_names())
        names = next((each for each in named if each is not None), {})
        return Around(
            deps=options.get("deps", self._deps),
            user_id=person_of(memory),
            conversation_id=getattr(memory, "conversation_id", None) or "",
            variables=Variables(checked_namespace(names), self._book, memory),
        )

    def handles(self, memory: object) -> dict[str, Any]:
        """Give the results that a conversation keeps, by their names."""
        return dict(self._book.of(memory).items())

    def forget(self, memory: object) -> None:
        """Let the results of a conversation go."""
        self._book.forget(memory)
