"""Client of Loci, the memory of AI agents.

`loci_memory.langgraph` has a saver and a store for LangGraph, `loci_memory.langchain` a
history and tools, `loci_memory.openai_agents` a session for the OpenAI Agents SDK.
"""

from loci_memory.aio.client import AsyncLoci
from loci_memory.errors import ConfigurationError, LociError
from loci_memory.remember import Remembered, aremember, remember
from loci_memory.sync.client import Loci

__all__ = ["AsyncLoci", "ConfigurationError", "Loci", "LociError", "Remembered", "aremember", "remember"]
