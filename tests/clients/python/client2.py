"""The second generation of the official Python SDK: mode auto speaks revision
2026-07-28, mode legacy shakes hands as the older revisions do."""

import asyncio
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult

from story import ARGS, COMMAND, FILES, finish, story, story_of_questions


class Session:
    def __init__(self, client):
        self.client = client

    async def names(self):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, name, args):
        result = await self.client.call_tool(name, args)
        return "".join(part.text for part in result.content), result.structured_content, result.is_error


async def main():
    mode = sys.argv[1]
    server = StdioServerParameters(command=COMMAND, args=ARGS)
    async with Client(stdio_client(server), mode=mode) as first, Client(stdio_client(server), mode=mode) as second:
        want = "2026-07-28" if mode == "auto" else "2025-11-25"
        assert first.protocol_version == want, first.protocol_version
        await story(Session(first), Session(second), MCPError)

    answers = {"action": "decline", "asked": []}

    async def answer(_, params):
        answers["asked"].append(params.message)
        return ElicitResult(action=answers["action"])

    files = StdioServerParameters(command=COMMAND, args=FILES)
    async with Client(stdio_client(files), mode=mode, elicitation_callback=answer) as client:
        await story_of_questions(Session(client), answers)


asyncio.run(main())
finish()
