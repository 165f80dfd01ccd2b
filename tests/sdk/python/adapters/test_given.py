"""What adapters are given: a client of the wrong kind, and settings beside one, are refused where they are given."""

import asyncio

import pytest

from loci_memory import AsyncLoci, Loci, LociError
from loci_memory.google_adk import LociMemoryService
from loci_memory.llama_index import LociChatStore, LociRetriever
from loci_memory.pydantic_ai import LociHistory, memory_toolset

URL = "http://127.0.0.1:1"


def test_settings_beside_a_client_are_refused():
    for make in (
        lambda: LociMemoryService(client=AsyncLoci(URL), user="ada"),
        lambda: LociMemoryService(URL, client=AsyncLoci(URL)),
        lambda: LociHistory("trip", client=AsyncLoci(URL), user="ada"),
        lambda: LociChatStore(client=Loci(URL), user="ada"),
        lambda: LociChatStore(URL, client=Loci(URL)),
        lambda: LociRetriever(client=Loci(URL), user="ada"),
    ):
        with pytest.raises(LociError, match=r"a client was given, and (user|url), which would be ignored"):
            make()


def test_a_client_of_the_wrong_kind_is_refused():
    for make in (
        lambda: LociMemoryService(client=Loci(URL)),
        lambda: LociHistory("trip", client=Loci(URL)),
        lambda: LociChatStore(client=AsyncLoci(URL)),
        lambda: LociRetriever(client=AsyncLoci(URL)),
        lambda: asyncio.run(memory_toolset(Loci(URL))),
    ):
        with pytest.raises(LociError, match=r"client must be an? (Async)?Loci, not"):
            make()
