"""A thread is used again, has the name of its work, and ends when there is none."""

from __future__ import annotations

import gc
import multiprocessing
import os
import weakref
from threading import Event, Thread, current_thread

import pytest

from notebook_agents.threads import Threads


@pytest.fixture
def threads():
    return Threads(idle_seconds=0.2)


def where(threads: Threads, name: str = "a tool") -> tuple[Thread, str, bool]:
    """Run something and tell in which thread it was."""
    seen, done = [], Event()

    def work():
        thread = current_thread()
        seen.append((thread, thread.name, thread.daemon))
        done.set()

    threads.start(work, name=name)
    assert done.wait(5)
    return seen[0]


def test_a_thread_is_used_again(threads, wait_until):
    first, *_ = where(threads)
    wait_until(lambda: threads.idle)
    assert where(threads)[0] is first


def test_a_thread_is_named_by_what_it_does(threads, wait_until):
    assert where(threads, "tool add")[1:] == ("tool add", True)
    wait_until(lambda: threads.idle)
    assert where(threads, "tool search")[1:] == ("tool search", True)


def test_work_that_never_ends_holds_up_no_other(threads):
    end = Event()
    for _ in range(3):
        threads.start(end.wait, name="stuck")
    assert where(threads)[1] == "a tool"
    end.set()


def test_a_thread_without_work_ends(threads, wait_until):
    thread, *_ = where(threads)
    wait_until(lambda: not thread.is_alive())
    assert threads.idle == 0


def test_work_that_comes_while_a_thread_gives_up_is_done():
    threads = Threads(idle_seconds=0.0005)
    done = []
    enough = Event()

    def work():
        done.append(1)
        if len(done) == 300:
            enough.set()

    for _ in range(300):
        threads.start(work, name="quick")
    assert enough.wait(20)


def test_what_has_been_done_is_let_go(threads, wait_until):
    class Work:
        def __call__(self):
            pass

    work = Work()
    gone = weakref.ref(work)
    threads.start(work, name="work")
    del work
    wait_until(lambda: threads.idle)
    gc.collect()
    assert gone() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings(
    # the point of this test
    "ignore:.*use of fork.* may lead to deadlocks:DeprecationWarning"
)
def test_a_forked_child_starts_threads_of_its_own(wait_until):
    threads = Threads()
    where(threads)
    wait_until(lambda: threads.idle)
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=lambda: where(threads))
    child.start()
    child.join(20)
    assert child.exitcode == 0
