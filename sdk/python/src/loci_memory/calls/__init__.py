"""The requests of the REST API, each as a value: the same for the client that waits and the one that does not."""

from loci_memory.calls.call import JSON, Call

__all__ = ["JSON", "Call"]
