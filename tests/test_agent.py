"""What a user does with an agent."""

from __future__ import annotations

import asyncio

import pytest

from notebook_agents import (
    Agent,
    BaseProvider,
    InMemoryStore,
    MemoryScope,
    ProviderResponse,
    ScriptedProvider,
    call,
    tool,
)
from notebook_agents.errors import AgentConfigurationError, AgentProviderError
from notebook_agents.providers import OpenAICompatibleProvider, registry
from notebook_agents.testing.wire import whole, wire_server


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def sent(provider, number=-1):
    """Give the messages of one request as (role, content)."""
    return [(m.role, m.content) for m in provider.requests[number].messages]


# ------------------------------------------------------------ making one


async def test_no_key_is_needed_until_the_first_run():
    """Acceptance check 2."""
    agent = Agent(provider="openai")
    with pytest.raises(AgentConfigurationError, match="OPENAI_API_KEY"):
        await agent.run("hi")


def test_client_and_provider_are_two_words_for_one_thing():
    with pytest.raises(AgentConfigurationError, match="not both"):
        Agent("openai:x", provider="openai")


def test_provider_and_model_can_be_named_apart():
    assert Agent(provider="openai", model="x").model_label == "openai:x"


def test_an_agent_shows_its_name_its_model_and_its_tools():
    agent = Agent(ScriptedProvider([]), [add], name="sums")
    assert repr(agent) == "<Agent 'sums' on scripted:script, tools: add>"


def test_an_agent_knows_its_provider_and_its_model_apart():
    """Requirements, A20."""

    def names(*args, **options):
        agent = Agent(*args, **options)
        return agent.provider_name, agent.model

    assert names(provider=" OpenAI ", model="gpt") == ("openai", "gpt")
    assert names("ollama:llama:3b") == ("ollama", "llama:3b")
    assert names("openai") == ("openai", "")
    assert names() == ("", "")
    assert names(ScriptedProvider([])) == ("scripted", "script")


def test_a_later_tool_replaces_an_earlier_one_of_its_name():
    """Acceptance check 10."""

    @tool(name="add")
    def other(a: int) -> int:
        return -a

    with pytest.warns(UserWarning, match="Two tools are called 'add'") as warned:
        agent = Agent(ScriptedProvider([]), [add, other])
    assert warned[0].filename == __file__
    assert [t.func for t in agent.tools.values()] == [other]


async def test_a_renamed_tool_is_called_by_its_new_name():
    """Acceptance check 10."""

    @tool(name="plus", description="Sums.")
    def renamed(a: int) -> int:
        return a + 1

    provider = ScriptedProvider([call("plus", a=1), "2"])
    result = await Agent(provider, [renamed]).run("go")
    assert result.tool_calls[0]["content"] == "2"
    [told] = provider.requests[0].tools
    assert (told["function"]["name"], told["function"]["description"]) == (
        "plus",
        "Sums.",
    )


async def test_a_tool_can_be_added_later():
    agent = Agent(ScriptedProvider([call("add", a=1), "2"]))
    agent.add_tool(add)
    assert (await agent.run("go")).tool_calls[0]["content"] == "2"


async def test_another_model_takes_over_with_the_same_memory():
    agent = Agent(ScriptedProvider(["one"]))
    await agent.run("1")
    other = ScriptedProvider(["two"])
    await agent.with_model(other).run("2")
    assert [content for _, content in sent(other)] == ["1", "one", "2"]


async def test_a_tool_for_the_agent_on_another_model_is_for_that_one_alone():
    agent = Agent(ScriptedProvider([]), [add])
    other = agent.with_model(ScriptedProvider([]))

    def double(a: int) -> int:
        return 2 * a

    other.add_tool(double)
    assert (list(agent.tools), list(other.tools)) == (["add"], ["add", "double"])


async def test_a_custom_provider_is_found_by_its_name(monkeypatch):
    """Acceptance check 13."""
    monkeypatch.setattr(registry, "_registered", {})
    Agent.register_provider(" My ", lambda model, settings: ScriptedProvider(["hi"]))
    assert (await Agent(provider="my").run("go")).answer == "hi"


# ------------------------------------------------------------ asking


@pytest.mark.parametrize("message", ["", "  \n", None, 3, b"hi"])
async def test_a_message_must_say_something(message):
    with pytest.raises(AgentConfigurationError, match="message"):
        await Agent(ScriptedProvider([])).run(message)


@pytest.mark.parametrize("option", ["max_rounds", "temperature"])
async def test_a_misspelt_option_is_not_ignored(option):
    with pytest.raises(TypeError, match=option):
        await Agent(ScriptedProvider([])).run("hi", **{option: 1})


async def test_the_system_prompt_is_sent_first_and_never_stored():
    provider = ScriptedProvider(["a", "b"])
    agent = Agent(provider, system_prompt="Be brief.")
    await agent.run("1")
    await agent.run("2")
    assert [role for role, _ in sent(provider)].count("system") == 1
    assert sent(provider)[0] == ("system", "Be brief.")
    assert "system" not in str(agent.memory.all_messages)


@pytest.mark.parametrize(
    ("prompt", "first"),
    [("Other.", ("system", "Other.")), (None, ("system", "Own.")), ("", ("user", "1"))],
)
async def test_the_system_prompt_of_a_run_wins_if_there_is_one(prompt, first):
    provider = ScriptedProvider(["a"])
    await Agent(provider, system_prompt="Own.").run("1", system_prompt=prompt)
    assert sent(provider)[0] == first


async def test_sampling_settings_reach_the_model():
    provider = ScriptedProvider(["a"])
    choice = {"tool_choice": "required"}
    await Agent(provider, max_tokens=7, temperature=0.1, tool_calling=choice).run("1")
    request = provider.requests[0]
    assert (request.max_tokens, request.temperature) == (7, 0.1)
    assert request.tool_calling == choice


@pytest.mark.parametrize(("retries", "tries"), [(0, 1), (2, 3), (None, 4)])
async def test_the_agent_says_how_often_a_failed_call_is_tried_again(
    retries, tries, monkeypatch
):
    """Requirements, L17."""
    monkeypatch.setattr("notebook_agents.providers._retry.FIRST_SECONDS", 0.001)
    with wire_server() as server:
        server.say(*[whole(503, {"error": {"message": "busy"}})] * 4)
        provider = OpenAICompatibleProvider(server.url, "m")
        with pytest.raises(AgentProviderError, match="busy"):
            await Agent(provider, max_retries=retries).run("go")
        assert len(server.requests) == tries


def test_a_negative_number_of_retries_is_refused():
    with pytest.raises(AgentConfigurationError, match="max_retries is -1"):
        Agent(ScriptedProvider([]), max_retries=-1)


async def test_the_params_of_a_run_win_over_the_settings_of_the_agent():
    provider = ScriptedProvider(["a", "b"])
    agent = Agent(provider, [add], temperature=0.9, max_tokens=50)
    params = {"temperature": 0, "max_tokens": 7, "tool_choice": "none", "top_k": 3}
    await agent.run("hi", params=params)
    await agent.run("hi")
    first, second = provider.requests
    assert (first.temperature, first.max_tokens) == (0, 7)
    assert first.tool_calling == {"tool_choice": "none"}
    assert first.params == {"top_k": 3}
    assert (second.temperature, second.max_tokens, second.params) == (0.9, 50, {})


async def test_calls_can_be_made_one_by_one_for_one_run():
    running = []

    async def work(n: int) -> int:
        running.append(n)
        await asyncio.sleep(0)
        running.remove(n)
        return len(running)

    script = [[call("work", n=1), call("work", n=2)], "done"]
    agent = Agent(ScriptedProvider(script), [work])
    result = await agent.run("hi", params={"parallel_tool_calls": False})
    assert [each["content"] for each in result.tool_calls] == ["0", "0"]


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"messages": []}, "params cannot set 'messages'"),
        ({"tools": []}, "params cannot set 'tools'"),
        ({"stream": False}, "params cannot set 'stream'"),
        ({"model": "other"}, "params cannot set 'model'"),
        ({"max_tokens": 0}, "an answer needs at least 1"),
        ({"max_tokens": "many"}, "an answer needs at least 1"),
        ({"temperature": "hot"}, "it must be a number"),
        ({"temperature": float("nan")}, "it must be a number"),
        ({"logit_bias": object()}, "cannot be written as JSON"),
        ({1: 2}, "Pass params as a dict"),
        ("temperature=0", "Pass params as a dict"),
    ],
)
async def test_params_that_cannot_be_sent_are_refused_before_anything_is(
    params, problem
):
    provider = ScriptedProvider(["a"])
    with pytest.raises(AgentConfigurationError, match=problem):
        await Agent(provider).run("hi", params=params)
    assert provider.requests == []


# ------------------------------------------------------------ remembering


async def test_the_next_turn_knows_the_last_one():
    provider = ScriptedProvider(["one", "two"])
    agent = Agent(provider)
    await agent.run("1")
    await agent.run("2")
    assert [content for _, content in sent(provider)] == ["1", "one", "2"]


@pytest.mark.parametrize(("history", "roles"), [("full", "uatau"), ("final", "uau")])
async def test_what_the_model_sees_again_of_a_tool(history, roles):
    """Acceptance check 5."""
    provider = ScriptedProvider([call("add", a=1), "2", "3"])
    session = InMemoryStore().session()
    agent = Agent(provider, [add], history=history, memory=session)
    await agent.run("1 + 1?")
    assert (len(session.messages), len(session.all_messages)) == (2, 4)
    await agent.run("And one more?")
    assert "".join(role[0] for role, _ in sent(provider)) == roles


async def test_prior_messages_replace_the_memory_but_the_turn_is_stored():
    """Design, section 17."""
    provider = ScriptedProvider(["one", "two"])
    agent = Agent(provider)
    await agent.run("1")
    prior = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    result = await agent.run("2", prior_messages=prior)
    assert [content for _, content in sent(provider)] == ["x", "y", "2"]
    assert len(agent.memory.messages) == 4
    assert result.turn_number == 2


async def test_the_messages_of_a_result_go_on_as_prior_messages():
    provider = ScriptedProvider([call("add", a=1), "2", "3"])
    result = await Agent(provider, [add]).run("go")
    await Agent(provider, [add]).run("on", prior_messages=result.messages)
    assert [role for role, _ in sent(provider)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


async def test_another_conversation_can_be_used_for_one_run():
    agent, session = Agent(ScriptedProvider(["a"])), InMemoryStore().session()
    await agent.run("1", memory=session)
    assert (len(session.messages), len(agent.memory.messages)) == (2, 0)


async def test_the_memory_can_be_forgotten():
    agent = Agent(ScriptedProvider(["a"]), system_prompt="Own.")
    await agent.run("1")
    agent.reset_memory()
    assert agent.memory.messages == []
    assert agent.system_prompt == "Own."


class ForeignMemory:
    """As somebody else would write it; false while it is empty."""

    def __init__(self):
        self.added = []

    def __len__(self):
        return len(self.added)

    @property
    def messages(self):
        return list(self.added)

    def add(self, message):
        self.added.append(message)

    def reset(self):
        self.added.clear()


async def test_a_foreign_memory_gets_the_question_and_the_answer():
    memory = ForeignMemory()
    provider = ScriptedProvider([call("add", a=1), "2", "3"])
    agent = Agent(provider, [add], memory=memory)
    await agent.run("1 + 1?")
    assert memory.added == [
        {"role": "user", "content": "1 + 1?"},
        {"role": "assistant", "content": "2"},
    ]
    await agent.run("again")
    assert len(sent(provider)) == 3


async def test_an_empty_foreign_memory_is_used_for_one_run_too():
    memory = ForeignMemory()
    await Agent(ScriptedProvider(["a"])).run("1", memory=memory)
    assert len(memory) == 2


async def test_a_result_says_whose_conversation_it_was():
    scope = MemoryScope(user_id="ada")
    agent = Agent(ScriptedProvider(["a", "b"]), memory=InMemoryStore().session(scope))
    await agent.run("1")
    result = await agent.run("2")
    assert result.conversation_id == scope.conversation_id
    assert (result.user_id, result.turn_number) == ("ada", 2)


# ------------------------------------------------------------ many at once


async def test_hundreds_of_runs_at_once_keep_to_themselves():
    async def ask(number):
        agent = Agent(ScriptedProvider([call("add", a=number), str(number)]), [echo])
        return (await agent.run("go")).answer

    @tool(name="add")
    async def echo(a: int) -> int:
        return a

    answers = await asyncio.gather(*(ask(number) for number in range(200)))
    assert answers == [str(number) for number in range(200)]


async def test_one_agent_may_run_many_times_at_once():
    class Echo(BaseProvider):
        async def chat(self, messages, *, tools=None, tool_calling=None):
            await asyncio.sleep(0)
            return ProviderResponse(messages[-1]["content"])

        def stream(self, messages, *, tools=None, tool_calling=None):
            raise NotImplementedError

    agent = Agent(Echo())
    results = await asyncio.gather(*(agent.run(str(n)) for n in range(20)))
    assert [result.answer for result in results] == [str(n) for n in range(20)]
    stored = [message["content"] for message in agent.memory.messages]
    assert stored[::2] == stored[1::2]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"name": 3}, "name is 3"),
        ({"system_prompt": 5}, "system_prompt is 5"),
        ({"memory": "x.sqlite"}, "store.session"),
        ({"memory": InMemoryStore()}, "store.session"),
        ({"budget": 1000}, "Budget"),
        ({"approval_timeout": "5"}, "seconds"),
        ({"approval_timeout": 0}, "seconds"),
        ({"on_event": "x"}, "on_event"),
    ],
)
def test_a_part_of_another_kind_is_refused_when_the_agent_is_made(parts, words):
    with pytest.raises(AgentConfigurationError, match=words):
        Agent(ScriptedProvider([]), **parts)
