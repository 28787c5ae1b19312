"""What every memory store promises, as numbered checks that anybody can run.

Not promised, and not checked: what happens when the power goes; the order of
turns that are written at the same time; keys of a message other than those of
the chat shape and the two tags of a record; text that is not valid Unicode; how
long anything takes; clocks of two machines that differ.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from notebook_agents.memory.listing import now_ms
from notebook_agents.memory.scope import MemoryScope
from notebook_agents.memory.store import MemoryStore
from notebook_agents.messages import Message, ToolCall
from notebook_agents.testing._checks import (
    CONVERSATION,
    THREADS,
    Record,
    check_equal,
    expecting,
    in_threads,
    make_turn,
    run,
    said,
)
from notebook_agents.testing.promises import Promise, check_promises

__all__ = ["MEMORY_STORE_PROMISES", "check_memory_store"]

MakeStore: TypeAlias = Callable[[], MemoryStore]
StorePromise: TypeAlias = Promise[MemoryStore]

TURNS = 12
"""Turns that each thread writes."""


def check_memory_store(
    make_store: MakeStore, *, promises: Sequence[int] | None = None
) -> list[StorePromise]:
    """Check that a memory store keeps its promises.

    Needs no test framework; run it in a test of yours.

    Parameters
    ----------
    make_store : callable
        Gives an empty store each time it is called. The check closes it.
    promises : sequence of int, optional
        Numbers of the promises to check; all when left out.

    Returns
    -------
    list of Promise
        What could not be checked, because the store says with a
        NotImplementedError that it does not offer it. That is allowed for what
        is about many conversations at once, and for nothing else.

    Raises
    ------
    AssertionError
        At the first broken promise; the message begins with its number.

    Examples
    --------
    >>> from notebook_agents import InMemoryStore
    >>> check_memory_store(InMemoryStore)
    []
    """
    return check_promises(
        lambda: contextlib.closing(make_store()),
        MEMORY_STORE_PROMISES,
        optional=OPTIONAL,
        numbers=promises,
    )


def _promise(
    number: int, text: str
) -> Callable[[Callable[[MemoryStore], None]], StorePromise]:
    return lambda check: Promise(number, text, check)


# The promises, in the order of their numbers.


@_promise(1, "An unknown conversation is empty, and clearing it does nothing.")
def _an_unknown_conversation_is_empty(store: MemoryStore) -> None:
    scope = MemoryScope()
    check_equal(store.read(scope), [])
    check_equal(run(store.load(scope)), [])
    store.clear(scope)
    check_equal(store.read(scope), [])


@_promise(2, "Messages come back oldest first, with all parts and tags.")
def _messages_come_back_as_they_were(store: MemoryStore) -> None:
    scope = MemoryScope(user_id="ada")
    for record in CONVERSATION:
        store.append(scope, dict(record))
    check_equal(store.read(scope), CONVERSATION)
    loaded = run(store.load(scope))
    check_equal(
        [message.intermediate for message in loaded], [False, True, True, False]
    )
    check_equal(loaded[1].tool_calls, (ToolCall("call_1", "add", '{"a": 1}'),))


@_promise(3, "Changing what was handed in or out changes nothing that is kept.")
def _nothing_is_shared(store: MemoryStore) -> None:
    scope, given = MemoryScope(), said("user", "hi")
    store.append(scope, given)
    given["content"] = "changed"
    store.read(scope)[0]["content"] = "changed"
    store.read(scope).clear()
    check_equal(store.read(scope), [said("user", "hi")])


@_promise(4, "Conversations whose scopes differ in any part never meet.")
def _conversations_are_apart(store: MemoryStore) -> None:
    parts = {"user_id": "u", "tenant_id": "t", "agent_id": "a", "source_id": "s"}
    first = MemoryScope(**parts)
    one = first.conversation_id
    others = [MemoryScope(conversation_id=one), MemoryScope(**parts)]
    others += [
        MemoryScope(conversation_id=one, **{**parts, part: "x"}) for part in parts
    ]
    for index, scope in enumerate([first, *others]):
        store.append(scope, said("user", str(index)))
    store.clear(first)
    check_equal(store.read(first), [])
    for index, scope in enumerate(others, start=1):
        check_equal(store.read(scope), [said("user", str(index))])


@_promise(5, "Threads that write at once lose nothing, and keep turns whole.")
def _turns_are_whole(store: MemoryStore) -> None:
    scope = MemoryScope()

    def write(thread: int) -> None:
        for turn in range(TURNS):
            store.append_many(scope, make_turn(f"{thread} {turn}"))

    in_threads(write)
    texts = _texts(store, scope)
    check_equal(texts[::2], [text.removesuffix("?") + "?" for text in texts[1::2]])
    check_equal(sorted(texts), sorted(_texts_of_the_threads()))


@_promise(6, "A turn that cannot be kept leaves nothing behind.")
def _a_turn_that_fails_leaves_nothing(store: MemoryStore) -> None:
    scope = MemoryScope()
    broken: Record = {"content": "from nobody"}
    # A store need not look at what it is given, but then it has all of it.
    expected = 0
    with contextlib.suppress(Exception):
        store.append_many(scope, [said("user", "hi"), broken])
        expected = 2
    check_equal(len(store.read(scope)), expected)


@_promise(7, "Event loops that use the store at once lose nothing.")
def _several_loops_work_at_once(store: MemoryStore) -> None:
    scope = MemoryScope()

    async def write(thread: int) -> None:
        for turn in range(TURNS):
            text = f"{thread} {turn}"
            question, answer = Message("user", f"{text}?"), Message("assistant", text)
            await store.save(scope, [question, answer])
            await store.load(scope)

    in_threads(lambda thread: run(write(thread)))
    texts = [message.content for message in run(store.load(scope))]
    check_equal(texts[::2], [f"{text}?" for text in texts[1::2]])
    check_equal(sorted(texts), sorted(_texts_of_the_threads()))


@_promise(8, "A turn of the same key takes the place of the earlier one.")
def _a_turn_is_replaced_in_its_place(store: MemoryStore) -> None:
    scope = MemoryScope()
    store.append(scope, said("user", "before"))
    for key in ("a", "b", "c"):
        store.replace_turn(scope, key, make_turn(key))
    store.append(scope, said("user", "after"))
    for text in ("longer", "b again"):
        store.replace_turn(scope, "b", [said("system", "x"), *make_turn(text)])
    texts = _texts(store, scope)
    new = ["x", "b again?", "b again"]
    check_equal(texts, ["before", "a?", "a", *new, "c?", "c", "after"])
    store.replace_turn(scope, "b", [])
    texts = _texts(store, scope)
    check_equal(texts, ["before", "a?", "a", "c?", "c", "after"])


@_promise(9, "Every saved turn has a key, by which it can be replaced.")
def _a_saved_turn_has_a_key(store: MemoryStore) -> None:
    scope = MemoryScope()

    async def converse() -> None:
        key = await store.save(scope, [Message("user", "old")])
        await store.save(scope, [Message("user", "later")])
        given = await store.save(scope, [Message("user", "new")], turn=key)
        check_equal(given, key)

    run(converse())
    check_equal(_texts(store, scope), ["new", "later"])


@_promise(10, "Before a turn comes what stands before it, else everything.")
def _a_turn_sees_what_came_before(store: MemoryStore) -> None:
    scope = MemoryScope()

    async def seen_by(key: str) -> list[str]:
        return [message.content for message in await store.load(scope, before=key)]

    async def converse() -> None:
        for key in ("a", "b", "c"):
            await store.save(scope, [Message("user", key)], turn=key)
        check_equal(await seen_by("a"), [])
        check_equal(await seen_by("c"), ["a", "b"])
        check_equal(await seen_by("new"), ["a", "b", "c"])
        await store.save(scope, [Message("user", "a2")], turn="a")
        check_equal(await seen_by("b"), ["a2"])

    run(converse())


@_promise(11, "Clearing forgets every message and the place of every turn.")
def _clearing_forgets_everything(store: MemoryStore) -> None:
    scope = MemoryScope(user_id="ada")
    for key in ("a", "b"):
        store.replace_turn(scope, key, make_turn(key))
    run(store.aclear(scope))
    check_equal(store.read(scope), [])
    for key in ("b", "a"):
        store.replace_turn(scope, key, [said("user", key)])
    check_equal(_texts(store, scope), ["b", "a"])


@_promise(12, "A conversation is described as long as it is kept (optional).")
def _a_conversation_is_described(store: MemoryStore) -> None:
    scope = MemoryScope(user_id="ada", agent_id="bot")
    check_equal(store.describe(scope), None)
    began = now_ms()
    store.append_many(scope, CONVERSATION)
    store.replace_turn(scope, "a", make_turn("a"))
    store.replace_turn(scope, "a", [said("user", "a")])
    info = store.describe(scope)
    if info is None:
        message = "a conversation that was written is not described"
        raise AssertionError(message)
    check_equal({name: info.get(name) for name in scope.metadata}, scope.metadata)
    check_equal((info["title"], info["message_count"]), (None, 3))
    times = [began, info["created_at"], info["updated_at"], now_ms()]
    check_equal(times, sorted(times))
    store.clear(scope)
    check_equal(store.describe(scope), None)


@_promise(13, "A title stays until the conversation is cleared (optional).")
def _a_conversation_has_a_title(store: MemoryStore) -> None:
    scope = MemoryScope()
    store.set_title(scope, "Früher")
    check_equal(_titles(store), ["Früher"])
    store.append_many(scope, make_turn("a"))
    check_equal(_titles(store), ["Früher"])
    run(store.aset_title(scope, "Später"))
    check_equal(_titles(store), ["Später"])
    check_equal(len(store.read(scope)), 2)
    store.set_title(scope, None)
    check_equal(_titles(store), [None])
    store.set_title(scope, "again")
    store.clear(scope)
    store.append(scope, said("user", "hi"))
    check_equal(_titles(store), [None])


@_promise(14, "Conversations are listed by filter and page, newest first (optional).")
def _conversations_are_listed(store: MemoryStore) -> None:
    scopes = [MemoryScope(user_id=user, tenant_id="t") for user in "abab"]
    for scope in [*scopes, scopes[1]]:
        store.append_many(scope, make_turn("x"))
    every = store.list_conversations()
    check_equal(
        sorted(info["scope_key"] for info in every), sorted(s.key for s in scopes)
    )
    dates = [info["updated_at"] for info in every]
    check_equal(dates, sorted(dates, reverse=True))
    for info in every:
        scope = next(scope for scope in scopes if scope.key == info["scope_key"])
        check_equal(info, store.describe(scope))
    check_equal(
        {info["user_id"] for info in store.list_conversations(user_id="a")}, {"a"}
    )
    check_equal(len(store.list_conversations(user_id="b", tenant_id="t")), 2)
    for nobody in ("c", ""):
        check_equal(store.list_conversations(user_id=nobody), [])
    check_equal(store.list_conversations(user_id="a", tenant_id="other"), [])
    pages = [store.list_conversations(limit=3, offset=offset) for offset in (0, 3, 6)]
    check_equal(pages, [every[:3], every[3:], []])
    check_equal(run(store.alist_conversations(limit=1)), every[:1])
    check_equal(store.list_conversations(limit=0), [])
    with expecting(ValueError):
        store.list_conversations(limit=-1)


@_promise(15, "Purging removes what fits, counts it, and asks for a filter (optional).")
def _conversations_are_purged(store: MemoryStore) -> None:
    scopes = [MemoryScope(user_id=user) for user in "aab"]
    for scope in scopes:
        store.append_many(scope, make_turn("x"))
    day = timedelta(days=1)
    with expecting(ValueError):
        store.purge()
    check_equal(store.purge(older_than=datetime.now(UTC) - day), 0)
    check_equal(store.purge(user_id=""), 0)
    check_equal(store.purge(user_id="a", older_than=datetime.now(UTC) + day), 2)
    check_equal([len(store.read(scope)) for scope in scopes], [0, 0, 2])
    check_equal(run(store.apurge(all=True)), 1)
    check_equal(store.list_conversations(), [])


def _texts(store: MemoryStore, scope: MemoryScope) -> list[str]:
    return [record["content"] for record in store.read(scope)]


def _texts_of_the_threads() -> Iterator[str]:
    for thread in range(THREADS):
        for turn in range(TURNS):
            yield from (f"{thread} {turn}?", f"{thread} {turn}")


def _titles(store: MemoryStore) -> list[str | None]:
    return [info["title"] for info in store.list_conversations()]


MEMORY_STORE_PROMISES = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Promise)
)
"""What `check_memory_store` checks, in order."""

OPTIONAL = frozenset({12, 13, 14, 15})
