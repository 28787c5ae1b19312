"""`Turn`: what the loop needs for one turn, and what it gathers on the way."""

from __future__ import annotations

import contextlib
import copy
import itertools
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from notebook_agents.consent import Consent
from notebook_agents.decisions import Decided, enclosing_decisions
from notebook_agents.errors import (
    AgentConfigurationError,
    AgentProviderError,
    RunCancelledError,
)
from notebook_agents.events import Event, Origin
from notebook_agents.guardrails.guard import NO_GUARDS, Guards
from notebook_agents.history.pipeline import History
from notebook_agents.ledger import Ledger
from notebook_agents.messages import Message, ToolCall, Usage
from notebook_agents.pricing import ModelCall
from notebook_agents.providers.base import BaseProvider, ModelReply, ModelRequest
from notebook_agents.surroundings import Around

if TYPE_CHECKING:  # most turns have none of these
    from notebook_agents.budget import Crossing, Meter
    from notebook_agents.journal import RunJournal
    from notebook_agents.past_run import PastCall, PastStep
    from notebook_agents.question import Question
    from notebook_agents.structured import TypedAnswer
    from notebook_agents.tools.context import RunContext
    from notebook_agents.tools.definition import ToolDefinition
    from notebook_agents.tools.progress import Progress

__all__ = ["Turn"]

E = TypeVar("E", bound=Event)

_UNCOUNTED = Usage()
_NO_REPLY = ModelReply()


@dataclass(slots=True, kw_only=True)
class Turn:
    """The context of one turn.

    Parameters
    ----------
    origin : Origin
        The run and the agent.
    asked : Question
        What the user said.
    provider : BaseProvider
        Who answers.
    tools : mapping of str to ToolDefinition
        What the model may call.
    consent : Consent
        How calls that need consent are decided.
    history : History
        What of the conversation is sent.
    max_rounds : int
        Most rounds of tool calls; one more model call may follow.
    max_tokens, temperature, max_retries, tool_calling, params
        As in `ModelRequest`.
    parallel_tools : bool
        Whether the calls of one round run at the same time.
    meter : Meter or None
        What it may spend; None where nothing limits it.
    guards : Guards
        What looks at the texts before anybody else does.
    ledger : Ledger
        Where it is counted what the run took.
    journal : RunJournal or None
        Where it is written down what must not be done twice.
    past : deque of PastStep
        What was done before the process was killed, and is not done again.
    typed : TypedAnswer or None
        The answer, where it shall have a type.
    around : Around
        What its tools find around them.
    """

    origin: Origin
    asked: Question
    provider: BaseProvider
    tools: Mapping[str, ToolDefinition]
    consent: Consent
    history: History = field(default_factory=History)
    max_rounds: int = 3
    max_tokens: int = 1024
    temperature: float | None = None
    max_retries: int | None = None
    tool_calling: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    parallel_tools: bool = True
    meter: Meter | None = None
    guards: Guards = NO_GUARDS
    ledger: Ledger = field(default_factory=Ledger)
    journal: RunJournal | None = None
    past: deque[PastStep] = field(default_factory=deque)
    typed: TypedAnswer | None = None
    around: Around = field(default_factory=Around)

    prior: Sequence[Message] = field(default=(), init=False)
    """System prompt and history, in order; `history` chooses what is sent of it."""
    step: int = field(default=0, init=False)
    """Model calls begun so far."""
    usage: Usage = field(default=_UNCOUNTED, init=False)
    """Token counts so far."""
    model_calls: list[ModelCall] = field(default_factory=list, init=False)
    """The model calls that came to their end, for their price."""
    reply: ModelReply = field(default=_NO_REPLY, init=False)
    """The latest reply of the model."""
    next_request: ModelRequest = field(init=False)
    """What the model is about to be asked."""
    crossing: Crossing | None = field(default=None, init=False)
    """The limit that the next call would have crossed, and that ends the turn."""
    recalled: Mapping[str, PastCall] | None = field(default=None, init=False)
    """Calls of the latest reply that had begun before; None for a new reply."""
    pieces: list[str] = field(default_factory=list, init=False)
    """Visible text of the reply that is still arriving."""
    said: list[Message] = field(default_factory=list, init=False)
    """The messages of this turn after the user's, complete rounds only."""
    answer: str = field(default="", init=False)
    """The final text."""
    stop_reason: str = field(default="stop", init=False)
    """Why the turn ended."""
    is_finished: bool = field(default=False, init=False)
    """Whether the final answer has been written down."""
    mistakes: defaultdict[str, int] = field(
        default_factory=lambda: defaultdict(int), init=False
    )
    """How often the model was told to try a tool again."""
    decided_within: Decided = field(default_factory=list, init=False)
    """What was decided in runs of agents that its tools asked."""
    late: list[Event] = field(default_factory=list, init=False)
    """What happened after the turn was stopped, and nobody has been told."""
    _decided_around: Decided | None = field(
        default_factory=enclosing_decisions, init=False
    )
    _stored: Sequence[Message] = field(default=(), init=False)
    _call_ids: set[str] = field(default_factory=set, init=False)
    _replays: Mapping[str, object] = field(default_factory=dict, init=False, repr=False)
    _numbers: Iterator[int] = field(
        default_factory=lambda: itertools.count(1), init=False
    )

    @property
    def partial(self) -> str:
        """Visible text of the reply that is still arriving."""
        return "".join(self.pieces)

    @property
    def output(self) -> Any:
        """The answer as a value, where it shall have a type."""
        if self.typed is None:
            return None
        return self.typed.value if self.typed.format else self.answer

    @property
    def asked_for(self) -> str:
        """Name of the type that the answer shall have as JSON; empty for text."""
        typed = self.typed
        return typed.kind.name if typed is not None and typed.format else ""

    def event(self, kind: type[E], /, **fields: Any) -> E:
        """Make the next event of this turn.

        Parameters
        ----------
        kind : type of Event
            Its class.
        **fields : object
            What is particular to that class.

        Returns
        -------
        Event
            Numbered and dated.
        """
        return kind(
            self.origin,
            next(self._numbers),
            time.time(),
            self.step,
            self.usage if kind.counts_tokens else _UNCOUNTED,
            **fields,
        )

    def requests(self, error: Exception | None) -> int:
        """Count the model calls that were sent, also the last one without a reply.

        Parameters
        ----------
        error : Exception or None
            Why the turn ended, if it was no answer.

        Returns
        -------
        int
            0 for a turn that was refused before.
        """
        answered = len(self.model_calls)
        if self.step == answered:
            return answered
        is_sent = isinstance(error, AgentProviderError | RunCancelledError)
        return answered + bool(self.pieces or (is_sent and not self.is_spent()))

    def decided(self, rows: Decided) -> Decided:
        """Add what was decided within its tools, and tell the run around it.

        Parameters
        ----------
        rows : list of dict
            What was decided about its own calls.

        Returns
        -------
        list of dict
            All of it, in the order of time.
        """
        everything = sorted([*rows, *self.decided_within], key=lambda row: row["at"])
        if self._decided_around is not None:
            self._decided_around.extend(everything)
        return everything

    def is_spent(self) -> bool:
        """Whether a limit of its budget ends the turn."""
        return self.crossing is not None

    def begin(self, earlier: Sequence[Message]) -> None:
        """Take what came before the question, as it is stored."""
        self._stored, self.prior = earlier, self.history.earlier(earlier)

    def context(self, report: Callable[[Progress], object]) -> RunContext[Any]:
        """Give what a tool may know of this run.

        Parameters
        ----------
        report : callable
            Takes the progress of the tool.

        Returns
        -------
        RunContext
            For one call.
        """
        from notebook_agents.tools.context import RunContext

        return RunContext(
            run_id=self.origin.run_id,
            agent=self.origin.agent,
            deps=self.around.deps,
            user_id=self.around.user_id,
            conversation_id=self.around.conversation_id,
            step=self.step,
            _report=report,
        )

    async def recall(self) -> bool:
        """Take the next reply from the past, if there is one left; it has cost as much."""
        step = self.past.popleft() if self.past else None
        self.recalled = None if step is None else step.calls
        if step is not None:
            self.take(step.reply)
            if self.meter is not None:
                # A price that is not known ends the run at its next request, when
                # what had been done is in its turn.
                with contextlib.suppress(AgentConfigurationError):
                    await self.meter.charge(self.model_calls[-1])
        return step is not None

    async def request(self) -> ModelRequest:
        """Write down what to ask the model next."""
        tool_calling = dict(self.tool_calling)
        if self.said and tool_calling.get("tool_choice") not in ("auto", "none"):
            # A forced call has been made; forced again, it would never end.
            tool_calling.pop("tool_choice", None)
        current = [self.asked.message(), *self.said]
        messages = await self.history.request(self.prior, current)
        typed = self.typed
        return ModelRequest(
            messages=[*messages, *typed.corrections] if typed else messages,
            tools=[tool.schema for tool in self.tools.values()],
            tool_calling=tool_calling,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            params=self.params,
            output=typed.format if typed else None,
            max_retries=self.max_retries,
            replays=self._replays,
        )

    def take(self, reply: ModelReply) -> None:
        """Make a reply the latest one, and count its tokens."""
        self.reply, counts = reply, reply.usage
        self.usage = self.usage.plus(counts)
        _, _, passed_on_to = reply.model.partition(":")
        own_url = str(getattr(self.provider, "base_url", ""))
        self.model_calls.append(
            ModelCall(
                model=passed_on_to if reply.model else self.provider.model,
                url=reply.url if reply.model else own_url,
                prompt_tokens=counts.prompt_tokens,
                completion_tokens=counts.completion_tokens,
                cached_tokens=reply.cached_tokens,
                cache_write_tokens=reply.cache_write_tokens,
                charged=reply.charged,
            )
        )

    def close_round(self, calls: Sequence[ToolCall], results: Sequence[str]) -> None:
        """Write a round of calls down, each with its result.

        Parameters
        ----------
        calls : sequence of ToolCall
            What the model asked for, with arguments that are valid JSON.
        results : sequence of str
            One for each call, in the same order.
        """
        said = Message("assistant", self.reply.text, tuple(calls), intermediate=True)
        self.said.append(said)
        if self.reply.replay is not None:
            self._replays = {**self._replays, calls[0].id: self.reply.replay}
        for call, result in zip(calls, results, strict=True):
            answer = Message("tool", result, tool_call_id=call.id, intermediate=True)
            self.said.append(answer)
        self.pieces.clear()
        if self.typed is not None:
            self.typed.corrections.clear()

    def finish(self, answer: str, stop_reason: str = "stop") -> None:
        """Write the final answer down."""
        self.answer, self.stop_reason, self.is_finished = answer, stop_reason, True
        self.said.append(Message("assistant", answer))
        self.pieces.clear()

    def apart(self, last: int) -> Turn:
        """Give a copy that whoever still writes into this one does not reach.

        Parameters
        ----------
        last : int
            Number of the last event that counts.

        Returns
        -------
        Turn
            With the complete rounds and the text so far.
        """
        twin = copy.copy(self)
        twin.said, twin.pieces, twin.late = list(self.said), list(self.pieces), []
        twin._numbers = itertools.count(last + 1)  # noqa: SLF001 - same class
        return twin

    def calls(self) -> list[ToolCall]:
        """Give the calls of the latest reply, each with an identifier of its own.

        Returns
        -------
        list of ToolCall
            As the model sent them, but for identifiers that were missing or
            stand elsewhere in the conversation.
        """
        seen, unique = self._call_ids, []
        if not seen:
            # Also those of messages that are not shown, or were changed.
            for message in itertools.chain(self._stored, self.prior):
                seen.update(call.id for call in message.tool_calls)
        for call in self.reply.tool_calls:
            new, number = call.id, len(seen)
            while not new or new in seen:
                number += 1
                new = f"{call.id or 'call'}_{number}"
            seen.add(new)
            unique.append(call if new == call.id else replace(call, id=new))
        return unique
