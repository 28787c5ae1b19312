"""Careless input to every name of the package: one clear sentence, and nothing silent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import notebook_agents as na
from notebook_agents import (
    Agent,
    AgentConfigurationError,
    Budget,
    InMemoryStore,
    LLMClient,
    Orchestrator,
    ScriptedProvider,
    call,
    tool,
)
from notebook_agents.errors import MissingFileError, UnknownOptionError
from notebook_agents.providers import OllamaProvider
from notebook_agents.sync import run_sync

NOT_MADE_BY_USERS = {"AgentResult", "AgentStream", "Run", "RunContext", "Progress"}
"""What they are handed, rather than make."""
CONTRACTS = {"BaseProvider", "MemoryBackend", "MemoryStore", "ProviderResponse"}
"""What they write classes of."""
NOTHING_TO_GET_WRONG = {
    "InMemoryStore",
    "Stop",
    "allow_nested_loops",
    "create_conversation_id",
}
SHAPES = {"ApprovalRequest", "Message", "ToolCall"}
"""Values that come by the thousand, and are read where they come from outside."""


def bot(*script, **parts):
    return Agent(ScriptedProvider(list(script) or ["ok"]), **parts)


def search(words: str) -> str:
    """Search."""
    return words


class Searcher:
    """Searches, when one of it is called."""

    def __call__(self, words: str) -> str:
        return words


def ask(**options):
    return bot().run_sync("hi", **options)


def teams(members, **options):
    return Orchestrator(ScriptedProvider(["ok"]), members, **options)


def many(agent=None, **options):
    return na.ConversationService(agent or bot(), **options)


def talk(name, message, **options):
    return run_sync(many().run(name, message, **options))


MISTAKES = [
    # ------------------------------------------------------- models
    ("Agent", lambda: Agent("gpt-5"), "Did you mean 'openai:gpt-5'?"),
    ("Agent", lambda: Agent("claude-x"), "Did you mean 'anthropic:claude-x'?"),
    ("Agent", lambda: Agent("llama3:8b"), "Did you mean 'ollama:llama3:8b'?"),
    ("Agent", lambda: Agent("openai/gpt-5"), "Did you mean 'openai:gpt-5'?"),
    ("Agent", lambda: Agent("opnai:gpt-5"), "Did you mean 'openai:gpt-5'?"),
    ("Agent", lambda: Agent("http://x/v1"), "is a URL: pass LLMClient('http://x/v1'"),
    ("Agent", lambda: Agent(5), "named as text or given as a provider, not 5"),
    ("Agent", lambda: Agent(Agent), "named as text or given as a provider"),
    ("Agent", lambda: Agent(provider="openai", model=5), "model is 5"),
    ("Agent", lambda: Agent("openai:a", model="b"), "has a model: name it there"),
    ("Agent", lambda: Agent(ScriptedProvider([]), model="b"), "has a model"),
    ("FallbackProvider", lambda: na.FallbackProvider("local"), "a list of models"),
    ("FallbackProvider", lambda: na.FallbackProvider(["a"], rst=1), "mean 'rest'?"),
    # ------------------------------------------------------- parts of an agent
    ("Agent", lambda: bot(tools=5), "tools is 5; it must be a list"),
    ("Agent", lambda: bot(tools=search), "are a list: Agent(..., [search])"),
    ("Agent", lambda: bot(tools="search"), "tools is 'search'"),
    ("Agent", lambda: bot(tools={"a": search}), "are a list"),
    ("Agent", lambda: bot(tools=bot()), "are a list: Agent(..., [agent.as_tool()])"),
    ("Agent", lambda: bot(tools=[bot()]), "tools=[agent.as_tool()]"),
    ("Agent", lambda: bot(tools=[None]), "A tool is a function, not NoneType"),
    ("Agent", lambda: bot(tools=[Searcher]), "Searcher is a class"),
    ("Agent", lambda: bot(tools=[Agent]), "Agent is a class"),
    ("Agent", lambda: bot(system_prompt=["a"]), "system_prompt is ['a']"),
    ("Agent", lambda: bot(system_prompt=Path("a")), "path.read_text()"),
    ("Agent", lambda: bot(system_prompt=lambda: "a"), "Call it"),
    ("Agent", lambda: bot(memory="chats.sqlite"), "open_session(name)"),
    ("Agent", lambda: bot(memory=InMemoryStore()), "pass store.session()"),
    ("Agent", lambda: bot(memory=na.MemorySession), "one conversation, not"),
    ("Agent", lambda: bot(tool_calling="required"), "tool_calling is a dict"),
    ("Agent", lambda: bot(tool_calling={"tool_choise": "auto"}), "mean 'tool_choice'?"),
    ("Agent", lambda: bot(tool_calling={"parallel_tool_calls": "no"}), "True or False"),
    ("Agent", lambda: bot(output_retries="2"), "output_retries is '2'"),
    ("Agent", lambda: bot(max_tokens="10"), "max_tokens is '10'"),
    ("Agent", lambda: bot(temperature="0.5"), "temperature is '0.5'"),
    ("Agent", lambda: bot(temperature=float("nan")), "temperature is nan"),
    ("Agent", lambda: bot(max_steps="10"), "max_steps is '10'"),
    ("Agent", lambda: bot(max_steps=0), "max_steps is 0"),
    ("Agent", lambda: bot(max_steps=True), "max_steps is True"),
    ("Agent", lambda: bot(parallel_tools="no"), "True or False"),
    ("Agent", lambda: bot(parallel_tools=None), "True or False"),
    ("Agent", lambda: bot(approval_timeout=-1), "approval_timeout is -1"),
    ("Agent", lambda: bot(approval_timeout="5"), "approval_timeout is '5'"),
    ("Agent", lambda: bot(approval_callback="yes"), "approval_callback is 'yes'"),
    ("Agent", lambda: bot(approval_tools=True), "approval_tools is True"),
    ("Agent", lambda: bot(approver=print), "goes into approval_callback="),
    ("Agent", lambda: bot(approver=type("A", (), {"ask": 1})), "approver is an object"),
    ("Agent", lambda: bot(history_processors=5), "history_processors is 5"),
    ("Agent", lambda: bot(input_guards=None), "guards is None"),
    ("Agent", lambda: bot(budget={"tokens": 5}), "Budget(tokens=20_000)"),
    ("Agent", lambda: bot(on_event="x"), "on_event is 'x'"),
    ("Agent", lambda: bot(name=""), "name is blank"),
    ("Agent", lambda: bot(name="a\nb"), "on one line"),
    ("Agent", lambda: bot(agent_id=" "), "agent_id is blank"),
    ("Agent", lambda: bot(sytem_prompt="x"), "Did you mean 'system_prompt'?"),
    ("Agent", lambda: bot(tool=[search]), "Did you mean 'tools'?"),
    (
        "Agent",
        lambda: Agent("local", [], "Be brief."),
        "only client, tools by position",
    ),
    ("Agent", lambda: bot().with_model(5), "named as text"),
    ("Agent", lambda: bot().add_tool([search]), "A tool is a function, not list"),
    ("Agent", lambda: bot(name="my bot").as_tool(), "name='my_bot'"),
    ("Agent", lambda: bot().as_tool(description=5), "description=5"),
    # ------------------------------------------------------- runs
    ("Agent", lambda: bot().run_sync(None), "must be text, not NoneType"),
    ("Agent", lambda: bot().run_sync(""), "The message is empty"),
    ("Agent", lambda: bot().run_sync(123), "must be text, not int"),
    ("Agent", lambda: bot().run_sync(b"hi"), "message.decode()"),
    ("Agent", lambda: bot().run_sync(Path("a")), "path.read_text()"),
    ("Agent", lambda: bot().run_sync(ask()), "str(result)"),
    ("Agent", lambda: bot().run_sync([{"role": "user"}]), "prior_messages="),
    ("Agent", lambda: ask(max_step=3), "Did you mean 'max_steps'?"),
    ("Agent", lambda: ask(max_steps="3"), "max_steps is '3'"),
    ("Agent", lambda: ask(max_steps=0), "max_steps is 0"),
    ("Agent", lambda: ask(max_steps=2, max_tool_rounds=1), "pass one"),
    ("Agent", lambda: ask(max_tool_rounds=-1), "max_tool_rounds is -1"),
    ("Agent", lambda: ask(system_prompt=5), "system_prompt is 5"),
    ("Agent", lambda: ask(memory=InMemoryStore()), "pass store.session()"),
    ("Agent", lambda: ask(session="thesis"), "memory=open_session(name)"),
    ("Agent", lambda: ask(approver=5), "approver is an object"),
    ("Agent", lambda: ask(timeout=5), "asyncio.timeout"),
    ("Agent", lambda: ask(temperature=0), 'params={"temperature": 0}'),
    ("Agent", lambda: ask(tools=[search]), "belongs to the agent"),
    ("Agent", lambda: ask(params={"temprature": 1}), "Did you mean 'temperature'?"),
    ("Agent", lambda: ask(namespace=5), "pass names"),
    # ------------------------------------------------------- consent
    ("ApprovalPolicy", lambda: na.ApprovalPolicy("ask"), "ApprovalPolicy(mode=...)"),
    ("ApprovalPolicy", lambda: na.ApprovalPolicy([("a", "ask")]), "are a dict"),
    ("ApprovalPolicy", lambda: na.ApprovalPolicy({"a": "alow"}), "allow, ask, deny"),
    ("ApprovalPolicy", lambda: na.ApprovalPolicy(rule={}), "Did you mean 'rules'?"),
    ("Allow", lambda: na.Allow([1]), "a dict, not [1]"),
    ("Allow", lambda: na.Allow(arg={}), "Did you mean 'args'?"),
    ("Always", lambda: na.Always("tol"), "Did you mean 'tool'?"),
    ("Always", lambda: na.Always(until="noon"), "until is 'noon'"),
    ("Deny", lambda: na.Deny(5), "reason is 5"),
    ("Respond", lambda: na.Respond(5), "text is 5"),
    # ------------------------------------------------------- tools
    ("tool", lambda: tool(5), "A tool is a function, not int"),
    ("tool", lambda: tool(tmeout=5), "Did you mean 'timeout'?"),
    ("tool", lambda: tool(thread="x")(search), "thread='x': use True or False"),
    ("tool", lambda: tool(sequential="yes")(search), "sequential='yes'"),
    ("tool", lambda: tool(description=5)(search), "description=5: use a text"),
    ("tool", lambda: tool(label="Search {word}")(search), "Did you mean 'words'?"),
    ("tool", lambda: tool(label="Search {")(search), "cannot be read"),
    ("tool", lambda: tool(name="a b")(search), "name='a_b'"),
    ("tool", lambda: tool(name="x" * 65)(search), "1 to 64 letters"),
    ("cached_tool", lambda: na.cached_tool(max_size=5)(search), "no option 'max_size'"),
    # ------------------------------------------------------- limits and history
    ("Budget", lambda: Budget(tokens="20_000"), "tokens is '20_000'"),
    ("Budget", lambda: Budget(usd=-1), "usd is -1"),
    ("Budget", lambda: Budget(seconds=True), "seconds is True"),
    ("Budget", lambda: Budget(token=5), "Did you mean 'tokens'?"),
    (
        "Budget",
        lambda: Budget(5),
        "takes nothing by position; name the rest, as in usd=",
    ),
    ("HistoryBudget", lambda: na.HistoryBudget("5"), "max_tokens is '5'"),
    ("HistoryBudget", lambda: na.HistoryBudget(max_token=5), "mean 'max_tokens'?"),
    ("HistoryBuffer", lambda: na.HistoryBuffer(max_tokens=-1), "max_tokens is -1"),
    # ------------------------------------------------------- guards
    ("Guard", lambda: na.Guard(5), "a function of a text"),
    ("Guard", lambda: na.Guard(str, name=5), "name is 5"),
    ("block_keywords", lambda: na.block_keywords(5), "words is 5"),
    ("strip_pii", lambda: na.strip_pii(["emial"]), "Did you mean 'email'?"),
    ("strip_pii", lambda: na.strip_pii(extra=5), "extra is 5"),
    ("llm_guard", lambda: na.llm_guard("local", 5), "a policy in words"),
    ("llm_guard", lambda: na.llm_guard("local", "x", on_eror="a"), "mean 'on_error'?"),
    (
        "Guardrail",
        lambda: na.Guardrail(id="1", name="n", kind="x", config={}).to_guard(),
        "keywords, pii, llm",
    ),
    ("GuardrailService", lambda: na.GuardrailService(5), "the path of a file, got 5"),
    # ------------------------------------------------------- memory
    ("SQLiteStore", lambda: na.SQLiteStore(5), "the path of a file, got 5"),
    ("SQLiteStore", lambda: na.SQLiteStore(":memory:"), "InMemoryStore()"),
    ("SQLiteStore", lambda: na.SQLiteStore("a\0b"), "the path of a file"),
    ("MemoryScope", lambda: na.MemoryScope(user_id=5), "user_id is 5"),
    ("MemoryScope", lambda: na.MemoryScope(user="a"), "Did you mean 'user_id'?"),
    ("MemoryScope", lambda: na.MemoryScope(conversation_id="x"), "open_session(name)"),
    ("MemorySession", lambda: InMemoryStore().session("ada"), "user_id=..."),
    ("MemorySession", lambda: na.MemorySession("x", na.MemoryScope()), "store is 'x'"),
    ("MemorySession", lambda: InMemoryStore().session().add("x"), "no message"),
    ("open_session", lambda: na.open_session(None), "name of a session is None"),
    ("open_session", lambda: na.open_session("x", store="y"), "store is 'y'"),
    ("open_session", lambda: na.open_session("x", store=InMemoryStore), "store is"),
    ("list_sessions", lambda: na.list_sessions(limit=-1), "limit is -1"),
    ("list_sessions", lambda: na.list_sessions(store="x"), "store is 'x'"),
    # ------------------------------------------------------- teams
    ("ConversationService", lambda: many("local"), "needs an Agent, not 'local'"),
    ("ConversationService", lambda: many(history_max_tokens="8000"), "is '8000'"),
    ("ConversationService", lambda: many(max_conversations=0), "conversations is 0"),
    ("ConversationService", lambda: talk(5, "hi"), "conversation_id is 5"),
    ("ConversationService", lambda: talk("1", ""), "The message is empty"),
    ("ConversationService", lambda: talk("1", "hi", max_step=3), "mean 'max_steps'?"),
    ("Agent", lambda: run_sync(bot().chat("", "1", "hi")), "user_id is blank"),
    ("Orchestrator", lambda: teams([bot()]), "Orchestrator(client, {name: agent})"),
    ("Orchestrator", lambda: teams({"bot": "local"}), "'bot' is 'local', not an Agent"),
    ("Orchestrator", lambda: teams({"bot": Agent}), "not an Agent"),
    ("Orchestrator", lambda: teams({5: bot()}), "name of a member is 5"),
    ("Orchestrator", lambda: teams({"a": bot()}, tools=[]), "its own tools"),
    ("Orchestrator", lambda: teams({"a": bot()}, max_stps=5), "mean 'max_steps'?"),
    # ------------------------------------------------------- serving
    ("serve", lambda: na.serve("local"), "serve(Agent(...)), not 'local'"),
    ("serve", lambda: na.serve(Agent), "serve(Agent(...)), not <class"),
    ("serve", lambda: na.serve(bot(), config={"port": 1}), "pass ServerConfig(...)"),
    ("serve", lambda: na.serve(bot(), store="chats.sqlite"), "store is 'chats.sqlite'"),
    ("serve", lambda: na.serve(bot(), prt=80), "Did you mean 'port'?"),
    ("serve", lambda: na.serve(bot(), port="80"), "port is '80'"),
    ("serve", lambda: na.serve(bot(), host="http://localhost"), "goes into port="),
    ("serve", lambda: na.serve(bot(), host="localhost:80"), "goes into port="),
    ("AgentServer", lambda: na.AgentServer("local"), "not 'local'"),
    ("AgentServer", lambda: na.AgentServer(bot(), 5), "config is 5"),
    ("ServerConfig", lambda: na.ServerConfig(hst="x"), "Did you mean 'host'?"),
    ("ServerConfig", lambda: na.ServerConfig(cors="*"), "CORSConfig(origins=[...])"),
    ("ServerConfig", lambda: na.ServerConfig(ssl_certfile=5), "ssl_certfile is 5"),
    ("CORSConfig", lambda: na.CORSConfig(origin="x"), "Did you mean 'origins'?"),
    # ------------------------------------------------------- services
    ("LLMClient", lambda: LLMClient(None), "base_url is None"),
    ("LLMClient", lambda: LLMClient("localhost:80"), "mean 'http://localhost:80'?"),
    ("LLMClient", lambda: LLMClient("http://x/v1", 5), "is not text"),
    ("LLMClient", lambda: LLMClient("http://x/v1", '"sk-1"'), "quotation marks"),
    ("LLMClient", lambda: LLMClient("http://x/v1", "sk\n1"), "no key has"),
    ("LLMClient", lambda: LLMClient("http://x/v1", model=5), "model is 5"),
    (
        "LLMClient",
        lambda: LLMClient("http://x/v1", tmeout=5),
        "Did you mean 'timeout'?",
    ),
    ("LLMClient", lambda: LLMClient("http://x/v1", extra_headers=5), "not int"),
    ("LLMClient", lambda: LLMClient("http://x/v1", verify=5), "verify is 5"),
    ("LLMClient", lambda: LLMClient("http://x/v1", http_client=5), "http_client is 5"),
    ("register_provider", lambda: na.register_provider(5, search), "is 5"),
    ("register_provider", lambda: na.register_provider("a:b", search), "the colon"),
    ("register_provider", lambda: na.register_provider("a", 5), "factory is 5"),
    ("register_provider", lambda: na.register_provider("a", search), "two arguments"),
    ("ScriptedProvider", lambda: ScriptedProvider("Hi"), "list of replies"),
    ("ScriptedProvider", lambda: ScriptedProvider([], chunk=0), "chunk is 0"),
    ("ScriptedProvider", lambda: bot(5).run_sync("hi"), "5 is no reply"),
    ("ScriptedProvider", lambda: bot({"txt": "a"}).run_sync("hi"), "mean 'text'?"),
    ("call", lambda: call(5), "The name of a tool is 5"),
    ("call", lambda: call("search", words=object()), "JSON cannot carry"),
    # ------------------------------------------------------- what was written down
    ("event_from_dict", lambda: na.event_from_dict({}), "is no event"),
    ("event_from_dict", lambda: na.event_from_dict(5), "is no event"),
    ("Message", lambda: na.Message.from_dict({}), "is no message"),
    ("AgentResult", lambda: ask().export("run.pdf"), ".md, .ipynb, .html, .json"),
    ("AgentResult", lambda: ask().export(5), "path is 5"),
    ("AgentResult", lambda: ask().export("none/run.md"), "Path('none').mkdir"),
]


@pytest.mark.parametrize(
    ("mistake", "said"),
    [pytest.param(*case, id=f"{name}: {case[1]}") for name, *case in MISTAKES],
)
def test_a_mistake_is_one_clear_sentence_of_ours(mistake, said):
    with pytest.raises(AgentConfigurationError) as caught:
        mistake()
    words = str(caught.value)
    assert said in words
    assert "\n" not in words
    assert len(words) < 600


def test_every_public_name_is_tried():
    """A new name has to be put into one of these lists."""
    tried = {name for name, *_ in MISTAKES}
    errors = {name for name in na.__all__ if name.endswith("Error")} | {"ToolRetry"}
    theirs = set(na._THEIRS) | {"__version__", "AgentAPI"}
    apart = NOT_MADE_BY_USERS | CONTRACTS | NOTHING_TO_GET_WRONG | SHAPES
    assert set(na.__all__) - tried - errors - theirs - apart == set()


@pytest.mark.parametrize("mistake", [lambda: bot(nme="x"), lambda: Budget(token=1)])
def test_a_misspelt_keyword_is_a_type_error_too(mistake):
    with pytest.raises(TypeError) as caught:
        mistake()
    assert isinstance(caught.value, UnknownOptionError)


def test_a_huge_value_is_not_repeated_in_the_message():
    with pytest.raises(AgentConfigurationError) as caught:
        bot(system_prompt=list(range(10**6)))
    assert str(caught.value) == "system_prompt is a list; it must be a text."


# ------------------------------------------------------------ what is accepted


def test_no_tools_may_be_written_as_none():
    assert bot(tools=None).tools == {}


async def test_a_run_takes_max_steps_like_the_agent():
    script = [call("search", words="a"), call("search", words="b"), "never said"]
    for steps, stop_reason in ((1, "max_tool_rounds"), (2, "max_tool_rounds")):
        agent = Agent(ScriptedProvider(script), [search], max_steps=9)
        result = await agent.run("go", max_steps=steps)
        assert (result.steps, result.stop_reason) == (steps, stop_reason)
    agent = Agent(ScriptedProvider(script), [search], max_steps=1)
    assert (await agent.run("go", max_steps=3)).answer == "never said"


def test_a_tool_that_is_listed_twice_is_no_mistake():
    assert list(bot(tools=[search, search]).tools) == ["search"]


def test_the_url_of_an_own_server_may_lack_its_path():
    provider = OllamaProvider("x", base_url="http://localhost:11434/")
    assert provider.base_url == "http://localhost:11434/v1"


def test_quotation_marks_around_a_variable_are_not_part_of_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "'sk-0123456789'")
    monkeypatch.setenv("NOTEBOOK_AGENTS_MODEL", ' "openai:gpt-5" ')
    agent = Agent()
    assert repr(agent._model.get()).startswith("<OpenAIProvider 'gpt-5'")


async def test_a_callback_that_says_yes_in_words_is_told_what_counts():
    agent = bot(
        call("search", words="a"),
        "ok",
        tools=[search],
        approval_callback=lambda name, args: "yes",
    )
    [one] = (await agent.run("go")).tool_calls
    assert "returned 'yes', and only True allows" in one["content"]


async def test_a_rule_that_ends_the_process_asks_instead():
    def rule(args):
        raise SystemExit(3)

    agent = bot(
        call("search", words="a"), "ok", tools=[search], policy={"search": rule}
    )
    [one] = (await agent.run("go")).tool_calls
    assert "The rule 'search' of the policy failed: SystemExit: 3." in one["content"]


@pytest.mark.parametrize(
    ("attribute", "value", "said"),
    [
        ("memory", InMemoryStore(), "pass store.session()"),
        ("system_prompt", ["Be brief."], "system_prompt is ['Be brief.']"),
        ("tools", search, "are a list"),
        ("policy", "alow", "one of ask, policy, allow, deny"),
    ],
)
async def test_what_is_set_later_is_looked_at_by_the_next_run(attribute, value, said):
    agent = bot()
    setattr(agent, attribute, value)
    with pytest.raises(AgentConfigurationError, match=re.escape(said)):
        await agent.run("hi")


async def test_tools_may_be_set_later_as_a_list():
    agent = bot(call("search", words="tea"), "ok")
    agent.tools = [search]
    [one] = (await agent.run("hi")).tool_calls
    assert one["content"] == "tea"


def test_a_tool_can_be_added_to_tools_that_were_set_as_a_list():
    agent = bot()
    agent.tools = [search]

    def find(word: str) -> str:
        return word

    agent.add_tool(find)
    assert list(agent.tools) == ["search", "find"]


@pytest.mark.parametrize("name", ["search", "find"])
async def test_functions_may_be_put_among_the_tools_by_their_names(name):
    agent = bot(call(name, words="tea"), "ok")
    agent.tools = {name: search}
    result = await agent.run("hi")
    assert result.tool_calls[0]["content"] == "tea"
    [told] = agent._model.get().requests[0].tools
    assert told["function"]["name"] == name


async def test_what_is_no_function_is_refused_among_the_tools():
    agent = bot("ok")
    agent.tools["search"] = 5
    with pytest.raises(AgentConfigurationError, match="5"):
        await agent.run("hi")


@pytest.mark.parametrize("make", [InMemoryStore, lambda: na.SQLiteStore("a.sqlite")])
def test_a_store_is_purged_by_a_moment(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AgentConfigurationError, match="datetime, not 'yesterday'"):
        make().purge(older_than="yesterday")


# ------------------------------------------------------------ files


def test_a_run_is_not_written_where_it_cannot_be(tmp_path):
    result = ask()
    with pytest.raises(FileNotFoundError) as caught:
        result.export(tmp_path / "none" / "run.md")
    assert isinstance(caught.value, MissingFileError)
    folder = tmp_path / "run.md"
    folder.mkdir()
    with pytest.raises(
        OSError, match=re.escape(f"{str(folder)!r} cannot be written: it is a folder")
    ):
        result.export(folder)
