"""LangChain on Loci: `LociChatMessageHistory` keeps conversations, the tools let a model manage and search memories."""

from loci_memory.langchain.history import LociChatMessageHistory, from_stored, to_stored
from loci_memory.langchain.tools import create_manage_memory_tool, create_search_memory_tool

__all__ = ["LociChatMessageHistory", "create_manage_memory_tool", "create_search_memory_tool", "from_stored", "to_stored"]
