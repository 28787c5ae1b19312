"""What is said: messages, tool calls and token counts, as frozen values.

`Message.to_dict` gives the OpenAI chat shape, which is the canonical shape of
every public list of messages in this package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from notebook_agents.checks import fail, shown

__all__ = ["Message", "Role", "ToolCall", "Usage"]

CHARACTERS_A_TOKEN = 4
"""By which tokens are estimated where nobody has counted them."""
CHARACTERS_A_FILE = 4000
"""What an image or a file counts for in such an estimate, whatever its size."""

Role = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that a model asks for.

    Parameters
    ----------
    id : str
        Identifier that pairs the call with its result.
    name : str
        Name of the tool.
    arguments : str
        JSON text as the model wrote it; parsed, strictly, only when the tool
        is about to run.
    """

    id: str
    name: str
    arguments: str = "{}"

    def to_dict(self) -> dict[str, Any]:
        """Give the OpenAI chat shape of the call."""
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ToolCall:
        """Read the OpenAI chat shape of a call."""
        function = data["function"]
        return cls(data["id"], function["name"], function.get("arguments") or "{}")


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a conversation.

    Parameters
    ----------
    role : {"system", "user", "assistant", "tool"}
        Who speaks.
    content : str
        The text; empty for an assistant message that only calls tools.
    tool_calls : tuple of ToolCall
        What an assistant message asks for.
    tool_call_id : str or None
        For a tool message, the call it answers.
    intermediate : bool
        Whether the message is a step on the way to an answer, which
        ``session.messages`` leaves out.

    Examples
    --------
    >>> Message("user", "hi").to_dict()
    {'role': 'user', 'content': 'hi'}
    """

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    intermediate: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Give the OpenAI chat shape of the message."""
        data: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            data["tool_calls"] = [call.to_dict() for call in self.tool_calls]
        if self.tool_call_id is not None:
            data["tool_call_id"] = self.tool_call_id
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Message:
        """Read the OpenAI chat shape of a message; unknown keys are ignored."""
        try:
            return cls(
                data["role"],
                data.get("content") or "",
                tuple(map(ToolCall.from_dict, data.get("tool_calls") or ())),
                data.get("tool_call_id"),
            )
        except (KeyError, TypeError, AttributeError) as error:
            fail(
                f"{shown(data)} is no message, such as Message.to_dict() gives.", error
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts, of one model call or of a run so far.

    Parameters
    ----------
    context_tokens : int
        Prompt size of the last model call, in tokens.
    prompt_tokens : int
        Prompt tokens of all calls together.
    completion_tokens : int
        Tokens that the model wrote, in all calls together.
    reasoning_tokens : int
        The part of them spent on reasoning; 0 if the service does not say.
    """

    context_tokens: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0

    def plus(self, call: Usage) -> Usage:
        """Add one more model call to the counts of a run."""
        return Usage(
            context_tokens=call.context_tokens,
            prompt_tokens=self.prompt_tokens + call.prompt_tokens,
            completion_tokens=self.completion_tokens + call.completion_tokens,
            reasoning_tokens=self.reasoning_tokens + call.reasoning_tokens,
        )

    @classmethod
    def of_call(cls, prompt: int, completion: int, reasoning: int = 0) -> Usage:
        """Count one model call.

        Parameters
        ----------
        prompt, completion, reasoning : int
            Tokens read, written, and spent on reasoning.

        Returns
        -------
        Usage
            The counts.
        """
        return cls(
            context_tokens=prompt,
            prompt_tokens=prompt,
            completion_tokens=completion,
            reasoning_tokens=reasoning,
        )


def to_dicts(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Give the OpenAI chat shape of several messages."""
    return [message.to_dict() for message in messages]
