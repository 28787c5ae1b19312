"""`LocalProvider`: a small real model that runs inside this process."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from notebook_agents import checks
from notebook_agents.messages import ToolCall
from notebook_agents.providers.base import (
    Delta,
    ModelReply,
    ModelRequest,
    Provider,
    ReasoningDelta,
    RetryDelta,
    TextDelta,
)
from notebook_agents.providers.local.arguments import write_arguments
from notebook_agents.providers.local.ask import Answer, Asker
from notebook_agents.providers.local.choice import choose, offered
from notebook_agents.providers.local.engine import (
    EngineOptions,
    engine_for,
    release_engine,
)
from notebook_agents.providers.local.prompt import (
    check_text_only,
    last_user_text,
    quoting_grammar,
    results_at_end,
    to_talk,
)
from notebook_agents.providers.local.shape import (
    stream_shaped,
    with_examples,
    with_schema,
)
from notebook_agents.providers.local.weights import (
    DEFAULT_MODEL,
    find_weights,
    is_path,
    known_weights,
    name_of,
    weights_here,
)
from notebook_agents.providers.output_format import OutputMode

__all__ = ["LocalProvider"]

LOADING = (
    "loading {}; the first answer takes some seconds, half a minute where the "
    "machine is busy"
)


class LocalProvider(Provider):
    """A model in this process: no key, no network, no other program.

    The bundled model is very small. It is good for trying things out, for tests
    and for demos; its answers are not to be trusted.

    Parameters
    ----------
    model : str
        Name of a known model, or the path of any GGUF file.
    n_ctx : int
        Size of the context, in tokens; prompt and answer share it.
    n_threads : int, optional
        Threads that compute; by default the engine decides.
    seed : int
        Seed of the sampling, so that the same question gets the same answer.
    guided : bool, optional
        Hold the model by the hand: the texts among a tool's arguments are
        copied from the user's message, a tool's result is quoted. Default is
        to do so for the known models, which need it, and not for other files,
        whether a path or the environment names them.

    Raises
    ------
    ModelNotFoundError
        If no model of that name is known.
    AgentConfigurationError
        If an option cannot be right.

    Notes
    -----
    Making one does no work. The weights are looked for, and loaded, by the
    first request; providers with the same file and settings share one engine,
    whose requests wait in line.

    Examples
    --------
    >>> LocalProvider().model
    'smollm2-135m'
    """

    name = "local"

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        n_ctx: int = 4096,
        n_threads: int | None = None,
        seed: int = 0,
        guided: bool | None = None,
    ) -> None:
        checks.not_blank("model", model)
        checks.whole("n_ctx", n_ctx, least=1)
        if n_threads is not None:
            checks.whole("n_threads", n_threads, least=1)
        checks.whole("seed", seed, least=-1)
        if guided is not None:
            checks.flag("guided", guided)
        self._asked_for = model if is_path(model) else known_weights(model).name
        self.n_ctx = n_ctx
        """Size of the context, in tokens."""
        self._n_threads = n_threads
        self._seed = seed
        self._guided = guided
        self._options: EngineOptions | None = None

    @property
    def model(self) -> str:  # type: ignore[override] # the environment may change it
        """What answers: a known model, or the path of another file."""
        return name_of(self._asked_for)

    @property
    def _is_guided(self) -> bool:
        return not is_path(self.model) if self._guided is None else self._guided

    def output_mode(self, *, has_tools: bool) -> OutputMode:
        """Let the engine enforce the shape of an answer, while the model writes."""
        return "native"

    async def models(self) -> list[str]:
        """List the models whose weights are on this machine."""
        return weights_here()

    async def respond(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Ask once, as in `Provider.respond`.

        Parameters
        ----------
        request : ModelRequest
            What to ask.

        Yields
        ------
        TextDelta, ReasoningDelta, RetryDelta or ModelReply
            The reply as it arrives; before the first one, that it takes longer.

        Raises
        ------
        AgentConfigurationError
            If there is an image or a file in the conversation.
        ModelNotFoundError
            If the weights are not on this machine.
        MissingExtraError
            If xllamacpp is not installed.
        ContextLengthError
            If the conversation is longer than the context.
        AgentProviderError
            If the model cannot be loaded, or was unloaded meanwhile.
        """
        check_text_only(request.messages)
        self._options = self._find_options()
        engine = engine_for(self._options, self)
        if not engine.is_loaded:
            yield RetryDelta(0, 0.0, LOADING.format(Path(self.model).name))
        asker = Asker(engine)
        call, stop_reason = await self._call(asker, request)
        if call is not None:
            yield ModelReply(
                tool_calls=(call,), usage=asker.usage, stop_reason=stop_reason
            )
            return
        answer = Answer()
        deltas = self._text(asker, request, answer)
        try:
            async for delta in deltas:
                yield delta
        finally:
            await deltas.aclose()
        yield ModelReply(
            text=answer.text,
            reasoning=answer.reasoning,
            usage=asker.usage,
            stop_reason="length" if answer.finish == "length" else "stop",
        )

    async def aclose(self) -> None:
        """Let go of the engine; the last provider to do so frees its memory."""
        if self._options is not None:
            release_engine(self._options, self)

    def unload(self) -> None:
        """Free the engine's memory at once, also for the others that share it.

        Their running requests fail; their next ones load the model again.
        """
        if self._options is not None:
            release_engine(self._options, self, force=True)

    def _find_options(self) -> EngineOptions:
        path = find_weights(self._asked_for).resolve()
        return EngineOptions(path=path, n_ctx=self.n_ctx, n_threads=self._n_threads)

    async def _call(
        self, asker: Asker, request: ModelRequest
    ) -> tuple[ToolCall | None, str]:
        """Let the model decide on a tool call; None if it is to answer."""
        functions, may_reply = offered(
            request.tools,
            request.tool_calling.get("tool_choice"),
            has_result=bool(results_at_end(request.messages)),
        )
        message = last_user_text(request.messages)
        if not functions or (may_reply and not message.strip()):
            return None, "stop"
        function = await choose(asker, functions, message, may_reply=may_reply)
        if function is None:
            return None, "stop"
        arguments, finish = await write_arguments(
            asker,
            function,
            message,
            copy=self._is_guided,
            max_tokens=request.max_tokens,
        )
        call = ToolCall(f"call_{uuid.uuid4().hex}", function["name"], arguments)
        return call, "length" if finish == "length" else "tool_calls"

    def _text(
        self, asker: Asker, request: ModelRequest, answer: Answer
    ) -> AsyncGenerator[TextDelta | ReasoningDelta, None]:
        """Ask for an answer: in words, or in the shape that the request names."""
        body: dict[str, Any] = {
            "seed": self._seed,
            **request.params,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature or 0.0,
        }
        if request.output is not None:
            ask = with_examples if self._is_guided else with_schema
            body["messages"], output = ask(request, request.output)
            return stream_shaped(asker, body, output, answer)
        body["messages"] = to_talk(request.messages, drop_calls=self._is_guided)
        results = results_at_end(request.messages)
        if results and self._is_guided:
            body |= {"grammar": quoting_grammar(results), "temperature": 0.0}
        elif self._is_guided:
            # Decoded greedily, so small a model soon repeats itself.
            body.setdefault("repeat_penalty", 1.1)
        return asker.stream(body, answer)
