"""LociStore with LangGraph's interface."""

import asyncio
import json
import math
import random
import time
from datetime import datetime, timezone

import pytest
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from loci_memory import LociError
from loci_memory.langgraph import LociStore
from loci_memory.langgraph.store import _time


@pytest.fixture
def store(url, user):
    store = LociStore(url, user=user)
    yield store
    store.close()


def test_items_are_kept_and_found(store):
    store.put(("memories", "u1"), "tea", {"text": "Ada drinks green tea in the morning"})
    store.put(("memories", "u1"), "cat", {"text": "Her cat is called Turing", "kind": "pet"})
    store.put(("other",), "tea", {"text": "nothing"}, index=False)
    item = store.get(("memories", "u1"), "tea")
    assert item.value["text"].startswith("Ada") and item.namespace == ("memories", "u1") and item.created_at <= item.updated_at
    found = store.search(("memories",), query="green tea")
    assert found[0].key == "tea" and 0 < found[0].score <= 1
    assert [f.key for f in store.search(("memories",), filter={"kind": "pet"})] == ["cat"]
    assert store.list_namespaces(prefix=("memories",)) == [("memories", "u1")]
    assert store.list_namespaces(max_depth=1) == [("memories",), ("other",)]
    store.delete(("memories", "u1"), "tea")
    assert store.get(("memories", "u1"), "tea") is None


def test_batches_read_first_and_the_last_put_counts(store):
    store.put(("a",), "k", {"n": 1})
    results = store.batch([PutOp(("a",), "k", {"n": 2}), GetOp(("a",), "k"), PutOp(("a",), "k", {"n": 3}), SearchOp(("a",)),
                           ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("a",)),)), GetOp(("a",), "none")])
    assert results[0] is None and results[1].value == {"n": 1} and [i.key for i in results[3]] == ["k"]
    assert results[4] == [("a",)] and results[5] is None
    assert store.get(("a",), "k").value == {"n": 3}
    assert store.batch([]) == []
    many = store.batch([PutOp(("many",), str(i), {"i": i}) for i in range(1100)])
    assert many == [None] * 1100 and len(store.search(("many",), limit=1000)) == 1000
    found = store.batch([SearchOp(("a",), query=f"n {i}") for i in range(100)])  # more than one request takes
    assert all([item.key for item in items] == ["k"] for items in found)


def test_batches_of_asyncio(url, user):
    async def run():
        store = LociStore(url, user=user, ttl={"default_ttl": 60.0})
        await store.aput(("a",), "k", {"n": 1})
        await asyncio.gather(*(store.aput(("b",), str(i), {"i": i}) for i in range(20)))
        found = await store.asearch(("b",), limit=50)
        item = await store.aget(("a",), "k")
        await store.adelete(("a",), "k")
        gone = await store.aget(("a",), "k")
        namespaces = await store.alist_namespaces()
        await store.aclose()
        return found, item, gone, namespaces

    found, item, gone, namespaces = asyncio.run(run())
    assert len(found) == 20 and item.value == {"n": 1} and gone is None and namespaces == [("b",)]


def test_refused_operations_raise(store):
    with pytest.raises(LociError) as refused:
        store.batch([PutOp(("a",), "", {"n": 1})])
    assert refused.value.code == "invalid"
    with pytest.raises(ValueError):
        store.batch([ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("a",)), MatchCondition("prefix", ("b",))))])


LABELS = ("a", "b", "c d", "%", "ü/x")


def random_namespace(rng, least=1):
    return tuple(rng.choice(LABELS) for _ in range(rng.randint(least, 3)))


def random_operation(rng):
    namespace, key = random_namespace(rng), rng.choice(["k", "1", "a/b", ".."])
    match rng.randrange(8):
        case 0 | 1 | 2:
            return PutOp(namespace, key, {"n": rng.randrange(4), "in": {"x": rng.choice([None, True, "s", 1.5])}, "list": [rng.randrange(2)]})
        case 3:
            return PutOp(namespace, key, None)
        case 4:
            return GetOp(namespace, key)
        case 5 | 6:
            conditions = [{"n": 1}, {"n": {"$gt": 1}}, {"n": {"$gte": 1, "$lt": 3}}, {"n": {"$ne": 2}}, {"in": {"x": "s"}}, {"list": [1]}, {"none": 1}, None]
            return SearchOp(random_namespace(rng, 0), filter=rng.choice(conditions), limit=1000)
        case _:
            kinds = rng.sample(["prefix", "suffix"], rng.randrange(3))
            path = [rng.choice([*LABELS, "*"]) for _ in range(rng.randint(1, 2))]
            conditions = tuple(MatchCondition(kind, tuple(path)) for kind in kinds) or None
            return ListNamespacesOp(conditions, max_depth=rng.choice([None, 1, 2]), limit=rng.choice([2, 1000]), offset=rng.choice([0, 1]))


def seen(op, result):
    """A result without what differs by design: times, and the order of a search without a query."""
    if isinstance(op, SearchOp):
        return sorted((item.namespace, item.key, json.dumps(item.value, sort_keys=True)) for item in result)
    if isinstance(op, GetOp):
        return result and (result.namespace, result.key, result.value)
    return result


@pytest.mark.parametrize("seed", range(4))
def test_equals_the_store_in_memory(store, seed):
    rng, reference = random.Random(seed), InMemoryStore()
    for _ in range(60):
        ops = [random_operation(rng) for _ in range(rng.randint(1, 8))]
        if any(isinstance(op, ListNamespacesOp) for op in ops):  # a read makes an empty namespace there, which the same batch lists
            ops = [op for op in ops if not isinstance(op, GetOp)]
        for op, ours, theirs in zip(ops, store.batch(ops), reference.batch(ops), strict=True):
            assert seen(op, ours) == seen(op, theirs), (op, ours, theirs)
        for namespace in [namespace for namespace, items in reference._data.items() if not items]:
            del reference._data[namespace]  # it goes on listing those that hold nothing any more


def test_an_overwrite_keeps_the_time_of_creation(store):
    store.put(("a",), "k", {"n": 1})
    first = store.get(("a",), "k")
    time.sleep(0.01)
    store.put(("a",), "k", {"n": 2})
    second = store.get(("a",), "k")
    assert second.created_at == first.created_at and second.updated_at > first.updated_at and first.created_at.tzinfo


@pytest.mark.parametrize(("text", "microsecond"), [("2026-01-02T03:04:05Z", 0), ("2026-01-02T03:04:05.5Z", 500_000), ("2026-01-02T03:04:05.1234567Z", 123_456)])
def test_times(text, microsecond):
    assert _time(text) == datetime(2026, 1, 2, 3, 4, 5, microsecond, tzinfo=timezone.utc)


def test_searches_by_meaning(store):
    texts = {"apple": "red apple", "car": "red car", "green": "green apple", "blue": "blue car"}
    for n, (key, text) in enumerate(texts.items()):
        store.put(("t",), key, {"text": text, "color": text.split()[0], "n": n})
    assert store.search(("t",), query="apple", filter={"color": "red"})[0].key == "apple"
    assert {item.key for item in store.search(("t",), query="car", filter={"n": {"$gt": 0}})} == {"car", "green", "blue"}
    assert len(store.search(("t",), query="")) == len(store.search(("t",))) == 4
    pages = [item.key for offset in (0, 2) for item in store.search(("t",), query="red", limit=2, offset=offset)]
    found = store.search(("t",), query="red")
    assert pages == [item.key for item in found] and [item.score for item in found] == sorted((item.score for item in found), reverse=True)
    store.put(("t",), "apple", {"text": "something about birds"})
    assert store.search(("t",), query="red apple")[0].key != "apple"  # searched is what it says now
    assert len(store.search(("t",), query="!@#$%^&*()" + "word " * 100)) == 4


def test_only_indexed_paths_are_searched(store):
    store.put(("t",), "one", {"title": "zebra", "notes": [{"text": "walrus"}], "rest": "penguin"}, index=["title", "notes[*].text"])
    store.put(("t",), "other", {"title": "plain", "rest": "zebra walrus"}, index=["title"])
    store.put(("t",), "none", {"title": "zebra walrus penguin"}, index=False)
    for query in ("zebra", "walrus"):
        assert store.search(("t",), query=query)[0].key == "one"
    assert "none" not in [item.key for item in store.search(("t",), query="zebra walrus", limit=2)]
    assert len(store.search(("t",))) == 3 and store.get(("t",), "none")


def test_items_expire(url, user):
    minutes = 1.5 / 60
    store = LociStore(url, user=user, ttl={"default_ttl": minutes, "refresh_on_read": False})
    store.put(("t",), "short", {"n": 1})
    store.put(("t",), "kept", {"n": 1}, ttl=None)
    store.put(("t",), "read", {"n": 1})
    for _ in range(4):
        time.sleep(0.5)
        store.get(("t",), "read", refresh_ttl=True)
        store.get(("t",), "short")
    assert [store.get(("t",), key) is None for key in ("short", "kept", "read")] == [True, False, False]
    assert {item.key for item in store.search(("t",))} == {"kept", "read"}


@pytest.mark.parametrize("namespace", [(), ("",), ("a.b",), ("x" * 300,), ("\ud800",)])
def test_bad_namespaces_are_refused(store, namespace):
    with pytest.raises((InvalidNamespaceError, LociError)):
        store.put(namespace, "k", {"n": 1})
    with pytest.raises((ValueError, LociError)):
        store.batch([PutOp(namespace, "k", {"n": 1})])
    assert store.search(()) == []


def test_no_namespace_leads_to_another_user(store, url):
    store.put(("a",), "k", {"text": "mine"})
    other = LociStore(url, user="another")
    for namespace in ((), ("a",), ("user",), ("user", "another")):
        assert other.search(namespace) == []
    assert other.list_namespaces() == [] and other.get(("a",), "k") is None


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ({"$gt": -math.inf}, ["neg", "pos"]),
        ({"$gte": -math.inf, "$lt": 0}, ["neg"]),
        ({"$lt": math.inf}, ["neg", "pos"]),
        ({"$lt": -math.inf}, []),
        ({"$gt": math.inf}, []),
        ({"$gt": math.nan}, []),
        ({"$ne": math.nan}, ["neg", "pos", "text"]),
        ({"$ne": math.inf}, ["neg", "pos", "text"]),
        (math.inf, []),
        (math.nan, []),
        ({"$eq": math.nan}, []),
        ([math.inf], []),
        ({"in": math.nan}, []),
        ({"$ne": [math.inf]}, ["neg", "pos", "text"]),
        ({"$lt": 10**100}, ["neg", "pos"]),
        ({"$lt": 10**400}, ["neg", "pos"]),
        ("a\x00b", []),
        ("\ud800", []),
    ],
)
def test_numbers_that_json_cannot_say_in_filters(store, condition, found):
    for key, n in (("neg", -1e308), ("pos", 2), ("text", "x")):
        store.put(("n",), key, {"n": n})
    assert sorted(item.key for item in store.search(("n",), filter={"n": condition})) == found
    assert [item.key for item in store.search(("n",), filter={"n": 2})] == ["pos"]


def test_a_key_of_a_filter_with_a_period_is_refused(store):
    store.put(("n",), "k", {"a": {"b": 1}, "a.b": 1})
    with pytest.raises(LociError, match="has a period"):
        store.search(("n",), filter={"a.b": 1})
    assert [item.key for item in store.search(("n",), filter={"a": {"b": 1}})] == ["k"]


def test_the_fields_of_an_index_are_what_is_searched(url, user):
    store = LociStore(url, user=user, index={"dims": 3, "embed": lambda texts: [[0.0] * 3 for _ in texts], "fields": ["title"]})
    store.put(("n",), "one", {"title": "zebra", "aside": "walrus"})
    store.put(("n",), "two", {"title": "lion", "aside": "walrus"}, index=["aside"])
    assert store.search(("n",), query="zebra")[0].key == "one" and store.search(("n",), query="walrus")[0].key == "two"
    whole = LociStore(url, user=user, index={"dims": 3, "embed": None, "fields": ["$"]})
    whole.put(("m",), "k", {"title": "x", "aside": "walrus"})
    assert whole.search(("m",), query="walrus")[0].score > 0


def test_a_batch_may_put_where_put_may_not(store):
    """As LangGraph's own stores have it."""
    with pytest.raises(InvalidNamespaceError):
        store.put(("langgraph", "x"), "k", {"n": 1})
    store.batch([PutOp(("langgraph", "x"), "k", {"n": 1})])
    assert store.get(("langgraph", "x"), "k").value == {"n": 1} and store.list_namespaces() == [("langgraph", "x")]
    store.delete(("langgraph", "x"), "k")
    assert store.search(("langgraph",)) == []


@pytest.mark.parametrize("namespace", [(), ("",), ("a.b",)])
def test_a_batch_heeds_the_rules_of_namespaces(store, namespace):
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("good",), "k", {"n": 1}), PutOp(namespace, "k", {"n": 1})])
    assert store.search(()) == []  # and nothing was done
