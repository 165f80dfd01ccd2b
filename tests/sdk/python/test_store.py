"""LociStore with LangGraph's interface."""

import asyncio

import pytest
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from loci_memory import LociError
from loci_memory.langgraph import LociStore


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
