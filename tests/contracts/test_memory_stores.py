"""Every store keeps the same promises, and the checks catch those that do not."""

from __future__ import annotations

import asyncio
import copy
import functools
import itertools
from collections import defaultdict
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notebook_agents import InMemoryStore, MemoryScope, MemoryStore, Message
from notebook_agents.memory import SQLiteStore
from notebook_agents.memory.record import from_record, to_record
from notebook_agents.testing import MEMORY_STORE_PROMISES, check_memory_store


class ThreeMethodsStore(MemoryStore):
    """As somebody else would write it: what has to be there and nothing more."""

    def __init__(self):
        self.records = defaultdict(list)

    def read(self, scope):
        return copy.deepcopy(self.records[scope.key])

    def append(self, scope, message):
        self.records[scope.key].append(copy.deepcopy(message))

    def clear(self, scope):
        self.records.pop(scope.key, None)


STORES = [InMemoryStore, SQLiteStore, ThreeMethodsStore]
OPTIONAL = {12, 13, 14, 15}


@pytest.fixture
def make_store(tmp_path_factory):
    def make(kind):
        if kind is not SQLiteStore:
            return kind()
        return SQLiteStore(tmp_path_factory.mktemp("store") / "conversations.sqlite")

    return make


@pytest.mark.parametrize("promise", MEMORY_STORE_PROMISES, ids=str)
@pytest.mark.parametrize("kind", STORES)
def test_a_store_keeps_its_promise(kind, promise, make_store):
    """Acceptance checks 15 and 17."""
    numbers = [promise.number]
    skipped = check_memory_store(lambda: make_store(kind), promises=numbers)
    is_bare = kind is ThreeMethodsStore and promise.number in OPTIONAL
    assert skipped == ([promise] if is_bare else [])


def test_the_promises_are_numbered_without_a_gap():
    numbers = [promise.number for promise in MEMORY_STORE_PROMISES]
    assert numbers == list(range(1, len(numbers) + 1))


def test_what_a_store_need_not_offer_says_so():
    """Acceptance check 18."""
    store, scope = ThreeMethodsStore(), MemoryScope()
    for ask in (
        store.list_conversations,
        lambda: store.purge(all=True),
        lambda: store.describe(scope),
        lambda: store.set_title(scope, "x"),
    ):
        with pytest.raises(NotImplementedError, match=r"ThreeMethodsStore has no"):
            ask()


# Stores that break one promise each.


class NeverEmpty(InMemoryStore):
    """Invents a message."""

    def read(self, scope):
        return super().read(scope) or [{"role": "user", "content": "ghost"}]


class LosesTags(InMemoryStore):
    """Keeps who said what, and no more."""

    def append(self, scope, message):
        super().append(scope, {"role": message["role"], "content": message["content"]})


class Shares(ThreeMethodsStore):
    """Hands out what it keeps."""

    def read(self, scope):
        return self.records[scope.key]


class MixesUsers(InMemoryStore):
    """Looks at the conversation alone."""

    def read(self, scope):
        return super().read(MemoryScope(conversation_id=scope.conversation_id))

    def append(self, scope, message):
        super().append(MemoryScope(conversation_id=scope.conversation_id), message)


class TornTurns(InMemoryStore):
    """Writes a turn in parts, answers first."""

    def append_many(self, scope, messages):
        for message in sorted(messages, key=lambda message: message["role"]):
            super().append_many(scope, [message])


class HalfTurns(InMemoryStore):
    """Writes a turn until something is wrong with it."""

    def append_many(self, scope, messages):
        for message in messages:
            super().append_many(scope, [message])


class OneLoop(InMemoryStore):
    """Belongs to the loop that came first."""

    loop = None

    async def save(self, scope, messages, *, turn=None):
        self.loop = self.loop or asyncio.get_running_loop()
        assert self.loop is asyncio.get_running_loop(), "another loop"
        return await super().save(scope, messages, turn=turn)


class ReplacesAtTheEnd(InMemoryStore):
    """Moves a turn that is written again."""

    def replace_turn(self, scope, turn, messages):
        super().replace_turn(scope, turn, [])
        super().replace_turn(scope, turn, messages)


class ForgetsKeys(InMemoryStore):
    """Gives a key that means nothing."""

    async def save(self, scope, messages, *, turn=None):
        await super().save(scope, messages)
        return "none"


class SeesItself(InMemoryStore):
    """Shows a turn its own earlier version."""

    async def load(self, scope, *, before=None):
        return await super().load(scope)


class RemembersTurns(InMemoryStore):
    """Leaves something behind."""

    def clear(self, scope):
        for record in self.read(scope)[::-1]:
            super().replace_turn(scope, record["turn"], [])
        kept = self._conversations.get(scope.key)
        if kept:
            kept.insert(0, [Message("user", "left over")], ["b"])


class CountsSteps(InMemoryStore):
    """Counts everything."""

    def describe(self, scope):
        info = super().describe(scope)
        return info and {**info, "message_count": len(self.read(scope))}


class KeepsNoTitle(InMemoryStore):
    """Takes a title and drops it."""

    def set_title(self, scope, title):
        pass


class IgnoresBlankFilters(InMemoryStore):
    """Takes a blank user for any user."""

    def list_conversations(self, *, user_id=None, **rest):
        return super().list_conversations(user_id=user_id or None, **rest)


class PurgesByOversight(InMemoryStore):
    """Needs no filter."""

    def purge(self, **filters):
        return super().purge(**{**filters, "all": True})


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (1, NeverEmpty),
        (2, LosesTags),
        (3, Shares),
        (4, MixesUsers),
        (5, TornTurns),
        (6, HalfTurns),
        (7, OneLoop),
        (8, ReplacesAtTheEnd),
        (9, ForgetsKeys),
        (10, SeesItself),
        (11, RemembersTurns),
        (12, CountsSteps),
        (13, KeepsNoTitle),
        (14, IgnoresBlankFilters),
        (15, PurgesByOversight),
    ],
)
def test_a_broken_promise_is_found_by_its_number(number, kind):
    with pytest.raises(AssertionError, match=rf"^Promise {number}\. "):
        check_memory_store(kind, promises=[number])


async def test_the_checks_run_where_a_loop_runs_already():
    assert check_memory_store(InMemoryStore) == []


# A store is as good as a list of lists.

SCOPES = [
    MemoryScope(conversation_id=f"{number:032x}", user_id=user)
    for number, user in enumerate("aab")
]
KEYS = ["x", "y"]

scopes = st.sampled_from(SCOPES)
records = st.builds(
    to_record,
    st.builds(
        Message,
        st.sampled_from(["user", "assistant"]),
        st.text(st.characters(codec="utf-8"), max_size=3),
        intermediate=st.booleans(),
    ),
    st.sampled_from([None, *KEYS]),
)
turns = st.lists(records, max_size=3)
operations = st.one_of(
    st.tuples(st.just("append"), scopes, records),
    st.tuples(st.just("append_many"), scopes, turns),
    st.tuples(st.just("replace_turn"), scopes, st.sampled_from(KEYS), turns),
    st.tuples(st.just("clear"), scopes),
    st.tuples(st.just("set_title"), scopes, st.sampled_from(["t", None])),
    st.tuples(st.just("purge"), st.sampled_from("ab")),
)


class Model:
    """What a store should hold: for each conversation a title and a list."""

    def __init__(self):
        self.kept = {}

    def append(self, scope, record):
        self.append_many(scope, [record])

    def append_many(self, scope, records):
        if records:
            self.kept.setdefault(scope, [None, []])[1].extend(records)

    def replace_turn(self, scope, turn, records):
        new = [{**record, "turn": turn} for record in records]
        old = self.kept.get(scope, [None, []])[1]
        place = self.place(scope, turn)
        rest = [record for record in old if record.get("turn") != turn]
        if scope in self.kept or new:
            self.kept.setdefault(scope, [None, []])[1] = [
                *rest[:place],
                *new,
                *rest[place:],
            ]

    def place(self, scope, turn):
        keys = [record.get("turn") for record in self.read(scope)]
        return keys.index(turn) if turn in keys else len(keys)

    def clear(self, scope):
        self.kept.pop(scope, None)

    def set_title(self, scope, title):
        self.kept.setdefault(scope, [None, []])[0] = title

    def purge(self, user):
        gone = [scope for scope in self.kept if scope.user_id == user]
        for scope in gone:
            self.clear(scope)
        return len(gone)

    def read(self, scope):
        return self.kept.get(scope, [None, []])[1]

    def describe(self, scope):
        if scope not in self.kept:
            return None
        title, records = self.kept[scope]
        return title, sum(not record.get("intermediate") for record in records)


def described(store, scope):
    info = store.describe(scope)
    return info and (info["title"], info["message_count"])


def apply(operation, store, model):
    name, *arguments = operation
    if name == "purge":
        (user,) = arguments
        assert store.purge(user_id=user) == model.purge(user)
    else:
        getattr(store, name)(*arguments)
        getattr(model, name)(*arguments)


def check_against(model, store, runner):
    for scope in SCOPES:
        expected = model.read(scope)
        assert store.read(scope) == expected
        for key in KEYS:
            seen = expected[: model.place(scope, key)]
            loaded = runner.run(store.load(scope, before=key))
            assert loaded == [from_record(record) for record in seen]


@pytest.mark.parametrize("kind", STORES)
@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(operations, max_size=12))
def test_a_store_does_what_a_list_of_lists_would_do(kind, make_store, steps):
    is_bare = kind is ThreeMethodsStore
    model = Model()
    with make_store(kind) as store, asyncio.Runner() as runner:
        for step in steps:
            if is_bare and step[0] in {"set_title", "purge"}:
                continue
            apply(step, store, model)
            check_against(model, store, runner)
            if not is_bare:
                for scope in SCOPES:
                    assert described(store, scope) == model.describe(scope)


@pytest.mark.parametrize("kind", [InMemoryStore, SQLiteStore])
def test_conversations_are_listed_and_purged_by_the_clock(
    kind, make_store, monkeypatch
):
    clock = itertools.count(1_000, 1_000)
    for module in ("in_memory", "sqlite_rows"):
        monkeypatch.setattr(
            f"notebook_agents.memory.{module}.now_ms", lambda: next(clock)
        )
    with make_store(kind) as store:
        for scope in [*SCOPES, SCOPES[0]]:
            store.append(scope, {"role": "user", "content": "hi"})
        keys = [info["scope_key"] for info in store.list_conversations()]
        assert keys == [SCOPES[0].key, SCOPES[2].key, SCOPES[1].key]
        updated = store.describe(SCOPES[2])["updated_at"]
        moment = datetime.fromtimestamp(updated / 1000, UTC)
        assert store.purge(older_than=moment) == 1
        assert store.describe(SCOPES[1]) is None


@pytest.mark.parametrize("kind", [InMemoryStore, SQLiteStore])
def test_a_clock_that_goes_back_does_not_make_a_conversation_older(
    kind, make_store, monkeypatch
):
    for now in (2_000, 1_000):
        for module in ("in_memory", "sqlite_rows"):
            monkeypatch.setattr(
                f"notebook_agents.memory.{module}.now_ms", functools.partial(int, now)
            )
        if now == 2_000:
            store = make_store(kind)
        store.append(SCOPES[0], {"role": "user", "content": "hi"})
    assert store.describe(SCOPES[0])["updated_at"] == 2_000
    store.close()


@pytest.mark.parametrize("kind", STORES)
async def test_a_list_of_parts_is_not_shared(kind, make_store):
    def parts():
        return [{"type": "text", "text": "hi"}]

    with make_store(kind) as store:
        given = {"role": "user", "content": parts()}
        store.append(SCOPES[0], given)
        given["content"].clear()
        said = Message("user", parts())
        await store.save(SCOPES[0], [said])
        said.content.clear()
        for message in await store.load(SCOPES[0]):
            message.content.clear()
        kept = [record["content"] for record in store.read(SCOPES[0])]
        assert kept == [parts(), parts()]


async def test_every_question_about_conversations_has_an_async_form():
    store = InMemoryStore()
    await store.aset_title(SCOPES[0], "t")
    assert await store.adescribe(SCOPES[0]) == store.describe(SCOPES[0])
    assert await store.alist_conversations(user_id="a") == store.list_conversations()
    assert await store.apurge(user_id="a") == 1


def test_what_every_store_has_to_offer_cannot_be_left_out():
    class NoTurns(InMemoryStore):
        def append_many(self, scope, messages):
            raise NotImplementedError

    with pytest.raises(AssertionError, match=r"^Promise 5\. "):
        check_memory_store(NoTurns, promises=[5])


def test_a_conversation_that_is_not_described_is_found():
    class SaysNothing(InMemoryStore):
        def describe(self, scope):
            return None

    with pytest.raises(AssertionError, match="is not described"):
        check_memory_store(SaysNothing, promises=[12])
