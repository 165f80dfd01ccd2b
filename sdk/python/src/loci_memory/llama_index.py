"""LlamaIndex on Loci: a chat store, and a retriever of memories."""

from __future__ import annotations

from typing import Any, Optional

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.llms import ChatMessage
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.storage.chat_store.base import BaseChatStore

from loci_memory.aio.client import AsyncLoci
from loci_memory.both import both, one
from loci_memory.conversation import absent, carried, carrying, recent, text_of
from loci_memory.errors import LociError
from loci_memory.replies import Found, Message, StoredMessage
from loci_memory.sync.client import Loci

KEY = "llama_index_message"  # under which a message carries one of LlamaIndex
_TYPES = {"user": "human", "assistant": "ai", "chatbot": "ai", "model": "ai", "system": "system", "developer": "system"}
_ROLES = {"human": "user", "ai": "assistant", "system": "system"}


class LociChatStore(BaseChatStore):
    """Keeps the messages of each key as a session of that id.

        Memory.from_defaults(…), ChatMemoryBuffer.from_defaults(chat_store=LociChatStore(), chat_store_key="ada")

    Each message is stored as it is and, beside that, as one that other programs read. `url` and
    the other settings, in `settings`, are those of `Loci`; a client of your own may be given in
    their place. What fails is raised.
    """

    url: Optional[str] = None
    settings: dict[str, Any] = Field(default_factory=dict, exclude=True, repr=False)
    _client: Loci = PrivateAttr()

    def __init__(self, url: str | None = None, *, client: Loci | None = None, **settings: Any) -> None:
        super().__init__(url=url, settings=settings)
        self._client = one(client, Loci, url, settings)

    @classmethod
    def class_name(cls) -> str:
        return "LociChatStore"

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Replaces all messages of a key, in one change."""
        if messages:
            self._client.sessions.import_document([_stored(message) for message in messages], id=key, mode="replace")
        else:
            self.delete_messages(key)

    def get_messages(self, key: str) -> list[ChatMessage]:
        return [_read(message) for message in recent(self._client, key)]

    def add_message(self, key: str, message: ChatMessage) -> None:
        self._client.sessions.append(key, [_stored(message)])

    def delete_messages(self, key: str) -> Optional[list[ChatMessage]]:
        """Erases the messages of a key, and returns them; None: there is no such key."""
        found = self.get_messages(key)
        try:
            self._client.sessions.clear(key)
        except LociError as err:
            absent(err)
            return None
        return found

    def delete_message(self, key: str, idx: int) -> Optional[ChatMessage]:
        """Takes a message away, by its place; None: there is none there."""
        found = recent(self._client, key)
        if not -len(found) <= idx < len(found):
            return None
        if idx in (-1, len(found) - 1):
            return self.delete_last_message(key)
        gone = found.pop(idx)
        self.set_messages(key, [_read(message) for message in found])
        return _read(gone)

    def delete_last_message(self, key: str) -> Optional[ChatMessage]:
        """Takes the newest message away; several callers at once each get a different one."""
        try:
            taken = self._client.sessions.pop(key)["message"]
        except LociError as err:
            absent(err)
            return None
        return _read(taken) if taken else None

    def get_keys(self) -> list[str]:
        return [session["id"] for session in self._client.sessions.all(include_expired=True)]


class LociRetriever(BaseRetriever):
    """Finds memories of every kind by meaning and by words; `fields` are those of `Loci.search`."""

    def __init__(
        self,
        url: str | None = None,
        *,
        similarity_top_k: int = 4,
        client: Loci | None = None,
        async_client: AsyncLoci | None = None,
        fields: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        self._client, self._async_client = both(client, async_client, url, settings)
        self._fields = {**(fields or {}), "limit": similarity_top_k}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(self._client.search(query_bundle.query_str, **self._fields))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(await self._async_client.search(query_bundle.query_str, **self._fields))


def _nodes(found: Found) -> list[NodeWithScore]:
    return [NodeWithScore(node=TextNode(id_=m["id"], text=m["passage"], metadata={"type": m["type"]}), score=m["score"]) for m in found["matches"]]


def _stored(message: ChatMessage) -> StoredMessage:
    role = str(getattr(message.role, "value", message.role))
    type = _TYPES.get(role, "generic")
    data = {"content": message.content or "", **({"role": role} if type == "generic" else {})}
    return carrying(type, data, KEY, message.model_dump(mode="json"))


def _read(message: Message) -> ChatMessage:
    original = carried(message, KEY)
    if original is None:
        role = _ROLES.get(message["type"]) or str(message["data"].get("role") or "tool")
        return ChatMessage(role=role if role in _TYPES or role == "tool" else "user", content=text_of(message["data"].get("content")))
    try:
        return ChatMessage.model_validate(original)
    except ValueError as err:
        raise LociError("unsupported", "a message is none that LlamaIndex can read", recovery="See which version wrote it.") from err
