"""LangChain's standard suites."""

import json
import uuid

import pytest
from langchain_core.documents import Document
from langchain_tests.integration_tests import RetrieversIntegrationTests
from langchain_tests.integration_tests.base_store import BaseStoreAsyncTests, BaseStoreSyncTests

from loci_memory import AsyncLoci, Loci, LociError
from loci_memory.langchain import LociByteStore, LociKeyValueStore, LociRetriever

BYTES = (b"foo", b"\x00\xff", b"")
VALUES = ({"a": [1, None]}, "text", 1.5)


class TestByteStore(BaseStoreSyncTests[bytes]):
    @pytest.fixture
    def kv_store(self, url, user):
        return LociByteStore(url=url, user=user)

    @pytest.fixture
    def three_values(self):
        return BYTES


class TestByteStoreOfAsyncio(BaseStoreAsyncTests[bytes]):
    @pytest.fixture
    async def kv_store(self, url, user):
        return LociByteStore(url=url, user=user)

    @pytest.fixture
    def three_values(self):
        return BYTES


class TestKeyValueStore(BaseStoreSyncTests):
    @pytest.fixture
    def kv_store(self, url, user):
        return LociKeyValueStore(url=url, user=user)

    @pytest.fixture
    def three_values(self):
        return VALUES


class TestKeyValueStoreOfAsyncio(BaseStoreAsyncTests):
    @pytest.fixture
    async def kv_store(self, url, user):
        return LociKeyValueStore(url=url, user=user)

    @pytest.fixture
    def three_values(self):
        return VALUES


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def memories(self, memory, url, user):
        for n in range(6):
            memory.notes.save(f"Ada drinks tea number {n}")
        self.where = {"url": url, "settings": {"user": user}}

    @property
    def retriever_constructor(self):
        return LociRetriever

    @property
    def retriever_constructor_params(self):
        return self.where

    @property
    def retriever_query_example(self):
        return "what does Ada drink?"


def test_a_retriever_gives_whole_memories(memory, url, user):
    memory.notes.save("Ada likes night trains", tags=["travel"], metadata={"n": 1})
    memory.items.put(("docs",), "k", {"text": "Bob likes ferries"})
    [train] = LociRetriever(url=url, settings={"user": user}, k=1, search={"types": ["fact"]}).invoke("trains")
    assert isinstance(train, Document) and train.page_content == "Ada likes night trains" and train.metadata["tags"] == ["travel"]
    [ferry] = LociRetriever(url=url, settings={"user": user}, k=1).invoke("ferries", types=["item"])
    assert ferry.metadata["key"] == "k" and ferry.metadata["value"] == {"text": "Bob likes ferries"} and "ferries" in ferry.page_content


def test_a_retriever_finds_for_the_user_of_the_call(url):
    users = [uuid.uuid4().hex for _ in range(2)]
    retriever = LociRetriever(url=url, k=10)
    for user in users:
        with Loci(url, user=user) as memory:
            memory.notes.save(f"a secret of {user}")
    for user in users:
        assert [found.page_content for found in retriever.invoke("secret", {"configurable": {"user_id": user}})] == [f"a secret of {user}"]
    with pytest.raises(LociError):
        retriever.invoke("secret", {"configurable": {"user_id": ""}})
    assert "secret" not in json.dumps(retriever.model_dump(), default=repr) and "key" not in repr(LociRetriever(settings={"api_key": "key"}))


def test_a_failing_memory_is_raised_not_empty(down):
    later = AsyncLoci("http://127.0.0.1:9", retries=0)
    with pytest.raises(LociError):
        LociRetriever(client=down, async_client=later).invoke("x")
    for work in (lambda s: s.mget(["a"]), lambda s: s.mset([("a", b"")]), lambda s: s.mdelete(["a"]), lambda s: list(s.yield_keys())):
        with pytest.raises(LociError):
            work(LociByteStore(client=down, async_client=later))


def test_stores_keep_what_is_large_many_or_strange(url, user):
    store = LociByteStore(("large",), url, user=user)
    large = {f"k{n}": bytes([n]) * 190_000 for n in range(20)}  # together more than one request takes
    store.mset(list(large.items()))
    assert store.mget([*large, "none"]) == [*large.values(), None]
    many = LociByteStore(("many",), url, user=user)
    many.mset([(f"{n % 3}/ü {n}", b"x") for n in range(1500)])
    assert len(list(many.yield_keys())) == 1500 and len(list(many.yield_keys(prefix="1/"))) == 500 and list(store.yield_keys(prefix="1/")) == []
    many.mset([("twice", b"1"), ("twice", b"2")])
    assert many.mget(["twice"]) == [b"2"]
    LociByteStore(("many", "below"), url, user=user).mset([("deep", b"")])
    assert "deep" not in set(many.yield_keys())
    LociKeyValueStore(("many",), url, user=user).mset([("no bytes", {"a": 1})])
    with pytest.raises(LociError, match="none that this store wrote"):
        many.mget(["no bytes"])
    for pair in (("", b""), ("k", b"x" * 200_000)):
        with pytest.raises(LociError) as refused:
            many.mset([pair])
        assert refused.value.code in ("invalid", "too_large")
