"""The agents of the server's graph: their tools, and their memory in a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loci_memory.calls import JSON, files
from loci_memory.replies import Agent, Tool, ToolReply
from loci_memory.transport import AsyncTransport


class AsyncAgents:
    """The agents of the server's graph and their tools."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def all(self) -> list[Agent]:
        """Lists the agents."""
        return await self._transport.run(files.agents())

    async def tools(self, agent: str) -> list[Tool]:
        """Lists the tools of an agent."""
        return await self._transport.run(files.agent_tools(agent))

    async def call(
        self, agent: str, name: str, arguments: Mapping[str, Any] | None = None, *, idempotency_key: str | None = None
    ) -> ToolReply:
        """Calls a tool of an agent as a model does. What it refuses is a reply with is_error."""
        return await self._transport.run(files.call_agent_tool(agent, name, arguments or {}), idempotency_key=idempotency_key)


class AsyncConnectors:
    """The connectors of the agents of the server's graph."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def inject(self, agent: str, messages: Sequence[Mapping[str, Any]]) -> list[JSON]:
        """The messages with one more that tells of the agent's memory, where there is something to tell.

        Messages have the form of OpenAI's chat or LangChain's stored form, and so has the new one.
        """
        return await self._transport.run(files.inject(agent, messages))
