"""LangChain on Loci: a history of conversations, tools for models, a retriever of memories, key-value stores."""

from loci_memory.langchain.history import LociChatMessageHistory, from_stored, to_stored
from loci_memory.langchain.retriever import LociRetriever
from loci_memory.langchain.stores import LociByteStore, LociKeyValueStore
from loci_memory.langchain.tools import create_manage_memory_tool, create_search_memory_tool

__all__ = [
    "LociByteStore",
    "LociChatMessageHistory",
    "LociKeyValueStore",
    "LociRetriever",
    "create_manage_memory_tool",
    "create_search_memory_tool",
    "from_stored",
    "to_stored",
]
