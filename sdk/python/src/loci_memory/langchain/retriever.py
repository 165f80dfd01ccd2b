"""A retriever of memories for LangChain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from pydantic import ConfigDict, Field, PrivateAttr

from loci_memory.aio.client import AsyncLoci
from loci_memory.both import both
from loci_memory.replies import FoundMemory
from loci_memory.sync.client import Loci

_IDENTITY = "loci_configurable"


class LociRetriever(BaseRetriever):
    """Finds memories of every kind by meaning and by words.

        retriever = LociRetriever(k=4)
        documents = retriever.invoke("what does Ada drink?", {"configurable": {"user_id": "ada"}})

    `k` is how many documents come, 1 to 1000; `search` has other fields of the request, such as
    types, tags and filter. `url` and the other settings are those of `Loci`, in `settings`;
    clients of your own may be given in their place. Whose memory it is, each call says, as
    with the memory tools. What fails is raised.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    k: int = Field(default=4, ge=1, le=1000)
    search: dict[str, Any] = Field(default_factory=dict)
    url: Optional[str] = None
    settings: dict[str, Any] = Field(default_factory=dict, repr=False, exclude=True)
    client: Optional[Loci] = Field(default=None, exclude=True)
    async_client: Optional[AsyncLoci] = Field(default=None, exclude=True)
    _waits: Loci = PrivateAttr()
    _awaits: AsyncLoci = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._waits, self._awaits = both(self.client, self.async_client, self.url, self.settings)

    def invoke(self, input: str, config: Optional[RunnableConfig] = None, **kwargs: Any) -> list[Document]:
        return super().invoke(input, config, **{_IDENTITY: _configurable(config)}, **kwargs)

    async def ainvoke(self, input: str, config: Optional[RunnableConfig] = None, **kwargs: Any) -> list[Document]:
        return await super().ainvoke(input, config, **{_IDENTITY: _configurable(config)}, **kwargs)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **given: Any) -> list[Document]:
        client = self._waits.for_call(given.pop(_IDENTITY, {}))
        return [_document(match) for match in client.search(query, **self._fields(given))["matches"]]

    async def _aget_relevant_documents(self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any) -> list[Document]:
        client = self._awaits.for_call(given.pop(_IDENTITY, {}))
        return [_document(match) for match in (await client.search(query, **self._fields(given)))["matches"]]

    def _fields(self, given: dict[str, Any]) -> dict[str, Any]:
        return {**self.search, "limit": given.pop("k", self.k), **given}


def _configurable(config: RunnableConfig | None) -> Mapping[str, Any]:
    return ensure_config(config).get("configurable") or {}


def _document(match: FoundMemory) -> Document:
    said: Mapping[str, Any] | None = match.get("fact") or match.get("rule") or match.get("episode")
    record: Mapping[str, Any] = said or match.get("message") or match.get("session") or match.get("file") or match.get("thread") or {}
    content = None if "session" in match else record.get("content")  # of a session it is its summary
    metadata: dict[str, Any] = {"type": match["type"], "score": match["score"]}
    if item := match.get("item"):
        metadata |= {"namespace": item["namespace"], "key": item["key"], "value": item["value"]}
    for name in ("subject", "predicate", "key", "details", "tags", "metadata", "created_at"):
        if record.get(name):
            metadata[name] = record[name]
    return Document(page_content=content if isinstance(content, str) else match["passage"], id=match["id"], metadata=metadata)
