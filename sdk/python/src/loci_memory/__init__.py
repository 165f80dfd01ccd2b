"""Client of Loci, the memory of AI agents. `loci_memory.langgraph` has the saver and the store for LangGraph."""

from loci_memory.client import AsyncLoci, Loci
from loci_memory.errors import LociError

__all__ = ["AsyncLoci", "Loci", "LociError"]
