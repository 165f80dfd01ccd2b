"""Another process: for each session that standard input names, five pops at once; what they took goes to standard output."""

import asyncio
import json
import os
import sys

from loci_memory.openai_agents import LociSession


async def main():
    sessions = {}
    loop = asyncio.get_running_loop()
    while id := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        sessions = [LociSession(id, os.environ["LOCI_URL"], user=os.environ["LOCI_TEST_USER"], retries=10) for _ in range(5)]
        took = await asyncio.gather(*(session.pop_item() for session in sessions))
        print(json.dumps([item and item["content"] for item in took]), flush=True)


asyncio.run(main())
