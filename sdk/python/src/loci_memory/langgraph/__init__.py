"""LangGraph on Loci: `LociSaver` keeps checkpoints, `LociStore` keeps items."""

from loci_memory.langgraph.saver import LociSaver
from loci_memory.langgraph.store import LociStore

__all__ = ["LociSaver", "LociStore"]
