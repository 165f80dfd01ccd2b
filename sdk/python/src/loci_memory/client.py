"""Clients of the REST API: `Loci` waits for each reply, `AsyncLoci` does not."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import httpx

from loci_memory import calls
from loci_memory.calls import JSON, Call
from loci_memory.errors import LociError, error_of

DEFAULT_URL = "http://127.0.0.1:7437"
DEFAULT_TIMEOUT = 60.0  # seconds; what a server gives a request by default

T = TypeVar("T")


def _settings(
    url: str | None,
    *,
    token: str | None,
    user: str | None,
    org: str | None,
    agent: str | None,
    thread: str | None,
    session: str | None,
    timeout: float,
) -> dict[str, Any]:
    headers = {"User-Agent": "loci-memory-python"}
    if token:
        headers["Authorization"] = "Bearer " + token
    for name, value in (("User", user), ("Org", org), ("Agent", agent), ("Thread", thread), ("Session", session)):
        if value is not None:
            headers["Loci-" + name] = value
    base = url or os.environ.get("LOCI_URL") or DEFAULT_URL
    return {"base_url": base, "headers": headers, "timeout": timeout}


def _read(call: Call[T], response: httpx.Response) -> T:
    if response.is_error:
        raise error_of(response)
    return call.read(response.json() if response.content else None)


def _unreached(err: httpx.HTTPError) -> LociError:
    return LociError("unavailable", f"the memory did not answer: {err or type(err).__name__}", recovery="Check that loci serve runs, and try again.")


class Loci:
    """A client that waits for each reply. It is safe to use from several threads.

    `url` is where `loci serve` listens (default: the environment variable LOCI_URL, else
    http://127.0.0.1:7437). `user`, `org` and `agent` need a server whose scopes include
    delegate; `thread` and `session` say which of the caller's own are meant.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        user: str | None = None,
        org: str | None = None,
        agent: str | None = None,
        thread: str | None = None,
        session: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        settings = _settings(url, token=token, user=user, org=org, agent=agent, thread=thread, session=session, timeout=timeout)
        self._http = httpx.Client(transport=transport, **settings)

    def run(self, call: Call[T], *, idempotency_key: str | None = None) -> T:
        """Sends a request of `loci_memory.calls`. The same key makes a repeated write get the first reply."""
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else None
        try:
            response = self._http.request(call.method, call.path, json=call.body, headers=headers)
        except httpx.HTTPError as err:
            raise _unreached(err) from err
        return _read(call, response)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Loci:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def info(self) -> JSON:
        return self.run(calls.info())

    def put_item(
        self, namespace: Sequence[str], key: str, value: Mapping[str, Any], *, index: Sequence[str] | None = None, ttl: float | None = None
    ) -> None:
        """Stores a JSON object under a key. `index` names the paths that are searched (an empty list: none); `ttl` is in minutes."""
        self.run(calls.put_item(namespace, key, value, index, ttl))

    def get_item(self, namespace: Sequence[str], key: str, *, refresh_ttl: bool | None = None) -> JSON | None:
        """Reads an item; None: there is none."""
        try:
            return self.run(calls.get_item(namespace, key, refresh_ttl))
        except LociError as err:
            _absent(err)
            return None

    def delete_item(self, namespace: Sequence[str], key: str) -> None:
        self.run(calls.delete_item(namespace, key))

    def search_items(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        query: str | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int | None = None,
        offset: int | None = None,
        refresh_ttl: bool | None = None,
    ) -> list[JSON]:
        return self.run(calls.search_items(namespace_prefix, query, filter, limit, offset, refresh_ttl))

    def list_namespaces(
        self,
        *,
        prefix: Sequence[str] | None = None,
        suffix: Sequence[str] | None = None,
        max_depth: int | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[tuple[str, ...]]:
        return self.run(calls.list_namespaces(prefix, suffix, max_depth, limit, offset))

    def batch(self, operations: Sequence[Mapping[str, Any]]) -> list[JSON]:
        return self.run(calls.batch(operations))

    def list_tools(self) -> list[JSON]:
        return self.run(calls.list_tools())

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> JSON:
        """Calls a tool as a model does; a refused call has is_error and says why in text."""
        return self.run(calls.call_tool(name, arguments))

    def search(self, query: str | None = None, **fields: Any) -> JSON:
        """Finds memories; `fields` are those of the request, such as types, tags, filter, limit."""
        return self.run(calls.search(query, fields))

    def recall(self, topic: str, **fields: Any) -> JSON:
        return self.run(calls.recall(topic, fields))

    def context(self, prompt: str, *, agent: str | None = None, token_budget: int | None = None) -> JSON:
        return self.run(calls.context(prompt, agent, token_budget))


class AsyncLoci:
    """`Loci` for asyncio: `run` and each method are awaited."""

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        user: str | None = None,
        org: str | None = None,
        agent: str | None = None,
        thread: str | None = None,
        session: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        settings = _settings(url, token=token, user=user, org=org, agent=agent, thread=thread, session=session, timeout=timeout)
        self._http = httpx.AsyncClient(transport=transport, **settings)

    async def run(self, call: Call[T], *, idempotency_key: str | None = None) -> T:
        """Sends a request of `loci_memory.calls`. The same key makes a repeated write get the first reply."""
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else None
        try:
            response = await self._http.request(call.method, call.path, json=call.body, headers=headers)
        except httpx.HTTPError as err:
            raise _unreached(err) from err
        return _read(call, response)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncLoci:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def info(self) -> JSON:
        return await self.run(calls.info())

    async def put_item(
        self, namespace: Sequence[str], key: str, value: Mapping[str, Any], *, index: Sequence[str] | None = None, ttl: float | None = None
    ) -> None:
        await self.run(calls.put_item(namespace, key, value, index, ttl))

    async def get_item(self, namespace: Sequence[str], key: str, *, refresh_ttl: bool | None = None) -> JSON | None:
        try:
            return await self.run(calls.get_item(namespace, key, refresh_ttl))
        except LociError as err:
            _absent(err)
            return None

    async def delete_item(self, namespace: Sequence[str], key: str) -> None:
        await self.run(calls.delete_item(namespace, key))

    async def search_items(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        query: str | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int | None = None,
        offset: int | None = None,
        refresh_ttl: bool | None = None,
    ) -> list[JSON]:
        return await self.run(calls.search_items(namespace_prefix, query, filter, limit, offset, refresh_ttl))

    async def list_namespaces(
        self,
        *,
        prefix: Sequence[str] | None = None,
        suffix: Sequence[str] | None = None,
        max_depth: int | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[tuple[str, ...]]:
        return await self.run(calls.list_namespaces(prefix, suffix, max_depth, limit, offset))

    async def batch(self, operations: Sequence[Mapping[str, Any]]) -> list[JSON]:
        return await self.run(calls.batch(operations))

    async def list_tools(self) -> list[JSON]:
        return await self.run(calls.list_tools())

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> JSON:
        return await self.run(calls.call_tool(name, arguments))

    async def search(self, query: str | None = None, **fields: Any) -> JSON:
        return await self.run(calls.search(query, fields))

    async def recall(self, topic: str, **fields: Any) -> JSON:
        return await self.run(calls.recall(topic, fields))

    async def context(self, prompt: str, *, agent: str | None = None, token_budget: int | None = None) -> JSON:
        return await self.run(calls.context(prompt, agent, token_budget))


def _absent(err: LociError) -> None:
    """None for what is not there; any other error goes on."""
    if err.code != "not_found":
        raise err

