"""What a run cost is told where it is known, and nowhere else."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from types import SimpleNamespace

import pytest

from notebook_agents import Agent, ScriptedProvider, call, pricing
from notebook_agents.messages import Usage
from notebook_agents.pricing import ModelCall, cost_of
from notebook_agents.providers.base import ModelReply, Provider
from notebook_agents.sync import run_sync

OPENAI = "https://api.openai.com/v1"


class Priced(Provider):
    """A model of a service that counts its tokens."""

    name = "priced"

    def __init__(self, *replies, model="gpt-4o", base_url=OPENAI):
        self.replies = iter(replies)
        self.model = model
        self.base_url = base_url

    async def respond(self, request):
        yield next(self.replies)


def reply(prompt=1000, completion=100, **fields):
    return ModelReply(text="ok", usage=Usage.of_call(prompt, completion), **fields)


def a_call(model="gpt-4o", url=OPENAI, **counts):
    return ModelCall(
        model=model,
        url=url,
        **{"prompt_tokens": 1000, "completion_tokens": 100, **counts},
    )


def cost(*calls):
    return run_sync(cost_of(calls))


@pytest.fixture
def prices(monkeypatch):
    """Stand for the price list: one model, a dollar a token, a tenth if cached."""

    def calc_price(usage, model, *, provider_api_url):
        if (model, provider_api_url) != ("gpt-4o", OPENAI):
            raise LookupError(model)
        cached = usage.cache_read_tokens
        fresh = usage.input_tokens - cached
        return SimpleNamespace(total_price=fresh + cached / 10 + usage.output_tokens)

    module = SimpleNamespace(calc_price=calc_price, Usage=SimpleNamespace)
    monkeypatch.setitem(sys.modules, "genai_prices", module)
    monkeypatch.setitem(sys.modules, "genai_prices.data", SimpleNamespace())
    return module


@pytest.fixture
def no_prices(monkeypatch):
    for name in ("genai_prices", "genai_prices.data"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name, *more: None if name == "genai_prices" else find(name, *more),
    )
    pricing._is_installed.cache_clear()
    yield
    pricing._is_installed.cache_clear()


def test_whether_there_are_prices_is_not_looked_up_after_each_run(
    no_prices, monkeypatch
):
    looked = []
    monkeypatch.setattr("importlib.util.find_spec", looked.append)
    monkeypatch.setattr("notebook_agents.pricing.LOOK_UP_SECONDS", float("inf"))
    assert [cost(a_call()) for _ in range(20)] == [None] * 20
    assert looked == ["genai_prices"]


def test_the_calls_of_a_run_are_added_up(prices):
    steps = [reply(tool_calls=(call_of("f"),)), reply(2000, 1)]
    result = Agent(Priced(*steps), [f]).run_sync("go")
    assert result.cost == result["cost"] == 1100 + 2001
    assert "$3101.0000" in result.summary()


def f() -> str:
    """Do something."""
    return "done"


def call_of(name):
    from notebook_agents import ToolCall

    return ToolCall("1", name)


def test_cached_tokens_cost_less(prices):
    assert cost(a_call(cached_tokens=500)) == 500 + 50 + 100


@pytest.mark.parametrize(
    "unknown",
    [
        a_call(model="gpt-4o-of-my-own"),
        a_call(model=""),
        a_call(url="https://a-proxy.example/v1"),
        a_call(url="http://localhost:11434/v1"),
        a_call(url=""),
        a_call(prompt_tokens=0, completion_tokens=0),
    ],
    ids=["model", "no model", "service", "this machine", "in process", "no counts"],
)
def test_what_is_not_known_is_not_guessed(prices, unknown):
    assert cost(unknown) is None
    assert cost(a_call(), unknown) is None


def test_what_the_service_says_it_charged_counts(prices):
    assert cost(a_call(charged=0.5), a_call(model="other", charged=0.25)) == 0.75
    assert cost(a_call(charged=0.0)) == 0.0


def test_no_model_call_has_no_price(prices):
    assert cost() is None


def test_without_the_list_nothing_is_known_but_what_the_service_says(no_prices):
    assert cost(a_call()) is None
    assert cost(a_call(charged=0.5)) == 0.5


def test_a_list_that_is_broken_costs_the_price_and_not_the_answer(prices, caplog):
    prices.calc_price = lambda *_args, **_kwargs: 1 / 0
    result = Agent(Priced(reply())).run_sync("go")
    assert (result.answer, result.cost) == ("ok", None)
    assert "could not be looked up" in caplog.text


def test_a_run_that_is_stopped_tells_the_cost_of_its_complete_calls(prices):
    from notebook_agents.errors import RunCancelledError

    def stop() -> str:
        """Stop the run."""
        agent.last_run.cancel()
        return "stopped"

    agent = Agent(Priced(reply(tool_calls=(call_of("stop"),))), [stop])
    with pytest.raises(RunCancelledError) as caught:
        agent.run_sync("go")
    assert caught.value.result.cost == 1100


@pytest.mark.parametrize("provider", [ScriptedProvider(["hi"])])
def test_a_model_in_this_process_has_no_price(prices, provider):
    result = Agent(provider).run_sync("go")
    assert result.cost is None
    assert "$" not in result.summary()


def test_the_list_is_not_loaded_for_a_model_without_a_price():
    code = (
        "import sys; from notebook_agents import Agent, ScriptedProvider;"
        "Agent(ScriptedProvider(['hi'])).run_sync('go');"
        "print('genai_prices' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout.strip() == "False"


def test_the_real_list_knows_the_default_model_of_openai():
    spent = cost(a_call(model="gpt-6-luna"))
    assert spent is not None
    assert 0 < cost(a_call(model="gpt-6-luna", cached_tokens=500)) < spent < 1
    assert cost(a_call(model="a-model-that-nobody-made")) is None
    assert cost(a_call(url="https://router.huggingface.co/v1")) is None


def test_billable_tokens_are_those_read_and_written():
    """Requirement L15."""
    usage = {"prompt": 10, "completion": 5, "reasoning": 2}
    script = [
        {"tool_calls": [call("f")], "usage": usage},
        {"text": "x", "usage": usage},
    ]
    result = Agent(ScriptedProvider(script), [f]).run_sync("go")
    assert result.total_billable_tokens == result["total_billable_tokens"] == 30
