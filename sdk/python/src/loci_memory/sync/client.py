# Made by generate.py from loci_memory/aio: change that and run it again.
"""The client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

import httpx

from loci_memory.sync.agents import Agents, Connectors
from loci_memory.sync.checkpoints import Checkpoints
from loci_memory.sync.files import Files
from loci_memory.sync.items import Items
from loci_memory.sync.memories import Memories
from loci_memory.sync.notes import Notes
from loci_memory.sync.sessions import Sessions
from loci_memory.sync.tools import Tools
from loci_memory.calls import Call, memories
from loci_memory.calls.call import on
from loci_memory.identity import identity_of
from loci_memory.replies import Context, Event, EventPage, Found, Info, Recalled
from loci_memory.transport import Transport, first_options

T = TypeVar("T")


class Loci:
    """A client of a Loci server. Several threads may share one. Each call raises a `LociError` when it fails.

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
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        options = first_options(api_key, url, headers).changed(
            user=user, org=org, agent=agent, butler=butler, thread=thread, session=session, tenant=tenant,
            timeout=timeout, retries=retries, headers=headers,
        )  # fmt: skip
        self._use(Transport(url, options, transport))

    def _use(self, transport: Transport) -> None:
        self._transport = transport
        self.sessions = Sessions(transport)
        self.items = Items(transport)
        self.memories = Memories(transport)
        self.notes = Notes(transport)
        self.tools = Tools(transport)
        self.checkpoints = Checkpoints(transport)
        self.files = Files(transport)
        self.connectors = Connectors(transport)
        self.agents = Agents(transport)

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
    ) -> Loci:
        """A client with other options and the same connections: closing either closes both. What is None stays."""
        options = self._transport.options.changed(
            user=user, org=org, agent=agent, butler=butler, thread=thread, session=session, tenant=tenant,
            timeout=timeout, retries=retries, headers=headers,
        )  # fmt: skip
        out = object.__new__(Loci)
        out._use(self._transport.having(options))
        return out

    def for_call(self, configurable: Mapping[str, Any]) -> Loci:
        """A client of the identity that `configurable` of LangChain names, with the same connections.

        `user_id`, `org_id`, `agent_id` and `thread_id` replace the client's own. A narrower name that they
        leave out is dropped: naming a user drops the client's thread. One that is empty is a `ConfigurationError`.
        """
        out = object.__new__(Loci)
        out._use(self._transport.having(self._transport.options.acting(identity_of(configurable))))
        return out

    def run(self, call: Call[T], *, idempotency_key: str | None = None) -> T:
        """Sends a request of `loci_memory.calls`. The same key makes a repeated write get the first reply, for 24 hours."""
        return self._transport.run(call, idempotency_key=idempotency_key)

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def __enter__(self) -> Loci:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def info(self) -> Info:
        """Says what the server is."""
        return self.run(memories.info())

    def search(self, query: str | None = None, **fields: Any) -> Found:
        """Finds memories of every kind by meaning and by words; without a query the newest.

        `fields` are those of the request: mode, types, scopes, tags, filter, min_confidence, min_score, rerank, since,
        until, limit, offset.
        Messages and files are found when `types` names them: message, file.
        """
        return self.run(memories.search(query, fields))

    def recall(self, topic: str, **fields: Any) -> Recalled:
        """Recalls the facts and rules that matter for a topic.

        `fields` are those of the request: mode, types, scopes, min_confidence, min_score, since, until, filter, limit, touch.
        """
        return self.run(memories.recall(topic, fields))

    def context(
        self, prompt: str, *, agent: str | None = None, token_budget: int | None = None, min_score: float | None = None
    ) -> Context:
        """Makes a block of memories for the system prompt of an agent, of at most `token_budget` tokens (default 3000).

        What fits less than `min_score`, 0 to 1, is left out; default 0.
        """
        return self.run(memories.context(prompt, agent, token_budget, min_score))

    def events(self, **query: Any) -> EventPage:
        """Reads a page of the audit log, newest first: who did what to which memory and when.

        `query` may have limit, cursor, type (a list), entity, since and until.
        """
        return self.run(memories.events(query))

    def all_events(self, **query: Any) -> Iterator[Event]:
        """Goes through the audit log, newest first, page by page."""
        while True:
            page = self.events(**query)
            for event in page["events"]:
                yield event
            if not page.get("next_cursor"):
                return
            query["cursor"] = on(query.get("cursor"), page["next_cursor"], "events")
