"""Asking the engine: one request, its text, its token counts, its errors."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from notebook_agents.errors import (
    AgentProviderError,
    ContextLengthError,
    StreamInterruptedError,
)
from notebook_agents.messages import Usage
from notebook_agents.providers.base import ReasoningDelta, TextDelta
from notebook_agents.providers.local.engine import Engine
from notebook_agents.providers.local.job import Chunk

__all__ = ["Answer", "Asker"]


@dataclass(slots=True)
class Answer:
    """What one request to the engine gave, filled while it arrives.

    Parameters
    ----------
    text, reasoning : str
        The text, and the thinking before it.
    finish : str
        ``"stop"`` or ``"length"``; empty until the end.
    log_likelihood : float
        Sum over the written tokens, in nats; only if asked for.
    """

    text: str = ""
    reasoning: str = ""
    finish: str = ""
    log_likelihood: float = 0.0


@dataclass(slots=True)
class Asker:
    """The requests that make up one reply, and their token counts together.

    Parameters
    ----------
    engine : Engine
        Who answers.
    usage : Usage
        Counts so far.
    """

    engine: Engine
    usage: Usage = field(default_factory=Usage)

    async def stream(
        self, body: dict[str, Any], answer: Answer
    ) -> AsyncGenerator[TextDelta | ReasoningDelta, None]:
        """Send a request, yield its pieces, and collect them in `answer`.

        Parameters
        ----------
        body : dict
            An OpenAI chat request.
        answer : Answer
            Filled on the way.

        Yields
        ------
        TextDelta or ReasoningDelta
            A piece; tokens that arrived together come as one.

        Raises
        ------
        StreamInterruptedError
            If the end is missing.
        """
        batches = self.engine.chat(body)
        try:
            async for batch in batches:
                text, reasoning = self._read(batch, answer)
                if reasoning:
                    answer.reasoning += reasoning
                    yield ReasoningDelta(reasoning)
                if text:
                    answer.text += text
                    yield TextDelta(text)
        finally:
            await batches.aclose()
        if not answer.finish:
            message = "The reply of local ended before it was complete. Run it again."
            raise StreamInterruptedError(message, provider="local", retryable=True)

    async def whole(self, messages: Sequence[Mapping[str, str]], **body: Any) -> Answer:
        """Send a request, decoded greedily, and wait for its end.

        Parameters
        ----------
        messages : sequence of dict
            The prompt.
        **body
            Further fields of the request.

        Returns
        -------
        Answer
            The whole of it.
        """
        answer = Answer()
        request = {"messages": list(messages), "temperature": 0} | body
        async with contextlib.aclosing(self.stream(request, answer)) as deltas:
            async for _ in deltas:
                pass
        return answer

    def _read(self, batch: Sequence[Chunk], answer: Answer) -> tuple[str, str]:
        text = reasoning = ""
        for chunk in batch:
            if "error" in chunk:
                raise _error_of(chunk["error"])
            if "usage" in chunk:
                self._count(chunk["usage"])
            for choice in chunk.get("choices") or ():
                delta = choice.get("delta") or {}
                text += delta.get("content") or ""
                reasoning += delta.get("reasoning_content") or ""
                answer.finish = choice.get("finish_reason") or answer.finish
                for token in (choice.get("logprobs") or {}).get("content") or ():
                    answer.log_likelihood += token["logprob"]
        return text, reasoning

    def _count(self, counts: Mapping[str, Any]) -> None:
        call = Usage.of_call(counts["prompt_tokens"], counts["completion_tokens"])
        self.usage = self.usage.plus(call)


def _error_of(error: Mapping[str, Any]) -> AgentProviderError:
    said = error.get("message") or "no reason given"
    if error.get("type") == "exceed_context_size_error":
        message = (
            f"The conversation has {error.get('n_prompt_tokens')} tokens, but this "
            f"local model reads {error.get('n_ctx')} at most: start a new "
            "conversation, send less, or use LocalProvider(n_ctx=...)."
        )
        return ContextLengthError(message, provider="local")
    message = f"The local model refused the request: {said}"
    return AgentProviderError(
        message, provider="local", provider_status=error.get("code")
    )
