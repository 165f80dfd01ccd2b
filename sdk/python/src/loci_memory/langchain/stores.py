"""Key-value stores for LangChain: bytes, or any value of JSON, under texts."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Generic, Optional, TypeVar, Union

from langchain_core.stores import BaseStore

from loci_memory.aio.client import AsyncLoci
from loci_memory.both import both
from loci_memory.calls import JSON, Call, items
from loci_memory.errors import LociError, problem_of
from loci_memory.replies import Item, Outcome
from loci_memory.sync.client import Loci

V = TypeVar("V")
_PAGE = 1000  # keys
_FURTHEST = 10_000  # keys that a list passes over


class _Store(BaseStore[str, V], Generic[V]):
    """Keeps values as items of a namespace. They are not searched."""

    def __init__(
        self,
        namespace: Sequence[str] = ("langchain", "store"),
        url: str | None = None,
        *,
        client: Loci | None = None,
        async_client: AsyncLoci | None = None,
        **settings: Any,
    ) -> None:
        self.namespace = tuple(namespace)
        self.client, self.async_client = both(client, async_client, url, settings)

    def _written(self, value: V) -> Any:
        raise NotImplementedError

    def _read(self, value: Any) -> V:
        raise NotImplementedError

    def mget(self, keys: Sequence[str]) -> list[Optional[V]]:
        return self._values(self._run(self._gets(keys)))

    async def amget(self, keys: Sequence[str]) -> list[Optional[V]]:
        return self._values(await self._arun(self._gets(keys)))

    def mset(self, key_value_pairs: Sequence[tuple[str, V]]) -> None:
        self._run(self._puts(key_value_pairs))

    async def amset(self, key_value_pairs: Sequence[tuple[str, V]]) -> None:
        await self._arun(self._puts(key_value_pairs))

    def mdelete(self, keys: Sequence[str]) -> None:
        self._run(self._deletes(keys))

    async def amdelete(self, keys: Sequence[str]) -> None:
        await self._arun(self._deletes(keys))

    def _run(self, todo: items.Batch) -> list[Outcome]:
        while call := todo.next():
            todo.take(self.client.run(call))
        return _done(todo.outcomes)

    async def _arun(self, todo: items.Batch) -> list[Outcome]:
        while call := todo.next():
            todo.take(await self.async_client.run(call))
        return _done(todo.outcomes)

    def yield_keys(self, *, prefix: Optional[str] = None) -> Iterator[str]:
        """The keys that begin with a prefix, as they were when the first was asked for."""
        found: list[Item] = []
        while page := self.client.run(self._page(len(found))):
            found += page
        yield from self._keys(found, prefix)

    async def ayield_keys(self, *, prefix: Optional[str] = None) -> AsyncIterator[str]:
        found: list[Item] = []
        while page := await self.async_client.run(self._page(len(found))):
            found += page
        for key in self._keys(found, prefix):
            yield key

    def _gets(self, keys: Sequence[str]) -> items.Batch:
        return items.Batch([{"op": "get", **self._place(key)} for key in keys])

    def _puts(self, pairs: Sequence[tuple[str, V]]) -> items.Batch:
        return items.Batch([{"op": "put", **self._place(key), "value": {"value": self._written(value)}, "index": []} for key, value in pairs])

    def _deletes(self, keys: Sequence[str]) -> items.Batch:
        return items.Batch([{"op": "delete", **self._place(key)} for key in keys])

    def _place(self, key: str) -> JSON:
        return {"namespace": list(self.namespace), "key": key}

    def _values(self, outcomes: list[Outcome]) -> list[Optional[V]]:
        return [self._value(outcome["item"]) if outcome.get("item") else None for outcome in outcomes]

    def _value(self, item: Item) -> V:
        try:
            return self._read(item["value"]["value"])
        except (KeyError, TypeError, ValueError) as err:
            raise LociError("unsupported", f"the item {item['key']!r} is none that this store wrote", recovery="Choose another namespace.") from err

    def _page(self, offset: int) -> Call[list[Item]]:
        if offset > _FURTHEST:
            raise LociError("too_large", f"a store of more than {_FURTHEST} keys cannot list them", recovery="Use several namespaces.")
        return items.search(self.namespace, None, None, _PAGE, offset, None)

    def _keys(self, found: list[Item], prefix: str | None) -> Iterator[str]:
        return (item["key"] for item in found if tuple(item["namespace"]) == self.namespace and item["key"].startswith(prefix or ""))


class LociByteStore(_Store[bytes]):
    """Keeps bytes under texts, such as LangChain's cache of embeddings needs.

        CacheBackedEmbeddings.from_bytes_store(embeddings, LociByteStore(("cache",)))

    A value may have 190,000 bytes. `url` and the other settings are those of `Loci`; clients of
    your own may be given in their place. What fails is raised.
    """

    def _written(self, value: bytes) -> Any:
        return b64encode(value).decode("ascii")

    def _read(self, value: Any) -> bytes:
        return b64decode(value, validate=True)


class LociKeyValueStore(_Store[Union[JSON, list[Any], str, int, float, bool, None]]):
    """Keeps values of JSON under texts; the settings are those of `LociByteStore`."""

    def _written(self, value: Any) -> Any:
        return value

    def _read(self, value: Any) -> Any:
        return value


def _done(outcomes: list[Outcome]) -> list[Outcome]:
    for outcome in outcomes:
        if error := outcome.get("error"):
            raise problem_of(error) or LociError("internal", "an operation of the batch failed")
    return outcomes
