# Made by generate.py from loci_memory/aio: change that and run it again.
"""Conversations: messages in order, under the id of a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from loci_memory.calls import sessions
from loci_memory.calls.call import on
from loci_memory.replies import (
    Appended,
    Cleared,
    History,
    Imported,
    Message,
    Popped,
    Reminders,
    Session,
    SessionDocument,
    SessionHits,
    SessionPage,
    Summarised,
    Trimmed,
)
from loci_memory.transport import Transport


class Sessions:
    """Conversations: messages in order, under the id of a session."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        id: str | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
        max_messages: int | None = None,
        timeout_seconds: int | None = None,
        idempotency_key: str | None = None,
    ) -> Session:
        """Makes a session without messages; without an id it gets a UUID.

        `max_messages` is how many of the newest messages are kept, and system messages always;
        inactive for more than `timeout_seconds`, it is expired.
        """
        return self._transport.run(sessions.create(id, metadata, max_messages, timeout_seconds), idempotency_key=idempotency_key)

    def page(self, *, include_expired: bool = False, limit: int | None = None, cursor: str | None = None) -> SessionPage:
        """Reads a page of the sessions, the latest activity first; only active ones unless asked."""
        return self._transport.run(sessions.page(include_expired, limit, cursor))

    def all(self, *, include_expired: bool = False) -> Iterator[Session]:
        """Goes through the sessions, the latest activity first; only active ones unless asked."""
        cursor: str | None = None
        while True:
            page = self.page(include_expired=include_expired, limit=500, cursor=cursor)
            for session in page["sessions"]:
                yield session
            if not page.get("next_cursor"):
                return
            cursor = on(cursor, page["next_cursor"], "sessions")

    def get(self, id: str) -> Session:
        """Reads a session, also an expired one."""
        return self._transport.run(sessions.get(id))

    def update(
        self,
        id: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        max_messages: int | None = None,
        timeout_seconds: int | None = None,
        idempotency_key: str | None = None,
    ) -> Session:
        """Changes a session; what is None stays."""
        return self._transport.run(sessions.update(id, metadata, max_messages, timeout_seconds), idempotency_key=idempotency_key)

    def clear(self, id: str, *, idempotency_key: str | None = None) -> Cleared:
        """Erases a session with its messages."""
        return self._transport.run(sessions.clear(id), idempotency_key=idempotency_key)

    def clear_all(self, *, idempotency_key: str | None = None) -> Cleared:
        """Erases every session of the caller."""
        return self._transport.run(sessions.clear_all(), idempotency_key=idempotency_key)

    def append(self, id: str, messages: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> Appended:
        """Appends messages in their order, all or nothing, and makes the session if there is none.

        Messages have LangChain's stored form, that of its serialised constructor, or OpenAI's
        chat form. More than 1000 are several appends, each of them whole.
        """
        done = [self._transport.run(call, idempotency_key=key) for call, key in sessions.appends(id, messages, idempotency_key)]
        return sessions.together(done)

    def history(
        self,
        id: str,
        *,
        after: int | None = None,
        before: int | None = None,
        last: int | None = None,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        format: Literal["langchain", "openai"] | None = None,
    ) -> History:
        """Reads a page of messages, also of an expired session, oldest first: those between two numbers, or the `last` so many."""
        query = {"after": after, "before": before, "last": last, "limit": limit, "order": order, "format": format}
        return self._transport.run(sessions.history(id, query))

    def messages(
        self, id: str, *, after: int | None = None, before: int | None = None, order: Literal["asc", "desc"] = "asc", page: int = 500
    ) -> Iterator[Message]:
        """Goes through the messages of a session, `page` of them a request."""
        while True:
            found = self.history(id, after=after, before=before, limit=page, order=order)
            for message in found["messages"]:
                yield message
            if "next" not in found:
                return
            if order == "desc":
                before = on(before, found["next"], "messages")
            else:
                after = on(after, found["next"], "messages")

    def export(self, id: str) -> SessionDocument:
        """Returns a session with all of its messages as one document."""
        return self._transport.run(sessions.export(id))

    def import_document(
        self,
        document: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        id: str | None = None,
        mode: Literal["new", "append", "replace"] | None = None,
        idempotency_key: str | None = None,
    ) -> Imported:
        """Restores a document, or stores a list of messages in the form of LangChain or OpenAI; whole or not at all.

        More than 5000 messages, or 3 MiB of them, are several imports, each of them whole. `mode` says
        what becomes of a session that is there (default new: a conflict).
        """
        calls = sessions.imports(document, id, mode, idempotency_key)
        return sessions.imported([self._transport.run(call, idempotency_key=key) for call, key in calls])

    def trim(self, id: str, max_messages: int, *, idempotency_key: str | None = None) -> Trimmed:
        """Erases all but the newest messages; system messages stay, and no result of a tool without its call."""
        return self._transport.run(sessions.trim(id, max_messages), idempotency_key=idempotency_key)

    def pop(self, id: str, *, idempotency_key: str | None = None) -> Popped:
        """Takes the newest message away and returns it, in one change, so that several callers at once each get a different one."""
        return self._transport.run(sessions.pop(id), idempotency_key=idempotency_key)

    def search(
        self,
        query: str,
        *,
        id: str | None = None,
        mode: Literal["hybrid", "keyword", "semantic"] | None = None,
        limit: int | None = None,
        offset: int | None = None,
        min_score: float | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
    ) -> SessionHits:
        """Finds messages by meaning and by words, in all sessions or in one. `limit` is 1 to 1000, default 10.

        What has a score below `min_score`, 0 to 1, is left out; default 0. `since` and `until` are times such as
        2026-01-31T08:00:00Z: only messages at `since` or after, and before `until`.
        """
        return self._transport.run(sessions.search(query, id, mode, limit, offset, min_score, since, until))

    def summarise(self, id: str, context_tokens: int, *, idempotency_key: str | None = None, **options: Any) -> Summarised:
        """Summarises older messages if the conversation fills the room a model has, `context_tokens`, far enough. The messages stay.

        `options` may have threshold, target, messages and summary_tokens.
        """
        return self._transport.run(sessions.summarise(id, context_tokens, options), idempotency_key=idempotency_key)

    def retrieve(
        self, id: str, query: str, *, token_budget: int | None = None, recent: int | None = None, min_score: float | None = None
    ) -> Reminders:
        """Makes a text of the notes, and of the messages the model does not see any more, that matter for a new message.

        What has a score below `min_score`, 0 to 1, is left out; default 0.05.
        """
        return self._transport.run(sessions.retrieve(id, query, token_budget, recent, min_score))
