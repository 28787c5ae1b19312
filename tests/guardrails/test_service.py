"""`GuardrailService` writes guardrails down, for several processes at once."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading

import pytest

from notebook_agents import (
    Agent,
    AgentConfigurationError,
    GuardrailBlockedError,
    GuardrailService,
    ScriptedProvider,
    SQLiteStore,
)
from notebook_agents.errors import MemoryStoreError
from notebook_agents.home import home_folder

WORDS = {"words": ["bomb"]}
PII = {"patterns": ["email"]}
POLICY = {"policy": "Fruit only."}
BLOCK = '{"reason": "no fruit", "status": "BLOCK"}'


@pytest.fixture
def path(tmp_path):
    return tmp_path / "guardrails.sqlite"


@pytest.fixture
def service(path):
    with GuardrailService(path) as service:
        yield service


def keywords(service, name="words", **options):
    return service.create(name, kind="keywords", config=WORDS, **options)


def rows(path, query):
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


# ------------------------------------------------------------ the file


def test_the_table_is_as_it_was_agreed(service, path):
    """Requirements, L35."""
    columns = rows(
        path, "SELECT name, type, dflt_value, pk FROM pragma_table_info('guardrails')"
    )
    assert columns == [
        ("id", "TEXT", None, 1),
        ("name", "TEXT", None, 0),
        ("kind", "TEXT", None, 0),
        ("config", "JSON", None, 0),
        ("scope", "TEXT", None, 0),
        ("enabled", "INT", "1", 0),
        ("created_at", "INTEGER", None, 0),
    ]
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]
    made = keywords(service)
    assert rows(path, "SELECT id, config, enabled FROM guardrails") == [
        (made.id, '{"words": ["bomb"]}', 1)
    ]


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_the_file_is_its_owners_alone():
    with GuardrailService() as service:
        assert service.path == home_folder() / "guardrails.sqlite"
        assert stat.S_IMODE(service.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(service.path.parent.stat().st_mode) == 0o700


def test_with_a_store_the_file_is_beside_that_of_the_store(tmp_path):
    with SQLiteStore(tmp_path / "chats.sqlite") as store:
        service = GuardrailService(store)
        keywords(service)
        service.close()
        assert service.path == tmp_path / "chats.guardrails.sqlite"


@pytest.mark.parametrize("wrong", ["", ":memory:", "file:x"])
def test_no_file_is_refused(wrong):
    with pytest.raises(ValueError, match="GuardrailService needs the path of a file"):
        GuardrailService(wrong)


def test_a_file_of_conversations_is_left_alone(path):
    SQLiteStore(path).close()
    with pytest.raises(MemoryStoreError, match="SQLite file of another program"):
        GuardrailService(path)


def test_a_service_says_which_file_it_is(service, path):
    assert repr(service) == f"GuardrailService({str(path)!r})"


# ------------------------------------------------------------ guardrails


def test_a_guardrail_is_there_again_after_a_restart(path):
    with GuardrailService(path) as first:
        made = keywords(first, scope="input")
    with GuardrailService(path) as second:
        assert second.get(made.id) == made
    assert made.to_dict() == {
        "id": made.id,
        "name": "words",
        "kind": "keywords",
        "config": WORDS,
        "scope": "input",
        "enabled": True,
        "created_at": made.created_at,
    }


def test_guardrails_are_listed_in_the_order_in_which_they_were_made(service):
    names = [f"rule {number}" for number in range(5)]
    for name in names:
        keywords(service, name)
    assert [each.name for each in service.list()] == names


def test_a_guardrail_can_be_changed_in_part(service):
    made = keywords(service)
    service.update(made.id, name="new", scope="output")
    changed = service.update(made.id, kind="pii", config=PII)
    assert service.get(made.id) == changed
    assert (changed.name, changed.kind, changed.scope) == ("new", "pii", "output")
    assert changed.created_at == made.created_at


def test_a_guardrail_can_be_put_out_of_use_and_back(service):
    made = keywords(service)
    assert not service.enable(made.id, enabled=False).enabled
    assert service.instantiate_guards([made.id]) == []
    assert service.enable(made.id).enabled
    assert len(service.instantiate_guards([made.id])) == 1


def test_a_deleted_guardrail_is_gone(service):
    made, other = keywords(service), keywords(service)
    service.delete(made.id)
    assert [each.id for each in service.list()] == [other.id]


@pytest.mark.parametrize(
    "use",
    [
        lambda service: service.get("nobody"),
        lambda service: service.update("nobody", name="x"),
        lambda service: service.enable("nobody"),
        lambda service: service.delete("nobody"),
        lambda service: service.assign(["nobody"], agent_id="a"),
        lambda service: service.instantiate_guards(["nobody"]),
    ],
)
def test_a_guardrail_that_is_not_there_is_named(service, use):
    """Requirements, L35."""
    with pytest.raises(KeyError, match="There is no guardrail 'nobody'"):
        use(service)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": " "}, "needs a name"),
        ({"name": None}, "needs a name"),
        ({"kind": "regex"}, "one of keywords, pii, llm, not 'regex'"),
        ({"scope": "inwards"}, "input, output or both, not 'inwards'"),
        ({"config": {}}, "keywords guardrail has words; this one has nothing of it"),
        ({"config": {"word": "x"}}, "has words; this one has 'word'"),
        (
            {"config": {"words": "x", "more": 1}},
            "has words; this one has 'words', 'more'",
        ),
        ({"config": {"words": [1]}}, "words to block are text, not 1"),
        ({"config": {"words": [{1}]}}, "config of the guardrail '.*' cannot be used"),
        ({"config": {"words": 7}}, "words is 7; it must be a list"),
        ({"config": ["words"]}, "this one has nothing of it"),
        ({"config": 7}, "this one has nothing of it"),
        ({"kind": "pii", "config": {"extra": "abc"}}, "extra is 'abc'"),
        ({"kind": "pii", "config": {"patterns": 7}}, "patterns is 7"),
        ({"kind": "pii", "config": {"patterns": ["name"]}}, "no pattern 'name'"),
        ({"kind": "pii", "config": {"extra": {"X": "("}}}, "no regular expression"),
        ({"kind": "llm", "config": {"policy": ""}}, "needs a policy"),
        ({"kind": "llm", "config": {"policy": "x", "on_error": "x"}}, "not 'x'"),
    ],
)
def test_what_no_guard_can_be_made_of_is_not_written_down(service, changes, said):
    made = keywords(service)
    with pytest.raises(AgentConfigurationError, match=said):
        service.update(made.id, **changes)
    with pytest.raises(AgentConfigurationError, match=said):
        service.create(**{"name": "x", "kind": "keywords", "config": WORDS, **changes})
    assert service.list() == [made]


@pytest.mark.parametrize("name", ["id", "created_at", "colour"])
def test_not_everything_can_be_changed(service, name):
    made = keywords(service)
    with pytest.raises(AgentConfigurationError, match=f"'{name}' cannot be changed"):
        service.update(made.id, **{name: "x"})


def test_a_damaged_guardrail_is_told_and_can_be_deleted(service, path):
    made = keywords(service)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE guardrails SET config = '['")
    connection.close()
    with pytest.raises(MemoryStoreError, match="is damaged"):
        service.instantiate_guards([made.id])
    service.delete(made.id)
    assert service.list() == []


# ------------------------------------------------------------ guards


async def test_guards_for_both_sides_work_in_an_agent(service):
    """Acceptance check 38."""
    ids = [
        keywords(service, scope="input").id,
        service.create("mail", kind="pii", config=PII, scope="both").id,
        service.create("fruit", kind="llm", config=POLICY, scope="output").id,
    ]
    judge = ScriptedProvider(['{"reason": "", "status": "ALLOW"}', BLOCK])
    guards = service.instantiate_guards(ids, judge)
    assert [guard.scope for guard in guards] == ["input", "both", "output"]
    assert [guard.name for guard in guards] == ["words", "mail", "fruit"]
    before, after = service.split(guards)
    assert [guard.name for guard in before] == ["words", "mail"]
    assert [guard.name for guard in after] == ["mail", "fruit"]
    model = ScriptedProvider(["Ask c@d.de.", "Meat."])
    agent = Agent(model, input_guards=before, output_guards=after)
    assert (await agent.run("I am a@b.de")).answer == "Ask [EMAIL]."
    assert model.requests[0].messages[-1].content == "I am [EMAIL]"
    with pytest.raises(GuardrailBlockedError, match="'fruit' blocked the answer: no"):
        await agent.run("and?")
    with pytest.raises(GuardrailBlockedError, match="'words' blocked the message"):
        await agent.run("a bomb")
    assert len(model.requests) == 2


def test_a_bare_function_is_for_both_sides(service):
    before, after = service.split([str.upper])
    assert [guard("a") for guard in (*before, *after)] == ["A", "A"]


def test_a_guard_that_needs_a_model_says_so(service):
    made = service.create("fruit", kind="llm", config=POLICY)
    with pytest.raises(AgentConfigurationError, match="'fruit' needs a model"):
        service.instantiate_guards([made.id])


def test_guards_come_in_the_order_of_the_identifiers_and_once(service):
    a, b = keywords(service, "a"), keywords(service, "b")
    guards = service.instantiate_guards([b.id, a.id, b.id])
    assert [guard.name for guard in guards] == ["b", "a"]
    assert [guard.name for guard in service.instantiate_guards(a.id)] == ["a"]


def test_guards_stay_as_they_were_made(service):
    made = keywords(service)
    (guard,) = service.instantiate_guards([made.id])
    service.update(made.id, config={"words": ["apple"]})
    assert guard("apple") == "apple"


# ------------------------------------------------------------ who has them


def test_an_agent_and_a_session_have_guardrails_of_their_own(service):
    a, b, c = (keywords(service, name).id for name in "abc")
    service.assign([b, a], agent_id="desk")
    service.assign([c, a], session_id="desk")
    assert service.assigned(agent_id="desk") == [b, a]
    assert service.assigned(session_id="desk") == [c, a]
    assert service.assigned(agent_id="desk", session_id="desk") == [b, a, c]
    assert service.assigned(agent_id="other") == []
    assert service.assigned() == []


def test_an_assignment_takes_the_place_of_the_one_before(service):
    a, b = keywords(service).id, keywords(service).id
    service.assign([a, b], agent_id="desk")
    service.assign(b, agent_id="desk")
    assert service.assigned(agent_id="desk") == [b]
    service.assign([], agent_id="desk")
    assert service.assigned(agent_id="desk") == []


def test_an_assignment_with_a_guardrail_that_is_not_there_changes_nothing(service):
    a = keywords(service).id
    service.assign([a], agent_id="desk")
    with pytest.raises(KeyError):
        service.assign([a, "nobody"], agent_id="desk")
    assert service.assigned(agent_id="desk") == [a]


def test_a_deleted_guardrail_is_assigned_to_nobody(service):
    a, b = keywords(service).id, keywords(service).id
    service.assign([a, b], session_id="s")
    service.update(a, name="still there")
    assert service.assigned(session_id="s") == [a, b]
    service.delete(a)
    assert service.assigned(session_id="s") == [b]


@pytest.mark.parametrize("target", [{}, {"agent_id": "a", "session_id": "s"}])
def test_guardrails_are_assigned_to_one(service, target):
    with pytest.raises(AgentConfigurationError, match="one agent_id= or to one"):
        service.assign([], **target)


# ------------------------------------------------------------ several at once


def test_threads_share_a_service(service):
    def work(number):
        for _ in range(20):
            made = keywords(service, f"thread {number}")
            service.assign([made.id], agent_id=f"agent {number}")
            service.enable(made.id, enabled=False)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    found = service.list()
    assert len(found) == 160
    assert not any(each.enabled for each in found)


def test_processes_share_a_file(path):
    code = textwrap.dedent("""
        import sys
        from notebook_agents import GuardrailService

        path, name, shared = sys.argv[1:]
        with GuardrailService(path) as service:
            for number in range(25):
                made = service.create(name, kind="pii", config={})
                service.assign([made.id], agent_id=name)
                old = service.get(shared)
                service.update(shared, name=name)
    """)
    with GuardrailService(path) as service:
        shared = keywords(service, "shared")
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(path), name, shared.id],
                stderr=subprocess.PIPE,
                text=True,
            )
            for name in ("a", "b", "c")
        ]
        errors = [process.communicate(timeout=50)[1] for process in processes]
        assert errors == ["", "", ""]
        names = sorted(each.name for each in service.list() if each.id != shared.id)
        assert names == ["a"] * 25 + ["b"] * 25 + ["c"] * 25
        assert service.get(shared.id).name in {"a", "b", "c"}
        assert [len(service.assigned(agent_id=name)) for name in "abc"] == [1, 1, 1]


def test_a_closed_service_says_so(path):
    service = GuardrailService(path)
    service.close()
    service.close()
    with pytest.raises(MemoryStoreError, match="has been closed"):
        service.list()
