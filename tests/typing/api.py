"""Never run: mypy checks that a user's code has the types it should have."""

from dataclasses import dataclass
from typing import Any, Literal, assert_type

from notebook_agents import (
    Agent,
    AgentResult,
    Guard,
    Guardrail,
    GuardrailBlockedError,
    GuardrailService,
    HistoryBudget,
    HistoryBuffer,
    LLMClient,
    RunContext,
    ScriptedProvider,
    block_keywords,
    cached_tool,
    strip_pii,
)
from notebook_agents.errors import (
    AgentAPIProviderError,
    AgentProviderError,
    MissingExtraError,
    ProviderRateLimitError,
)
from notebook_agents.events import Event, TokenEvent, event_from_dict
from notebook_agents.guardrails.guard import Scope


def read_an_error(error: ProviderRateLimitError) -> None:
    assert_type(error.retry_after, float | None)
    assert_type(error.provider_status, int | None)
    assert_type(error.retryable, bool)


def catch_an_error(error: ValueError | AgentAPIProviderError) -> None:
    if isinstance(error, MissingExtraError):
        assert_type(error.extra, str)
    elif isinstance(error, AgentProviderError):
        assert_type(error.provider, str)


def read_an_event(event: Event) -> None:
    assert_type(event_from_dict(event.to_dict()), Event)
    if isinstance(event, TokenEvent):
        assert_type(event.text, str)


def shorten(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return messages[-10:]


async def summarize(messages: list[dict[str, Any]]) -> str:
    return str(len(messages))


async def carry_a_conversation(agent: Agent) -> None:
    small = Agent("local", history_processors=[shorten], history="final")
    for budget in (HistoryBudget(8000, summarize=small), HistoryBudget(max_messages=9)):
        Agent("local", history=budget, history_processors=shorten)
    buffer = HistoryBuffer(8000, summarize=summarize)
    result = await buffer.run(agent, "hi", max_tool_rounds=1)
    assert_type(result, AgentResult[Any])
    assert_type(result.cost, float | None)
    buffer.extend(result)
    buffer.extend(result["messages"])
    await agent.run("hi", prior_messages=buffer)
    await agent.run("hi", prior_messages=result.messages)


def no_prices(text: str) -> str:
    return text


async def one_question(text: str) -> str:
    return text


def guard_an_agent(service: GuardrailService, judge: ScriptedProvider) -> None:
    before, after = service.split(service.instantiate_guards(["a"], judge))
    Agent(
        judge,
        input_guards=[no_prices, one_question, block_keywords(["bomb"]), *before],
        output_guards=after,
        tool_guards=Guard(one_question, scope="output"),
    )
    assert_type(service.list(), list[Guardrail])
    assert_type(strip_pii().scope, Scope)


def catch_a_guard(error: GuardrailBlockedError) -> None:
    assert_type(error.guard, str)
    assert_type(error.reason, str)


@dataclass
class Invoice:
    """What somebody has to pay."""

    total: float


async def ask_for_a_type() -> None:
    agent = Agent("local", output_type=Invoice)
    assert_type(agent, Agent[Invoice])
    assert_type((await agent.run("x")).output, Invoice)
    assert_type(agent.run_sync("x", max_tool_rounds=1).output, Invoice)
    assert_type((await agent.start("x").result()).output, Invoice)
    async for invoice in agent.stream("x").partials():
        assert_type(invoice, Invoice)


async def ask_a_run_for_a_type(agent: Agent) -> None:
    assert_type(await agent.run("x", output_type=int), AgentResult[int])
    assert_type((await agent.run("x", output_type=list[Invoice])).output, list[Invoice])
    either = await agent.run("x", output_type=Invoice | None)
    assert_type(either.output, Invoice | None)
    word = await agent.run("x", output_type=Literal["yes", "no"])
    assert_type(word.output, Literal["yes", "no"])


async def ask_for_text(agent: Agent) -> None:
    assert_type((await agent.run("x")).answer, str)
    takes_any_agent(Agent(LLMClient("http://localhost/v1"), output_type=Invoice))


def takes_any_agent(agent: Agent) -> None:
    assert_type(agent, Agent[Any])


@cached_tool(maxsize=10, risk="network")
async def rate(currency: str) -> float:
    return float(len(currency))


@cached_tool
def size(text: str, *, doubled: bool = False) -> int:
    return len(text) * (1 + doubled)


async def call_cached_tools() -> None:
    assert_type(await rate("NOK"), float)
    assert_type(size("a", doubled=True), int)
    assert_type(size.cache_info().hits, int)
    size.cache_clear()


def read_a_context(context: RunContext[dict[str, int]], other: RunContext) -> None:
    assert_type(context.deps, dict[str, int])
    assert_type(context.step, int)
    other.report_progress(1, 2, "half")
    assert_type(RunContext(deps=5).deps, int)
