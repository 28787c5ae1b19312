"""The promises of a provider: ours keep them, and each broken one is found."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from urllib.parse import quote

import pytest

from notebook_agents import (
    AgentConfigurationError,
    BaseProvider,
    ProviderResponse,
    ScriptedProvider,
    call,
)
from notebook_agents.messages import ToolCall
from notebook_agents.providers import OpenAICompatibleProvider
from notebook_agents.providers.base import ModelReply, Provider, TextDelta
from notebook_agents.testing import (
    PROVIDER_PROMISES,
    EchoProvider,
    FunctionProvider,
    _checks,
    check_provider,
)

SECRET = "sk-very/secret-0123"


def adds_where_it_must(request):
    """Call the tool where the request says so, else say hello."""
    forced = request.tool_calling.get("tool_choice") == "required"
    return call("add", a=1, b=2) if forced else "Hello."


class Foreign(BaseProvider):
    """The least that somebody else may write."""

    async def chat(self, messages, *, tools=None, tool_calling=None):
        if (tool_calling or {}).get("tool_choice") == "required":
            return ProviderResponse("", [ToolCall("1", "add", '{"a": 1, "b": 2}')])
        return ProviderResponse("Hello.")

    async def stream(self, messages, *, tools=None, tool_calling=None):
        yield "Hello."


@pytest.mark.parametrize(
    ("make", "left"),
    [
        (lambda: FunctionProvider(adds_where_it_must), []),
        (EchoProvider, [7]),
        (lambda: ScriptedProvider(["Hello."] * 8), [7]),
        (Foreign, [8]),
    ],
    ids=["function", "echo", "scripted", "foreign"],
)
def test_a_good_provider_keeps_every_promise_that_it_offers(make, left):
    assert [promise.number for promise in check_provider(make)] == left


class _SaysNone(Foreign):
    async def chat(self, messages, *, tools=None, tool_calling=None):
        return ProviderResponse(None)


class _StreamsNothing(Foreign):
    async def stream(self, messages, *, tools=None, tool_calling=None):
        return
        yield


class _Fails(Foreign):
    async def chat(self, messages, *, tools=None, tool_calling=None):
        raise ConnectionError


class _OneLoop(Foreign):
    loop = None

    async def chat(self, messages, *, tools=None, tool_calling=None):
        here = asyncio.get_running_loop()
        self.loop = self.loop or here
        if here is not self.loop:
            raise ConnectionError
        return await super().chat(messages)


class _OneAtATime(Foreign):
    is_busy = False

    async def chat(self, messages, *, tools=None, tool_calling=None):
        if self.is_busy:
            raise ConnectionError
        self.is_busy = True
        await asyncio.sleep(0.01)
        self.is_busy = False
        return await super().chat(messages)


class _IgnoresCancelling(Foreign):
    async def chat(self, messages, *, tools=None, tool_calling=None):
        for _ in range(3):
            try:
                await asyncio.sleep(2)
            except asyncio.CancelledError:
                continue
        return ProviderResponse("late")


class _SendsAList(Foreign):
    async def chat(self, messages, *, tools=None, tool_calling=None):
        return ProviderResponse("Hi.", [ToolCall("1", "add", "[1]")] if tools else [])


class _LosesText(Provider):
    async def respond(self, request):
        yield TextDelta("Hel")
        yield ModelReply(text="Hello.")


class _ShowsItsKey(Foreign):
    def __init__(self):
        self._api_key = "sk-very-secret"

    def __repr__(self):
        return f"_ShowsItsKey({self._api_key})"


@pytest.mark.parametrize(
    ("make", "number"),
    [
        (_SaysNone, 1),
        (_StreamsNothing, 2),
        (_Fails, 3),
        (_OneLoop, 4),
        (_OneAtATime, 5),
        (_IgnoresCancelling, 6),
        (_SendsAList, 7),
        (_LosesText, 8),
        (_ShowsItsKey, 9),
    ],
)
def test_a_broken_promise_is_found_and_named(make, number):
    with pytest.raises(AssertionError, match=rf"^Promise {number}\. ") as caught:
        check_provider(make, promises=[number])
    assert "sk-very-secret" not in str(caught.value)


class _ShowsWhereItKeepsItsKey(OpenAICompatibleProvider):
    def __repr__(self):
        return f"<{self._given.key}>"


class _ShowsItsKeyInAUrl(OpenAICompatibleProvider):
    def __repr__(self):
        return f"<{self.base_url}?key={quote(self._given.key, safe='')}>"


@pytest.mark.parametrize("kind", [_ShowsWhereItKeepsItsKey, _ShowsItsKeyInAUrl])
def test_a_key_that_the_check_is_told_is_found_wherever_it_is_kept(kind):
    def make():
        return kind("http://localhost:1/v1", "m", SECRET)

    with pytest.raises(AssertionError, match=r"^Promise 9\. ") as caught:
        check_provider(make, promises=[9], secret=SECRET)
    assert "sk-very" not in str(caught.value)


def test_a_provider_that_hides_its_key_keeps_that_promise():
    def make():
        url = f"http://localhost:1/{quote(SECRET, safe='')}/v1"
        return OpenAICompatibleProvider(url, "m", SECRET)

    assert check_provider(make, promises=[9], secret=SECRET) == []


@pytest.mark.parametrize("secret", ["", " ", 5])
def test_a_secret_that_cannot_be_one_is_refused(secret):
    with pytest.raises(AgentConfigurationError, match="secret"):
        check_provider(EchoProvider, secret=secret)


class _Hangs(Foreign):
    async def chat(self, messages, *, tools=None, tool_calling=None):
        await asyncio.Event().wait()


def test_a_provider_that_hangs_breaks_a_promise(monkeypatch):
    monkeypatch.setattr(_checks, "SECONDS", 0.2)
    with pytest.raises(AssertionError, match=r"^Promise 1\. .*: it ends within 0.2 s"):
        check_provider(_Hangs, promises=[1])


BLOCKING = """
import threading
from notebook_agents import BaseProvider
from notebook_agents.testing import _checks, check_provider

class Blocks(BaseProvider):
    async def chat(self, messages, *, tools=None, tool_calling=None):
        threading.Event().wait()

    async def stream(self, messages, *, tools=None, tool_calling=None):
        yield "Hello."

_checks.SECONDS = 0.2
try:
    check_provider(Blocks, promises=[1])
except AssertionError as error:
    print(error)
"""


def test_a_provider_that_blocks_its_loop_stops_neither_the_check_nor_the_process():
    told = subprocess.run(
        [sys.executable, "-c", BLOCKING],
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    assert "it ends within 0.2 s" in told.stdout


def test_every_promise_has_its_number():
    numbers = [promise.number for promise in PROVIDER_PROMISES]
    assert numbers == list(range(1, len(numbers) + 1))
