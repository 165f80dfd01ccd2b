"""The client for asyncio. The one that waits, `loci_memory.sync`, is made from it by `generate.py`."""
