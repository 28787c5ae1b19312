"""A file of conversations: private, fast, and clear about what is wrong."""

from __future__ import annotations

import asyncio
import os
import pickle
import sqlite3
import stat
import subprocess
import sys
import time

import pytest

from notebook_agents import Agent, MemoryScope, Message, ScriptedProvider, database
from notebook_agents.errors import MemoryStoreError
from notebook_agents.home import home_folder
from notebook_agents.memory import SQLiteStore
from notebook_agents.memory.sqlite_rows import APPLICATION_ID, STEPS

SCOPE = MemoryScope(user_id="ada")
HI = {"role": "user", "content": "hi"}
POSIX = pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "conversations.sqlite"


@pytest.fixture
def store(path):
    with SQLiteStore(path) as store:
        yield store


def texts(store, scope=SCOPE):
    return [record["content"] for record in store.read(scope)]


def connection_of(store):
    return store._database._open[0]


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# Where it is.


def test_what_is_kept_is_there_for_the_next_store(path):
    with SQLiteStore(path) as store:
        store.append(SCOPE, HI)
    with SQLiteStore(str(path)) as store:
        assert store.read(SCOPE) == [HI]


@POSIX
def test_the_default_file_is_for_its_owner_alone():
    before = os.umask(0)
    try:
        with SQLiteStore() as store:
            store.append(SCOPE, HI)
            assert store.path == home_folder() / "conversations.sqlite"
            files = sorted(store.path.parent.iterdir())
            assert [file.name.partition("sqlite")[2] for file in files] == [
                "",
                "-shm",
                "-wal",
            ]
            assert {mode(file) for file in files} == {0o600}
            assert mode(store.path.parent) == 0o700
    finally:
        os.umask(before)


@pytest.mark.parametrize("path", ["", ":memory:", "file:x?mode=memory"])
def test_what_is_no_file_is_refused(path):
    with pytest.raises(ValueError, match="InMemoryStore"):
        SQLiteStore(path)


def test_another_current_directory_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SQLiteStore("c.sqlite") as store:
        (tmp_path / "other").mkdir()
        monkeypatch.chdir("other")
        store.append(SCOPE, HI)
        assert pickle.loads(pickle.dumps(store)).read(SCOPE) == [HI]  # noqa: S301 - own


def test_the_memory_package_loads_no_database_before_one_is_asked_for():
    code = (
        "import sys, notebook_agents.memory as m; assert 'sqlite3' not in sys.modules;"
        "m.SQLiteStore; assert 'sqlite3' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)


def test_there_is_nothing_else_in_the_memory_package():
    from notebook_agents import memory

    with pytest.raises(AttributeError, match="no_such_name"):
        memory.no_such_name  # noqa: B018 - the access is the test


def test_a_store_says_which_file_it_is(store, path):
    assert repr(store) == f"SQLiteStore({str(path)!r})"


# What is in it.


def test_rows_are_canonical_json(store):
    store.append(SCOPE, {"content": "é", "role": "user", "name": "left out"})
    (row,) = connection_of(store).execute("SELECT record FROM messages")
    assert row == ('{"content":"é","role":"user"}',)


def test_half_of_a_surrogate_pair_is_kept(store):
    store.append(SCOPE, {"role": "user", "content": "\ud83d é"})
    assert texts(store) == ["\ud83d é"]


def test_what_was_cleared_or_purged_is_in_no_file(store, path):
    secret = "correct horse battery staple"
    for forget in (lambda: store.clear(SCOPE), lambda: store.purge(all=True)):
        store.append(SCOPE, {"role": "user", "content": secret * 40})
        store.set_title(SCOPE, secret)
        forget()
        store.append(SCOPE, HI)
        for file in path.parent.iterdir():
            assert secret.encode() not in file.read_bytes()


def test_a_replaced_turn_is_in_no_file_once_the_store_is_closed(path):
    secret = "correct horse battery staple"
    with SQLiteStore(path) as store:
        store.replace_turn(SCOPE, "k", [{"role": "user", "content": secret}])
        store.replace_turn(SCOPE, "k", [HI])
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert secret.encode() not in path.read_bytes()


def test_a_turn_of_an_agent_is_one_transaction(store):
    statements = []
    agent = Agent(ScriptedProvider(["Hello!"]), memory=store.session(SCOPE))
    connection_of(store).set_trace_callback(statements.append)
    agent.run_sync("hi")
    assert [statement for statement in statements if "BEGIN" in statement] == [
        "BEGIN IMMEDIATE"
    ]
    assert texts(store) == ["hi", "Hello!"]


async def test_a_thousand_messages_cost_a_few_milliseconds(store):
    """Measured: 3 ms to load, 0.2 ms to append; the bounds allow for a busy machine."""
    turn = [Message("user", "q" * 200), Message("assistant", "a" * 200)]
    for _ in range(500):
        await store.save(SCOPE, turn)
    costs = {"load": [], "save": []}
    for _ in range(10):
        began = time.perf_counter()
        assert len(await store.load(SCOPE)) >= 1000
        loaded = time.perf_counter()
        await store.save(SCOPE, turn)
        costs["load"].append(loaded - began)
        costs["save"].append(time.perf_counter() - loaded)
    assert min(costs["load"]) < 0.03
    assert min(costs["save"]) < 0.01


# Others at the same file.


async def test_waiting_for_another_writer_does_not_block_the_loop(store, path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    saving = asyncio.create_task(store.save(SCOPE, [Message("user", "hi")]))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not saving.done()
    other.execute("ROLLBACK")
    other.close()
    await asyncio.wait_for(saving, 5)
    assert texts(store) == ["hi"]


def test_readers_do_not_wait_for_a_writer(store, path):
    store.append(SCOPE, HI)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM messages")
    assert texts(store) == ["hi"]
    other.execute("ROLLBACK")
    other.close()


def test_a_file_that_stays_locked_is_an_error(path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    with SQLiteStore(path) as store:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(MemoryStoreError, match="another program has kept it"):
            store.append(SCOPE, HI)
        other.execute("ROLLBACK")
        other.close()
        store.append(SCOPE, HI)


def test_a_new_file_that_stays_locked_is_an_error(path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(MemoryStoreError, match="another program has kept it"):
        SQLiteStore(path)
    other.close()


def test_switching_on_the_log_waits_for_a_writer(path, monkeypatch):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(time, "sleep", lambda _seconds: other.execute("ROLLBACK"))
    with SQLiteStore(path) as store:
        mode = connection_of(store).execute("PRAGMA journal_mode").fetchone()
    other.close()
    assert mode == ("wal",)


def test_a_writer_that_never_ends_is_an_error(path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(MemoryStoreError, match="another program has kept it"):
        SQLiteStore(path)
    other.close()


@POSIX
def test_a_file_that_was_put_away_is_begun_anew(store, path):
    store.append(SCOPE, HI)
    path.rename(path.with_name("old"))
    assert store.read(SCOPE) == []
    store.append(SCOPE, {"role": "user", "content": "new"})
    with SQLiteStore(path) as other:
        assert texts(other) == ["new"]


def test_an_interrupt_leaves_no_half_turn(store, monkeypatch):
    def interrupt(*_arguments, **_options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("notebook_agents.memory.sqlite_rows.touch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.append_many(SCOPE, [HI, HI])
    assert texts(store) == []
    store.append(SCOPE, HI)
    assert texts(store) == ["hi"]


# What is wrong.


def test_a_full_disk_is_an_error_and_loses_nothing(store):
    store.append(SCOPE, HI)
    (pages,) = connection_of(store).execute("PRAGMA page_count").fetchone()
    connection_of(store).execute(f"PRAGMA max_page_count = {pages}")
    long = {"role": "user", "content": "x" * 100_000}
    with pytest.raises(MemoryStoreError, match="the disk is full"):
        store.append_many(SCOPE, [HI, long])
    assert texts(store) == ["hi"]
    connection_of(store).execute(f"PRAGMA max_page_count = {pages + 1000}")
    store.append(SCOPE, long)
    assert len(texts(store)) == 2


def test_a_file_that_may_only_be_read_can_be_read(store):
    store.append(SCOPE, HI)
    connection_of(store).execute("PRAGMA query_only = ON")
    with pytest.raises(MemoryStoreError, match="it may only be read"):
        store.append(SCOPE, HI)
    assert texts(store) == ["hi"]


def test_a_turn_that_could_not_be_stored_is_told_in_the_result(store):
    agent = Agent(ScriptedProvider(["Hello!"]), memory=store.session(SCOPE))
    connection_of(store).execute("PRAGMA query_only = ON")
    result = agent.run_sync("hi")
    assert result.answer == "Hello!"
    assert "may only be read" in result.errors[-1]


def test_a_file_that_is_no_database_is_an_error(path):
    path.write_text("all work and no play " * 1000)
    with pytest.raises(MemoryStoreError, match="no SQLite file at all"):
        SQLiteStore(path)
    assert path.read_text().startswith("all work")


def test_a_damaged_file_is_an_error(path):
    with SQLiteStore(path) as store:
        store.append(SCOPE, {"role": "user", "content": "x" * 10_000})
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with pytest.raises(MemoryStoreError, match="it is damaged"), SQLiteStore(path) as s:
        s.read(SCOPE)


async def test_a_damaged_message_is_an_error(store):
    store.append(SCOPE, HI)
    connection_of(store).execute("UPDATE messages SET record = '{'")
    with pytest.raises(MemoryStoreError, match="a message is damaged"):
        await store.load(SCOPE)


def test_a_file_of_a_newer_version_is_an_error(path):
    SQLiteStore(path).close()
    newer = sqlite3.connect(path)
    newer.execute(f"PRAGMA user_version = {len(STEPS) + 1}")
    newer.close()
    with pytest.raises(MemoryStoreError, match=r"newer notebook-agents .* upgrade"):
        SQLiteStore(path)


def test_a_file_of_an_older_version_is_brought_up_to_date(path, monkeypatch):
    with SQLiteStore(path) as store:
        store.append(SCOPE, HI)
    step = ("ALTER TABLE conversations ADD COLUMN mood TEXT",)
    monkeypatch.setattr("notebook_agents.memory.sqlite_rows.STEPS", (*STEPS, step))
    for _ in range(2):
        with SQLiteStore(path) as store:
            connection_of(store).execute("SELECT mood FROM conversations")
            assert texts(store) == ["hi"]


def test_a_database_of_another_program_is_left_alone(path):
    foreign = sqlite3.connect(path)
    foreign.execute("CREATE TABLE diary (day TEXT)")
    foreign.close()
    before = path.read_bytes()
    with pytest.raises(MemoryStoreError, match="of another program"):
        SQLiteStore(path)
    assert path.read_bytes() == before


def test_a_file_of_ours_says_so(store):
    (number,) = connection_of(store).execute("PRAGMA application_id").fetchone()
    assert number == APPLICATION_ID == int.from_bytes(b"nbag")


def test_a_folder_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(MemoryStoreError, match=r"folder .* does not exist"):
        SQLiteStore(tmp_path / "missing" / "c.sqlite")


def test_a_folder_in_place_of_the_file_is_an_error(tmp_path):
    with pytest.raises(MemoryStoreError, match="it is a folder"):
        SQLiteStore(tmp_path)


def test_a_home_that_cannot_be_made_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NOTEBOOK_AGENTS_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(MemoryStoreError, match="NOTEBOOK_AGENTS_HOME can name"):
        SQLiteStore()


def test_a_closed_store_says_so(store):
    store.close()
    store.close()
    with pytest.raises(MemoryStoreError, match="has been closed"):
        store.read(SCOPE)
