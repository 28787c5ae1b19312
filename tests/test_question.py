"""A message is a text, or texts with images and files."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

from notebook_agents import (
    Agent,
    GuardrailBlockedError,
    InMemoryStore,
    ScriptedProvider,
    SQLiteStore,
    block_keywords,
    call,
    event_from_dict,
    strip_pii,
)
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.jupyter.history import history_rows
from notebook_agents.providers import OpenAICompatibleProvider
from notebook_agents.testing.wire import wire_server
from tests.providers.wire import answer

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAA"
    "AABJRU5ErkJggg=="
)
URL = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
IMAGE = {"type": "image_url", "image_url": {"url": URL}}


def text(words):
    return {"type": "text", "text": words}


def sent(model, number=-1):
    return model.requests[number].messages[-1].content


async def test_parts_reach_the_model_in_their_order():
    model = ScriptedProvider(["a dot"])
    result = await Agent(model).run(["First:", IMAGE, text("Second:"), IMAGE])
    assert sent(model) == [text("First:"), IMAGE, text("Second:"), IMAGE]
    assert result.messages[0]["content"] == sent(model)


async def test_a_path_is_read(tmp_path):
    picture, table = tmp_path / "dot.png", tmp_path / "table.csv"
    picture.write_bytes(PIXEL)
    table.write_text("a,b\n")
    model = ScriptedProvider(["seen"])
    await Agent(model).run(["Look:", picture, table])
    encoded = base64.b64encode(b"a,b\n").decode()
    file = {"filename": "table.csv", "file_data": f"data:text/csv;base64,{encoded}"}
    assert sent(model) == [text("Look:"), IMAGE, {"type": "file", "file": file}]


async def test_texts_alone_are_a_text():
    model = ScriptedProvider(["ok"])
    await Agent(model).run(["One.", text("Two.")])
    assert sent(model) == "One.\nTwo."


async def test_a_picture_may_come_without_a_word():
    model = ScriptedProvider(["a dot"])
    result = await Agent(model).run([IMAGE])
    assert sent(model) == [IMAGE]
    assert result.events[0].prompt == "[image]"


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_the_next_turn_sees_the_picture_again(kind, tmp_path):
    store = InMemoryStore()
    if kind == "sqlite":
        store = SQLiteStore(tmp_path / "chats.sqlite")
    model = ScriptedProvider(["a dot", "still a dot"])
    agent = Agent(model, memory=store.session())
    await agent.run(["What is it?", IMAGE])
    await agent.run("Sure?")
    first = model.requests[1].messages[0]
    assert first.content == [text("What is it?"), IMAGE]
    rows = history_rows(agent.memory, agent.ledger)
    assert rows[0]["content"] == "What is it?\n[image]"


async def test_people_see_the_text_and_a_word_for_each_picture(tmp_path):
    result = await Agent(ScriptedProvider(["a dot"])).run(["What is it?", IMAGE])
    told = result.events[0]
    assert told.prompt == "What is it?\n[image]"
    assert event_from_dict(json.loads(json.dumps(told.to_dict()))) == told
    json.dumps(result.to_dict())
    assert (
        result.export(tmp_path / "run.md").read_text("utf-8").count("What is it?") == 1
    )


async def test_a_guard_changes_the_words_and_leaves_the_picture():
    model = ScriptedProvider(["ok"])
    agent = Agent(model, input_guards=strip_pii())
    result = await agent.run(["I am ada@example.org.", IMAGE])
    assert sent(model) == [text("I am [EMAIL]."), IMAGE]
    assert "ada@example.org" not in json.dumps(result.to_dict())


async def test_nothing_of_a_blocked_message_is_kept():
    agent = Agent(ScriptedProvider([]), input_guards=block_keywords(["dot"]))
    with pytest.raises(GuardrailBlockedError) as caught:
        await agent.run(["Is it a dot?", IMAGE])
    assert "image" not in json.dumps(caught.value.result.to_dict())
    assert agent.memory.all_messages == []


async def test_what_is_passed_may_be_changed_afterwards():
    model = ScriptedProvider([call("f"), "ok"])
    parts = ["Look:", {"type": "image_url", "image_url": {"url": URL}}]

    def f() -> str:
        parts[1]["image_url"]["url"] = "changed"
        return "f"

    await Agent(model, [f]).run(parts)
    assert model.requests[1].messages[0].content[1] == IMAGE


async def test_the_wire_carries_the_picture():
    with wire_server() as server:
        server.say(answer("a dot"))
        provider = OpenAICompatibleProvider(server.url, "m")
        assert str(await Agent(provider).run(["What is it?", IMAGE])) == "a dot"
        [message] = server.requests[0].body["messages"]
    assert message["content"] == [text("What is it?"), IMAGE]


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ([], "empty"),
        ([" "], "empty"),
        ([text("")], "empty"),
        ([3], "type 'int'"),
        ([{"type": "video"}], "type 'video'"),
        ({"type": "text", "text": "x"}, "not dict. Earlier messages go into prior"),
        (
            [{"role": "user", "content": "x"}],
            "Earlier messages go into prior_messages=",
        ),
        (Path("a.png"), "or pass it in a list"),
        ([Path("missing.png")], "'missing.png' cannot be read: No such file"),
        ([Path()], "cannot be read"),
    ],
)
async def test_what_is_no_message_is_refused_before_anything_is_sent(message, says):
    with pytest.raises(AgentConfigurationError) as caught:
        await Agent(ScriptedProvider([])).run(message)
    assert says in str(caught.value)


# ------------------------------------------------------- paths that are no files


def pipe(folder):
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def sparse(folder):
    with (folder / "sparse").open("wb") as file:
        file.truncate(50_000_001)
    return folder / "sparse"


ASKED = {
    "run": lambda agent, said: agent.run(said),
    "chat": lambda agent, said: agent.chat("ada", "one", said),
    "start": lambda agent, said: agent.start(said).result(),
    "stream": lambda agent, said: agent.stream(said).result(),
}


@pytest.mark.parametrize("way", ASKED)
@pytest.mark.parametrize(
    ("path", "why"),
    [
        pytest.param(
            pipe,
            "it is no regular file.",
            marks=pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes"),
        ),
        (lambda _: Path(os.devnull), "it is no regular file."),
        (lambda folder: folder, "it is no regular file."),
        (sparse, "a file of a message may have up to 50 MB."),
        (lambda _: Path("a\0b"), "embedded null"),
        (lambda _: Path("~nobody_of_that_name/x"), "Could not determine home"),
    ],
    ids=["pipe", "device", "folder", "too large", "no path", "no home"],
)
async def test_what_is_no_file_of_a_fair_size_is_refused(tmp_path, path, why, way):
    agent = Agent(ScriptedProvider(["ok"]), memory=InMemoryStore().session())
    said = ["Look:", path(tmp_path)]
    with pytest.raises(
        AgentConfigurationError, match=r"cannot be read: .*\.$"
    ) as caught:
        await ASKED[way](agent, said)
    assert why in str(caught.value)


async def test_a_file_whose_name_is_no_text_is_sent(tmp_path):
    path = tmp_path / os.fsdecode(b"\xff.csv")
    try:
        path.write_text("a,b\n")
    except OSError:
        pytest.skip("this file system takes only text")
    model = ScriptedProvider(["seen"])
    result = await Agent(model).run(["Look:", path])
    assert sent(model)[1]["file"]["filename"] == "?.csv"
    json.dumps(result.to_dict(), ensure_ascii=False).encode()
