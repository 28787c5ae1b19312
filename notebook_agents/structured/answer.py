"""`TypedAnswer`: the answer of one run, asked for again until it fits its type."""

from __future__ import annotations

import json
from typing import Any

from notebook_agents.errors import OutputValidationError
from notebook_agents.messages import Message
from notebook_agents.providers.base import ModelReply
from notebook_agents.providers.output_format import OutputFormat
from notebook_agents.structured.output_type import MisfitError, OutputType

__all__ = ["TypedAnswer"]

LONGEST_REFUSAL = 200  # characters of a refusal that an error quotes
_CUT_SHORT = {
    "length": ": the answer was cut off at the token limit; raise max_tokens",
    "budget": ": the answer was cut off where the budget ends",
    "content_filter": ": the service cut the answer off for its content",
}


class TypedAnswer:
    """What is known of the answer while a run goes on.

    Parameters
    ----------
    kind : OutputType
        The type it shall have.
    retries : int
        How often the model may try again.
    """

    def __init__(self, kind: OutputType, *, retries: int) -> None:
        self.kind = kind
        self.value: Any = None
        """The answer, once it fits."""
        self.corrections: list[Message] = []
        """Answers that did not fit, each with what the model was told about it."""
        self.problems: list[str] = []
        """What was wrong with each of them, for people."""
        self._retries = retries

    @property
    def format(self) -> OutputFormat | None:
        """The shape that the model is asked for; None for plain text."""
        return self.kind.format

    def read(self, text: str, reply: ModelReply) -> bool:
        """Take an answer.

        Parameters
        ----------
        text : str
            The answer.
        reply : ModelReply
            The reply that it came with.

        Returns
        -------
        bool
            Whether it fits; if not, `corrections` has what to tell the model.

        Raises
        ------
        OutputValidationError
            If it does not, and asking again is over or would not help.
        """
        try:
            self.value = self.kind.read(text)
        except MisfitError as misfit:
            self.problems.append(str(misfit))
            reason = self._end(text, reply)
            if reason:
                error = self._no_answer(reason, text)
                raise error from misfit
            # An empty message would be refused by most services.
            said = Message("assistant", text if text.strip() else "(nothing)")
            self.corrections += [said, Message("user", self._told(misfit))]
            return False
        return True

    def _no_answer(self, reason: str, text: str) -> OutputValidationError:
        message = f"There is no {self.kind.name}{reason}."
        if text:
            message = (
                f"{message} The text attribute of this error has what the model said."
            )
        return OutputValidationError(message, text=text, problems=tuple(self.problems))

    def _end(self, text: str, reply: ModelReply) -> str:
        """Say why asking again is over or would not help; empty if it may."""
        if reply.stop_reason == "refusal":
            return f": the model refused to answer ({text[:LONGEST_REFUSAL]})"
        if reply.stop_reason in _CUT_SHORT:
            return _CUT_SHORT[reply.stop_reason]
        tries = len(self.problems)
        if tries <= self._retries:
            return ""
        times = "1 try" if tries == 1 else f"{tries} tries"
        return f" after {times}: {self.problems[-1]}"

    def _told(self, misfit: MisfitError) -> str:
        told = (
            f"That answer cannot be used: {misfit}. "
            "Give the whole answer again, corrected, as JSON alone."
        )
        if misfit.has_json or self.format is None:
            return told
        # Perhaps the service has not told it the shape.
        schema = json.dumps(self.format.schema, ensure_ascii=False)
        return f"{told} It must fit this JSON schema:\n{schema}"
