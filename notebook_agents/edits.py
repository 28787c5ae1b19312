"""Arguments that a person has changed: they are looked at as those of the model are.

The person who changes them has been asked, so a rule that would ask is satisfied.
What a rule denies, and what a guard blocks, is not run for a person either.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from notebook_agents.errors import ToolArgumentsError, ToolRejectedError
from notebook_agents.messages import ToolCall
from notebook_agents.screening import ScreenedCall, screen_call
from notebook_agents.tools.call import BoundCall
from notebook_agents.tools.definition import ToolDefinition
from notebook_agents.tools.observation import text_of
from notebook_agents.turn import Turn

__all__ = ["Edits", "change_of"]

EDITED_CHARACTERS = 1000
"""How much of changed arguments the model is told."""


class Edits:
    """What becomes of arguments that a person changes in one question.

    Parameters
    ----------
    turn : Turn
        The turn that asks.
    definition : ToolDefinition
        The tool.
    call : ToolCall
        The call as the model made it.
    """

    def __init__(self, turn: Turn, definition: ToolDefinition, call: ToolCall) -> None:
        self.seen: list[ScreenedCall] = []
        """What the guards left of them; empty where nothing was changed."""
        self.refusal: ToolRejectedError | None = None
        """Why they may not run, for the model."""
        self._turn, self._definition, self._call = turn, definition, call

    def check(self, args: Mapping[str, Any]) -> BoundCall:
        """Make a call of changed arguments.

        Parameters
        ----------
        args : mapping
            All of them.

        Returns
        -------
        BoundCall
            What the tool may run with, as far as rules say.

        Raises
        ------
        ToolArgumentsError
            If they do not fit, or a rule denies them; in words for the person.
        """
        turn, definition = self._turn, self._definition
        bound = definition.rebind(args, turn.around.variables)
        if turn.consent.denies(definition, bound.values):
            name = definition.name
            message = f"A rule of the policy denies {name} with these arguments."
            raise ToolArgumentsError(message, tool=name)
        return bound

    async def review(self, edited: BoundCall) -> tuple[BoundCall | None, str]:
        """Let the guards look at a call that was made of changed arguments.

        Parameters
        ----------
        edited : BoundCall
            As `check` gave it.

        Returns
        -------
        tuple of BoundCall or None, and str
            What is left of it; where nothing may run, None and why not.
        """
        text = json.dumps(dict(edited.values), ensure_ascii=False)
        guards = self._turn.guards.arguments
        seen = await screen_call(guards, replace(self._call, arguments=text))
        self.seen.append(seen)
        if seen.refusal is not None:
            return self._refuse(str(seen.refusal))
        if not seen.notes:
            return edited, ""
        try:
            return self.check(json.loads(seen.call.arguments)), ""
        except ToolArgumentsError as error:
            return self._refuse(f"{error} The tool was not run.")

    def _refuse(self, why: str) -> tuple[None, str]:
        message = f"The user changed the arguments. {why}"
        self.refusal = ToolRejectedError(message, tool=self._call.name)
        return None, message


def change_of(edited: BoundCall | None) -> str:
    """Tell the model what it did not ask for; nothing where nothing was changed."""
    if edited is None:
        return ""
    text = text_of(dict(edited.values))[:EDITED_CHARACTERS]
    return f"The user changed the arguments; the tool ran with {text}\n\n"
