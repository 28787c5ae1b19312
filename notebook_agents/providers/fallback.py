"""`FallbackProvider`: several models, of which the next answers where one cannot."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace

from notebook_agents import checks
from notebook_agents.errors import (
    AgentConfigurationError,
    AgentProviderError,
    ContentFilteredError,
    ContextLengthError,
    MissingExtraError,
    ModelNotFoundError,
    NoModelAnsweredError,
    NotebookAgentsError,
    ProviderRateLimitError,
    ProviderSetupError,
)
from notebook_agents.providers.base import (
    BaseProvider,
    Delta,
    ModelReply,
    ModelRequest,
    Provider,
    ReasoningDelta,
    RetryDelta,
    TextDelta,
    interrupted,
    model_label,
)
from notebook_agents.providers.lazy import LazyProvider
from notebook_agents.providers.output_format import OutputMode
from notebook_agents.providers.shaped import shaped_deltas
from notebook_agents.spelling import by_name

__all__ = ["FallbackProvider", "repliers"]

REST_SECONDS = 60.0
MOST_WAIT_SECONDS = 5.0
"""A model that asks to wait longer than this is left for the next one."""
LONGEST_REASON = 160

_OUR_FAULT = frozenset({400, 413, 422})
_ELSEWHERE = (AgentProviderError, OSError)
_NOT_SET_UP = (ProviderSetupError, ModelNotFoundError, MissingExtraError)


@by_name
class FallbackProvider(Provider):
    """Ask the first of several models that can answer.

    The next one is asked where a model is not set up or not there, where its
    service refuses the key, is out of credit or asks to slow down, where nobody
    answers, and where a reply breaks off; text that has been shown by then is
    taken back. A request that is itself at fault is not sent to others.

    Parameters
    ----------
    providers : sequence of str or BaseProvider
        ``"provider:model"`` or a provider, in the order in which to ask.
    rest : float, default 60
        Seconds for which a model that was out of order is asked last.

    Raises
    ------
    AgentConfigurationError
        If there is none, one of them is neither, or `rest` is no number.

    Notes
    -----
    What is retried, and how often, each provider decides itself: make it with
    ``max_retries=0`` to move on at once. One whose service asks to wait for more
    than five seconds is left sooner. A turn stays with the model that made its
    tool calls for as long as it answers.

    Examples
    --------
    >>> from notebook_agents import Agent, AgentProviderError, ScriptedProvider
    >>> broken = ScriptedProvider([AgentProviderError("out of order")])
    >>> agent = Agent(FallbackProvider([broken, ScriptedProvider(["Hello!"])]))
    >>> result = agent.run_sync("Hi")
    >>> str(result), [e.reason for e in result.events if e.event == "retry"]
    ('Hello!', ['scripted:script: out of order'])
    """

    def __init__(
        self, providers: Sequence[str | BaseProvider], *, rest: float = REST_SECONDS
    ) -> None:
        given: object = providers
        if not _are_models(given):
            message = (
                "FallbackProvider takes a list of models, such as "
                '["anthropic:claude-sonnet-5-5", "local"].'
            )
            raise AgentConfigurationError(message)
        checks.number("rest", rest, least=0)
        self._members = [_Member(each) for each in providers]
        self._rest = rest
        self._is_checked = False

    @property
    def name(self) -> str:  # type: ignore[override] # it depends on the members
        """The models, in the order in which they are asked."""
        first, *others = (member.label for member in self._members)
        return f"{first} (else {', '.join(others)})" if others else first

    def __repr__(self) -> str:
        return f"<FallbackProvider: {self.name}>"

    def output_mode(self, *, has_tools: bool) -> OutputMode:
        """Leave it to each model how an answer of a given shape is asked for."""
        return "native"

    def providers(self) -> list[BaseProvider]:
        """Give the providers that are set up, in the order in which they are asked."""
        made = (member.made for member in self._members)
        return [provider for provider in made if provider is not None]

    async def models(self) -> list[str]:
        """List the models of all services that have a list.

        Returns
        -------
        list of str
            As ``provider:model``, in the order in which the services are asked.

        Raises
        ------
        NotebookAgentsError
            If none has one: what the first said.
        """
        found: list[str] = []
        failures: list[Exception] = []
        for member in self._members:
            try:
                names = await member.get().models()
            except (AgentConfigurationError, *_ELSEWHERE) as error:
                failures.append(error)
            else:
                found += [member.spelled(name) for name in names]
        if len(failures) == len(self._members):
            raise failures[0]
        return list(dict.fromkeys(found))

    async def aclose(self) -> None:
        """Give back what the providers hold open."""
        for provider in self.providers():
            if isinstance(provider, Provider):
                await provider.aclose()

    async def respond(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Ask until one answers, as in `Provider.respond`.

        Parameters
        ----------
        request : ModelRequest
            What to ask.

        Yields
        ------
        TextDelta, ReasoningDelta, RetryDelta or ModelReply
            Those of the model that answers. Whenever another one is asked, a
            `RetryDelta` says which and why, and whether the text is void.

        Raises
        ------
        NoModelAnsweredError
            If all of them failed; if there is only one, its own error.
        NotebookAgentsError
            If the request itself is at fault.
        """
        if not self._is_checked:  # a name that is wrong shall not wait for its day
            self.providers()
            self._is_checked = True
        failures: dict[_Member, Exception] = {}
        has_spoken = False
        left = self._in_order(request)
        first, why = self._members[0], self._members[0].why
        if left[0] is not first and left[0] is not self._maker(request):
            yield RetryDelta(0, 0.0, f"{first.label}: {why}", model=left[0].label)
        while left:
            member = left.pop(0)
            deltas = self._ask(member, request, others=len(left))
            try:
                async for delta in deltas:
                    has_spoken = has_spoken or isinstance(delta, _Spoken)
                    yield delta
                    if isinstance(delta, ModelReply):
                        return
            except Exception as failure:
                if not _may_go_elsewhere(failure):
                    raise
                failures[member] = failure
                member.rest_after(failure, self._rest)
            finally:
                await deltas.aclose()
            if left:
                yield RetryDelta(
                    len(failures),
                    0.0,
                    f"{member.label}: {member.why}",
                    discard_partial=has_spoken,
                    model=left[0].label,
                )
                has_spoken = False
        error = _nobody(failures)
        raise error

    async def _ask(
        self, member: _Member, request: ModelRequest, *, others: int
    ) -> AsyncGenerator[Delta, None]:
        """Ask one model."""
        provider = member.get()
        deltas = shaped_deltas(provider, _of_its_own(request, member))
        try:
            async for delta in deltas:
                if isinstance(delta, ModelReply):
                    yield replace(
                        _signed(delta, provider), replay=_Made(member, delta.replay)
                    )
                    return
                if others and isinstance(delta, RetryDelta) and delta.attempt:
                    _check_wait(delta, provider)
                yield delta
        finally:
            await deltas.aclose()
        raise interrupted(provider)

    def _in_order(self, request: ModelRequest) -> list[_Member]:
        """Say whom to ask first: who is at it, then who is well."""
        maker = self._maker(request)
        now = time.monotonic()
        return sorted(
            self._members,
            key=lambda member: (member is not maker, member.rests_until > now),
        )

    def _maker(self, request: ModelRequest) -> _Member | None:
        """Find who made the tool calls of this turn last."""
        for message in reversed(request.messages):
            if message.role == "user":
                return None
            if message.tool_calls:
                made = request.replays.get(message.tool_calls[0].id)
                maker = made.by if isinstance(made, _Made) else None
                return maker if maker in self._members else None
        return None


_Spoken = TextDelta | ReasoningDelta


class _Member:
    """One of the models, and how it fares."""

    def __init__(self, client: str | BaseProvider) -> None:
        self._lazy = LazyProvider(client)
        self.why = ""
        """What was wrong with it last."""
        self.rests_until = -math.inf
        """Until when it is asked last, by the monotonic clock."""

    @property
    def label(self) -> str:
        """What answers, as ``provider:model``."""
        return self._lazy.label

    def get(self) -> BaseProvider:
        """Give the provider, made now if it was not."""
        return self._lazy.get()

    @property
    def made(self) -> BaseProvider | None:
        """The provider; None if it is not set up."""
        try:
            return self.get()
        except _NOT_SET_UP:
            return None

    def spelled(self, model: str) -> str:
        """Name a model of its service as ``provider:model``."""
        return f"{self.label.partition(':')[0]}:{model}"

    def rest_after(self, error: Exception, seconds: float) -> None:
        """Remember what was wrong, and let it rest if trying again takes time."""
        self.why = _first_sentence(error)
        if isinstance(error, ProviderRateLimitError) and error.retry_after:
            seconds = error.retry_after
        # Whether a key is right now, or set at all, is found out in no time.
        if isinstance(error, OSError) or getattr(error, "retryable", False):
            self.rests_until = time.monotonic() + seconds


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    """Who made a reply, and what it wants to be given again with its calls.

    It travels with the reply: identifiers of calls say little, since many services
    begin theirs anew with each reply.
    """

    by: _Member
    replay: object


def _are_models(given: object) -> bool:
    return (
        isinstance(given, list | tuple)
        and bool(given)
        and all(isinstance(each, str | BaseProvider) for each in given)
    )


def repliers(provider: BaseProvider) -> Sequence[BaseProvider]:
    """Give all that may reply where a provider is asked: itself, or those behind it."""
    if not isinstance(provider, FallbackProvider):
        return [provider]
    return [each for one in provider.providers() for each in repliers(one)]


def _may_go_elsewhere(error: Exception) -> bool:
    """Tell whether another model might answer what this one could not."""
    if isinstance(error, _NOT_SET_UP):
        return True
    if isinstance(error, ContextLengthError | ContentFilteredError):
        return False
    if isinstance(error, AgentProviderError):
        return error.retryable or error.provider_status not in _OUR_FAULT
    return isinstance(error, OSError) and not isinstance(error, AgentConfigurationError)


def _check_wait(delta: RetryDelta, provider: BaseProvider) -> None:
    """Refuse to wait long where another one may answer at once."""
    if delta.wait_s > MOST_WAIT_SECONDS:
        name = model_label(provider)
        message = f"{delta.reason}, and asks to wait {delta.wait_s:.0f} s"
        raise ProviderRateLimitError(
            message, provider=name, retryable=True, retry_after=delta.wait_s
        )


def _signed(reply: ModelReply, provider: BaseProvider) -> ModelReply:
    if reply.model:
        return reply
    # Not base_url, in which a key may stand: replies are written down.
    url = str(getattr(provider, "shown_url", getattr(provider, "base_url", "")))
    return replace(reply, model=model_label(provider), url=url)


def _nobody(failures: Mapping[_Member, Exception]) -> Exception:
    errors = tuple(failures.values())
    if len(errors) == 1:
        return errors[0]
    told = "\n".join(f"- {each.label}: {_said(e)}" for each, e in failures.items())
    is_our_setup = all(isinstance(error, AgentConfigurationError) for error in errors)
    return NoModelAnsweredError(
        f"None of {len(errors)} models answered.\n{told}",
        errors=errors,
        status_code=500 if is_our_setup else 502,
        retryable=any(getattr(error, "retryable", False) for error in errors),
    )


def _said(error: Exception) -> str:
    """Give the words of an error; those of a foreign one may name a host."""
    foreign = getattr(error, "strerror", "") or ""
    words = str(error) if isinstance(error, NotebookAgentsError) else foreign
    return words or type(error).__name__


def _first_sentence(error: Exception) -> str:
    sentence = _said(error).partition("\n")[0].partition(". ")[0].rstrip(".")
    is_long = len(sentence) > LONGEST_REASON
    return f"{sentence[: LONGEST_REASON - 1]}…" if is_long else sentence


def _of_its_own(request: ModelRequest, member: _Member) -> ModelRequest:
    """Give a request that holds of the replies before only what this model wants."""
    replays = {
        call_id: made.replay
        for call_id, made in request.replays.items()
        if isinstance(made, _Made) and made.by is member
    }
    return replace(request, replays=replays)
