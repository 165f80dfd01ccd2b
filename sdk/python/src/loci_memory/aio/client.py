"""The client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

import httpx

from loci_memory.aio.agents import AsyncAgents, AsyncConnectors
from loci_memory.aio.checkpoints import AsyncCheckpoints
from loci_memory.aio.files import AsyncFiles
from loci_memory.aio.items import AsyncItems
from loci_memory.aio.memories import AsyncMemories
from loci_memory.aio.notes import AsyncNotes
from loci_memory.aio.sessions import AsyncSessions
from loci_memory.aio.tools import AsyncTools
from loci_memory.calls import Call, memories
from loci_memory.calls.call import on
from loci_memory.identity import identity_of
from loci_memory.replies import Context, Event, EventPage, Found, Info, Recalled
from loci_memory.transport import AsyncTransport, first_options

T = TypeVar("T")


class AsyncLoci:
    """A client of a Loci server, for asyncio. Each call raises a `LociError` when it fails.

    `url` is where `loci serve` listens (default: the environment variable LOCI_URL, else
    http://127.0.0.1:7437), `api_key` is sent as a bearer token (default: LOCI_API_KEY, else
    the token that `loci serve` on this machine keeps in a file). `user`, `org`, `agent` and `butler` say whose memory is meant and need a server
    whose scopes include delegate; `tenant` needs admin and elevate; `thread` and `session`
    choose among the caller's own. `timeout` is in seconds, of one attempt.

    When the server cannot be reached, answers too late or is busy, a call is tried again, up
    to `retries` times (0 to 10), after a moment. Calls that write carry an idempotency key,
    so that nothing is stored twice.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        user: str | None = None,
        org: str | None = None,
        agent: str | None = None,
        butler: str | None = None,
        thread: str | None = None,
        session: str | None = None,
        tenant: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        options = first_options(api_key, url, headers).changed(
            user=user, org=org, agent=agent, butler=butler, thread=thread, session=session, tenant=tenant,
            timeout=timeout, retries=retries, headers=headers,
        )  # fmt: skip
        self._use(AsyncTransport(url, options, transport))

    def _use(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self.sessions = AsyncSessions(transport)
        self.items = AsyncItems(transport)
        self.memories = AsyncMemories(transport)
        self.notes = AsyncNotes(transport)
        self.tools = AsyncTools(transport)
        self.checkpoints = AsyncCheckpoints(transport)
        self.files = AsyncFiles(transport)
        self.connectors = AsyncConnectors(transport)
        self.agents = AsyncAgents(transport)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._transport.url!r})"

    def with_options(
        self,
        *,
        user: str | None = None,
        org: str | None = None,
        agent: str | None = None,
        butler: str | None = None,
        thread: str | None = None,
        session: str | None = None,
        tenant: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncLoci:
        """A client with other options and the same connections: closing either closes both. What is None stays."""
        options = self._transport.options.changed(
            user=user, org=org, agent=agent, butler=butler, thread=thread, session=session, tenant=tenant,
            timeout=timeout, retries=retries, headers=headers,
        )  # fmt: skip
        out = object.__new__(AsyncLoci)
        out._use(self._transport.having(options))
        return out

    def for_call(self, configurable: Mapping[str, Any]) -> AsyncLoci:
        """A client of the identity that `configurable` of LangChain names, with the same connections.

        `user_id`, `org_id`, `agent_id` and `thread_id` replace the client's own. A narrower name that they
        leave out is dropped: naming a user drops the client's thread. One that is empty is a `ConfigurationError`.
        """
        out = object.__new__(AsyncLoci)
        out._use(self._transport.having(self._transport.options.acting(identity_of(configurable))))
        return out

    async def run(self, call: Call[T], *, idempotency_key: str | None = None) -> T:
        """Sends a request of `loci_memory.calls`. The same key makes a repeated write get the first reply, for 24 hours."""
        return await self._transport.run(call, idempotency_key=idempotency_key)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    async def __aenter__(self) -> AsyncLoci:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def info(self) -> Info:
        """Says what the server is."""
        return await self.run(memories.info())

    async def search(self, query: str | None = None, **fields: Any) -> Found:
        """Finds memories of every kind by meaning and by words; without a query the newest.

        `fields` are those of the request: mode, types, scopes, tags, filter, min_confidence, min_score, rerank, since,
        until, limit, offset.
        Messages and files are found when `types` names them: message, file.
        """
        return await self.run(memories.search(query, fields))

    async def recall(self, topic: str, **fields: Any) -> Recalled:
        """Recalls the facts and rules that matter for a topic.

        `fields` are those of the request: mode, types, scopes, min_confidence, min_score, since, until, filter, limit, touch.
        """
        return await self.run(memories.recall(topic, fields))

    async def context(
        self, prompt: str, *, agent: str | None = None, token_budget: int | None = None, min_score: float | None = None
    ) -> Context:
        """Makes a block of memories for the system prompt of an agent, of at most `token_budget` tokens (default 3000).

        What fits less than `min_score`, 0 to 1, is left out; default 0.
        """
        return await self.run(memories.context(prompt, agent, token_budget, min_score))

    async def events(self, **query: Any) -> EventPage:
        """Reads a page of the audit log, newest first: who did what to which memory and when.

        `query` may have limit, cursor, type (a list), entity, since and until.
        """
        return await self.run(memories.events(query))

    async def all_events(self, **query: Any) -> AsyncIterator[Event]:
        """Goes through the audit log, newest first, page by page."""
        while True:
            page = await self.events(**query)
            for event in page["events"]:
                yield event
            if not page.get("next_cursor"):
                return
            query["cursor"] = on(query.get("cursor"), page["next_cursor"], "events")
