"""The first generation of the official Python SDK."""

import asyncio

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client

from story import ARGS, COMMAND, finish, story


class Session:
    def __init__(self, session):
        self.session = session

    async def names(self):
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def call(self, name, args):
        result = await self.session.call_tool(name, args)
        return "".join(part.text for part in result.content), result.structuredContent, result.isError


async def main():
    server = StdioServerParameters(command=COMMAND, args=ARGS)
    async with stdio_client(server) as one, stdio_client(server) as two:
        async with ClientSession(*one) as first, ClientSession(*two) as second:
            assert (await first.initialize()).protocolVersion == "2025-11-25"
            await second.initialize()
            await story(Session(first), Session(second), McpError)


asyncio.run(main())
finish()
