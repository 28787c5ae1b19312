"""Several processes share one file, and any of them may be killed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap

import pytest

from notebook_agents import MemoryScope, database
from notebook_agents.memory import SQLiteStore

SCOPE = MemoryScope(conversation_id=f"{1:032x}")
OLD = [f"old {number}" for number in range(3)]
NEW = [f"new {number}" for number in range(5)]
TURN = 5  # messages

PREFACE = """
    import asyncio, os, signal, sys
    from notebook_agents.memory import MemoryScope, SQLiteStore
    from notebook_agents.messages import Message

    scope = MemoryScope(conversation_id=f"{1:032x}")

    def said(*texts):
        return [{"role": "user", "content": text} for text in texts]
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "conversations.sqlite"


@pytest.fixture
def start():
    """Start Python code in a process of its own, which the test will not outlive."""
    started = []

    def begin(code, *arguments):
        text = textwrap.dedent(PREFACE) + textwrap.dedent(code)
        process = subprocess.Popen(
            [sys.executable, "-c", text, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate(timeout=20)


def finish(process):
    """Wait for the end of a process, and give what it printed."""
    output, _ = process.communicate(timeout=30)
    return output


def texts(path):
    with SQLiteStore(path) as store:
        return [record["content"] for record in store.read(SCOPE)]


def is_sound(path):
    with sqlite3.connect(path) as connection:
        (answer,) = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()
    return answer == "ok"


# Killed in the middle of a turn.

WRITE_AND_DIE = """
    store = SQLiteStore(sys.argv[1])
    how, deadline, new = sys.argv[2], int(sys.argv[3]), said(*sys.argv[4:])
    count = 0

    def trace(statement):
        global count
        count += 1
        if count == deadline:
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))

    store._database._open[0].set_trace_callback(trace)
    if how == "append_many":
        store.append_many(scope, new)
    else:
        store.replace_turn(scope, "cell", new)
    print(count)
"""


@pytest.mark.parametrize("how", ["append_many", "replace_turn"])
def test_a_process_killed_at_any_statement_leaves_no_half_turn(how, path, start):
    with SQLiteStore(path) as store:
        old = [{"role": "user", "content": text} for text in OLD]
        store.replace_turn(SCOPE, "cell", old)
    after = [*OLD, *NEW] if how == "append_many" else NEW
    scratch = path.with_name("scratch.sqlite")
    scratch.write_bytes(path.read_bytes())
    statements = int(finish(start(WRITE_AND_DIE, scratch, how, 0, *NEW)))
    assert statements > len(NEW)
    assert texts(scratch) == after
    # Starting a process takes longer than all else; so they start at once.
    copies = [path.with_name(f"{number}.sqlite") for number in range(1, statements + 1)]
    victims = []
    for deadline, copy in enumerate(copies, start=1):
        copy.write_bytes(path.read_bytes())
        victims.append(start(WRITE_AND_DIE, copy, how, deadline, *NEW))
    for copy, victim in zip(copies, victims, strict=True):
        assert finish(victim) == ""
        assert victim.returncode != 0
        assert texts(copy) == OLD
        assert is_sound(copy)
        with SQLiteStore(copy) as store:
            store.append(SCOPE, {"role": "user", "content": "and on"})
        assert texts(copy) == [*OLD, "and on"]


WRITE_FOR_EVER = """
    store = SQLiteStore(sys.argv[1])
    turn = int(sys.argv[2])
    while True:
        store.append_many(scope, said(*(f"{turn} {part} " + "x" * 500
                                        for part in range(5))))
        print(turn, flush=True)
        turn += 1
"""


def test_what_was_acknowledged_survives_a_kill_at_any_moment(path, start):
    first = 0
    for lines in (1, 7, 40):
        writer = start(WRITE_FOR_EVER, path, first)
        told = [int(writer.stdout.readline()) for _ in range(lines)]
        writer.kill()
        told += map(int, writer.stdout.read().split())
        stored = [tuple(map(int, text.split()[:2])) for text in texts(path)]
        turns = len(stored) // TURN
        assert stored == [(turn, part) for turn in range(turns) for part in range(TURN)]
        assert told[-1] < turns <= told[-1] + 2
        assert is_sound(path)
        first = turns


# Several at once.

WRITE_TOGETHER = """
    name = sys.argv[2]
    print("ready", flush=True)
    sys.stdin.readline()
    store = SQLiteStore(sys.argv[1])

    async def converse():
        for turn in range(20):
            texts = [f"{name} {turn}?", f"{name} {turn}"]
            await store.save(scope, [Message("user", text) for text in texts])
            store.replace_turn(scope, "shared", said(name, name))
            assert len(await store.load(scope)) >= 2 * turn

    asyncio.run(converse())
"""


def test_processes_that_begin_a_file_together_lose_nothing(path, start):
    names = "abcd"
    writers = [start(WRITE_TOGETHER, path, name) for name in names]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        finish(writer)
        assert writer.returncode == 0
    stored = texts(path)
    shared = [text for text in stored if text in names]
    assert len(shared) == 2
    assert shared[0] == shared[1]
    rest = [text for text in stored if text not in names]
    assert rest[::2] == [f"{text}?" for text in rest[1::2]]
    for name in names:
        own = [text for text in rest[1::2] if text.startswith(name)]
        assert own == [f"{name} {turn}" for turn in range(20)]
    assert is_sound(path)


def test_two_kernels_see_each_other_at_once(path, start):
    other = start(
        """
        store = SQLiteStore(sys.argv[1])
        for line in sys.stdin:
            store.append_many(scope, said(line.strip()))
            print(len(store.read(scope)), flush=True)
        """,
        path,
    )
    with SQLiteStore(path) as store:
        for count in (1, 3, 5):
            other.stdin.write(f"{count}\n")
            other.stdin.flush()
            assert other.stdout.readline() == f"{count}\n"
            assert len(store.read(SCOPE)) == count
            store.append(SCOPE, {"role": "user", "content": "here"})


def test_after_a_fork_a_store_opens_its_file_again_and_closes_nothing(path):
    with SQLiteStore(path) as store:
        connection = store._database._open[0]
        database._start_anew_after_fork()
        store.append(SCOPE, {"role": "user", "content": "hi"})
        assert store._database._open[0] is not connection
        connection.execute("SELECT 1")
        connection.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_a_connection_of_its_own(path, start):
    process = start(
        """
        store = SQLiteStore(sys.argv[1])
        store.append(scope, said("before")[0])
        connection = store._database._open[0]
        child = os.fork()
        if not child:
            store.append(scope, said("child")[0])
            assert store._database._open[0] is not connection
            sys.exit(0)
        _, status = os.waitpid(child, 0)
        assert status == 0
        store.append(scope, said("parent")[0])
        """,
        path,
    )
    finish(process)
    assert process.returncode == 0
    assert texts(path) == ["before", "child", "parent"]
    assert is_sound(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_forked_in_the_middle_of_a_turn_does_not_wait_for_it(path, start):
    process = start(
        """
        store = SQLiteStore(sys.argv[1])
        child = None
        with store._database.writing() as connection:
            child = os.fork()
            if not child:
                assert store.read(scope) == []
                os._exit(0)
            _, status = os.waitpid(child, 0)
        assert status == 0
        store.append(scope, said("parent")[0])
        """,
        path,
    )
    finish(process)
    assert process.returncode == 0
    assert texts(path) == ["parent"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
def test_a_killed_writer_does_not_lock_the_file(path, start):
    writer = start(
        """
        store = SQLiteStore(sys.argv[1])
        with store._database.writing() as connection:
            connection.execute("DELETE FROM conversations")
            print("writing", flush=True)
            sys.stdin.readline()
        """,
        path,
    )
    assert writer.stdout.readline() == "writing\n"
    os.kill(writer.pid, signal.SIGKILL)
    with SQLiteStore(path) as store:
        store.append(SCOPE, {"role": "user", "content": "hi"})
    assert texts(path) == ["hi"]
