"""The clients of an adapter: one that is given or made, or one that waits and one for asyncio, of the same server, credential and identity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import httpx

from loci_memory.aio.client import AsyncLoci
from loci_memory.errors import LociError
from loci_memory.sync.client import Loci
from loci_memory.transport import AsyncTransport, Transport

C = TypeVar("C", Loci, AsyncLoci)


def one(client: C | None, kind: type[C], url: str | None, settings: Mapping[str, Any], name: str = "client") -> C:
    """The client of an adapter that has one: the given one, else one that is made of settings."""
    if client is None:
        return kind(url, **settings)
    alone(url, settings)
    return checked(client, kind, name)


def alone(url: str | None, settings: Mapping[str, Any]) -> None:
    """Refuses settings beside a client: they would be ignored, and the memory be that of the client's user."""
    if url is not None or settings:
        names = ", ".join([*(["url"] if url is not None else []), *settings])
        raise LociError("invalid", f"a client was given, and {names}, which would be ignored", recovery="Give the settings to the client.")


def checked(client: C, kind: type[C], name: str = "client") -> C:
    """Refuses what is no client of a kind: the first call would fail, and not say why. What stands in for one, as in tests, is taken."""
    given: object = client
    if isinstance(given, (Loci, AsyncLoci, str, bytes, Mapping, list, tuple)) and not isinstance(given, kind):
        article = "an" if kind is AsyncLoci else "a"
        raise LociError("invalid", f"{name} must be {article} {kind.__name__}, not {type(given).__name__}", recovery=f"Give {kind.__name__}(url).")
    return client


def both(client: Loci | None, async_client: AsyncLoci | None, url: str | None, settings: Mapping[str, Any]) -> tuple[Loci, AsyncLoci]:
    """The clients that are given. One that is not is made like the other: made of the environment, it would be about another memory."""
    if client is None and async_client is None:
        return Loci(url, **settings), AsyncLoci(url, **settings)
    alone(url, settings)
    if client is None:
        assert async_client is not None
        like = checked(async_client, AsyncLoci, "async_client")._transport
        client = object.__new__(Loci)
        client._use(Transport(like.url, like.options, _Missing("client") if like.own else None))
    if async_client is None:
        model = checked(client, Loci)._transport
        async_client = object.__new__(AsyncLoci)
        async_client._use(AsyncTransport(model.url, model.options, _Missing("async_client") if model.own else None))
    return checked(client, Loci), checked(async_client, AsyncLoci, "async_client")


class _Missing(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """In the place of what cannot be made of a transport of the other kind."""

    def __init__(self, name: str) -> None:
        self._name = name

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        raise LociError("invalid", f"the client has a transport of its own, which this call cannot use: give {self._name}, too")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self.handle_request(request)
