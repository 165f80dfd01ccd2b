"""A plugin of pytest for LangGraph's own test files of stores: the stores that they make are `LociStore`."""

import os
import sys
import types
import uuid
from contextlib import asynccontextmanager, contextmanager
from unittest.mock import MagicMock

import langgraph.store.memory

from loci_memory.langgraph import LociStore


class Store(LociStore):
    def __init__(self, *, index=None, **_):
        super().__init__(os.environ["LOCI_URL"], user="store-" + uuid.uuid4().hex, index=index)

    def setup(self):
        pass

    async def asetup(self):
        pass

    @classmethod
    @contextmanager
    def from_conn_string(cls, _, *, index=None, **__):
        yield cls(index=index)


class AsyncStore(Store):
    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, _, *, index=None, **__):
        yield cls(index=index)

    async def setup(self):
        pass


langgraph.store.memory.InMemoryStore = Store
for name in ("langgraph.store.sqlite", "langgraph.store.sqlite.base", "langgraph.store.sqlite.aio"):
    module = types.ModuleType(name)
    module.SqliteStore, module.AsyncSqliteStore, module.BaseSqliteStore = Store, AsyncStore, MagicMock
    module.__getattr__ = lambda name: MagicMock(name=name)
    sys.modules[name] = module
