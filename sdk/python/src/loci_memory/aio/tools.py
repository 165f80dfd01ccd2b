"""The server's tools for models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loci_memory.calls import memories
from loci_memory.replies import Tool, ToolReply
from loci_memory.transport import AsyncTransport


class AsyncTools:
    """The server's tools for models."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def all(self) -> list[Tool]:
        """Lists the tools."""
        return await self._transport.run(memories.list_tools())

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None, *, idempotency_key: str | None = None) -> ToolReply:
        """Calls a tool as a model does. What it refuses is a reply with is_error; only what no model could mend is raised."""
        return await self._transport.run(memories.call_tool(name, arguments or {}), idempotency_key=idempotency_key)
