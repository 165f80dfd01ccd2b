"""The history of a conversation for LangChain."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, convert_to_messages, message_to_dict, messages_from_dict
from pydantic_core import to_json

from loci_memory.aio.client import AsyncLoci
from loci_memory.both import both
from loci_memory.conversation import absent, arecent, recent
from loci_memory.errors import ConfigurationError, LociError
from loci_memory.remember import OnError, Remembered, aremember, remember, report
from loci_memory.replies import JSON, Appended, StoredMessage
from loci_memory.sync.client import Loci


class LociChatMessageHistory(BaseChatMessageHistory):
    """Keeps the messages of a session in Loci. Without a `session_id` it gets a UUID: a new conversation.

        RunnableWithMessageHistory(runnable, lambda session_id: LociChatMessageHistory(session_id))

    `limit` is how many of the newest messages are read (None: all); `url` and the other
    settings are those of `Loci`, clients of your own may be given in their place. The
    methods that begin with a are for asyncio.

    An agent goes on without its memory: what fails is told to `on_error` (by default a
    warning in the log), reads give no messages, and `last` says what became of the last
    messages added. With `strict` it is raised. `clear` always raises what fails.
    """

    def __init__(
        self,
        session_id: str | None = None,
        url: str | None = None,
        *,
        client: Loci | None = None,
        async_client: AsyncLoci | None = None,
        limit: int | None = None,
        strict: bool = False,
        on_error: OnError | None = None,
        **settings: Any,
    ) -> None:
        self.session_id = session_id or str(uuid.uuid4())
        self.client, self.async_client = both(client, async_client, url, settings)
        self.limit = limit
        self.strict = strict
        self.on_error = on_error
        self.last: Remembered[Appended] | None = None

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The messages, oldest first. A message that a later one removes is left out, and so is the one that removes it."""
        try:
            return from_stored(recent(self.client, self.session_id, self.limit))
        except LociError as err:
            return self._unread(err)

    async def aget_messages(self) -> list[BaseMessage]:
        try:
            return from_stored(await arecent(self.async_client, self.session_id, self.limit))
        except LociError as err:
            return self._unread(err)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Appends messages in their order, all or nothing."""
        if messages:
            self._told(remember(lambda: self.client.sessions.append(self.session_id, to_stored(messages)), self._listener()))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        async def append() -> Appended:
            return await self.async_client.sessions.append(self.session_id, to_stored(messages))

        if messages:
            self._told(await aremember(append(), self._listener()))

    def clear(self) -> None:
        """Erases the session."""
        try:
            self.client.sessions.clear(self.session_id)
        except LociError as err:
            absent(err)

    async def aclear(self) -> None:
        try:
            await self.async_client.sessions.clear(self.session_id)
        except LociError as err:
            absent(err)

    def _unread(self, err: LociError) -> list[BaseMessage]:
        if self.strict or isinstance(err, ConfigurationError):
            raise err
        report(err, self.on_error)
        return []

    def _listener(self) -> OnError | None:
        return (lambda _: None) if self.strict else self.on_error

    def _told(self, outcome: Remembered[Appended]) -> None:
        self.last = outcome
        if self.strict and outcome.error:
            raise outcome.error


def to_stored(messages: Sequence[Any]) -> list[JSON]:
    """Messages in their stored form, as `sessions.append` takes them; also of what LangChain makes messages of, such as texts.

    What JSON cannot say, such as an object in an artifact, is stored as JSON says it best:
    models as objects, bytes in base64, NaN and anything else as a text.
    """
    return [_plain(message_to_dict(message)) for message in convert_to_messages(messages)]


def _plain(stored: JSON) -> JSON:
    try:
        plain: JSON = json.loads(to_json(stored, serialize_unknown=True, bytes_mode="base64", inf_nan_mode="strings"))
    except ValueError as err:  # what contains itself
        raise LociError("invalid", f"a message cannot be written as JSON: {err}") from err
    return plain


def from_stored(messages: Sequence[StoredMessage]) -> list[BaseMessage]:
    """Messages of stored ones, of any program that writes LangChain's form."""
    return [_message(message["type"], message["data"]) for message in messages]


def _message(type: str, data: JSON) -> BaseMessage:
    if type == "generic":  # as LangChain in JavaScript names it
        type = "chat"
    try:
        return messages_from_dict([{"type": type, "data": data}])[0]
    except (KeyError, TypeError, ValueError) as err:
        raise LociError("unsupported", f"a message of the type {type} is none that LangChain can read", recovery="Another program wrote it.") from err
