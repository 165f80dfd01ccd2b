"""What every client does with two servers on one store.

A session has names() and call(name, args), which returns (text, structured, is_error).
"""

import json
import os
import re
import sys
import traceback
from datetime import datetime, timedelta, timezone

COMMAND = os.environ["LOCI"]
ARGS = ["mcp", "--store", os.environ["STORE"], "--user", "alice", "--tools", "facts,notes"]
FILES = [*ARGS[:-1], "files"]

failures = 0


async def check(name, run):
    global failures
    try:
        await run()
        print("ok " + name)
    except Exception:
        failures += 1
        print("FAIL " + name + ": " + traceback.format_exc())


def refused(result, code, message):
    text, structured, is_error = result
    assert is_error and text == message, result
    assert structured["error"] == message and structured["code"] == code and structured["recovery"], result


async def story(first, second, protocol_error):
    seen = {}

    async def lists():
        assert await first.names() == ["manage_memory", "search_memory", "memory_search", "memory_save", "memory_update", "memory_delete"]

    async def saves_fact():
        text, structured, _ = await first.call("manage_memory", {"content": "The zebra deployment is on Tuesday.", "metadata": {"category": "plan"}})
        seen["fact"] = structured["id"]
        assert text == "created memory " + seen["fact"], text

    async def other_finds_fact():
        text, _, _ = await second.call("search_memory", {"query": "zebra", "filter": {"category": "plan"}})
        assert [hit["key"] for hit in json.loads(text)] == [seen["fact"]], text

    async def other_updates_fact():
        text, _, _ = await second.call("manage_memory", {"action": "update", "id": seen["fact"], "content": "The zebra deployment is on Friday."})
        assert text == "updated memory " + seen["fact"], text
        text, _, _ = await first.call("search_memory", {"query": "zebra"})
        assert json.loads(text)[0]["value"]["content"] == "The zebra deployment is on Friday.", text

    async def deletes_fact():
        text, _, _ = await first.call("manage_memory", {"action": "delete", "id": seen["fact"]})
        assert text == "Deleted memory " + seen["fact"], text
        assert (await second.call("search_memory", {"query": "zebra"}))[0] == "[]"

    async def refuses_fact():
        refused(await first.call("manage_memory", {"action": "update", "content": "x"}), "invalid", "You must provide a MEMORY ID when deleting or updating a MEMORY.")
        refused(await first.call("manage_memory", {"action": "delete", "id": seen["fact"]}), "not_found", f'no memory with id "{seen["fact"]}"')

    async def saves_note():
        text, structured, _ = await first.call("memory_save", {"content": "User likes chocolates.", "tags": ["food"]})
        seen["note"] = structured["note_id"]
        assert re.fullmatch(r"note-[0-9a-f-]{36}", seen["note"])
        assert json.loads(text) == structured

    async def other_finds_note():
        text, structured, _ = await second.call("memory_search", {"query": "chocolates", "top_k": 3, "tags": ["food"]})
        created = [datetime.strptime(hit.pop("created_at"), "%Y-%m-%dT%H:%M:%S.%f%z") for hit in structured["results"]]
        assert json.loads(text) == structured["results"]
        assert [hit["note_id"] for hit in structured["results"]] == [seen["note"]], text
        assert abs(datetime.now(timezone.utc) - created[0]) < timedelta(minutes=10), created

    async def updates_and_deletes_note():
        await second.call("memory_update", {"note_id": seen["note"], "content": "User is allergic to chocolates."})
        text, _, _ = await first.call("memory_search", {"query": "chocolates"})
        assert json.loads(text)[0]["text"] == "User is allergic to chocolates.", text
        await first.call("memory_delete", {"note_id": seen["note"]})
        assert (await second.call("memory_search", {"query": "chocolates"}))[0] == "[]"

    async def refuses_notes():
        refused(await first.call("memory_delete", {"note_id": seen["note"]}), "not_found", "note `" + seen["note"] + "` not found")
        refused(await first.call("memory_save", {"content": " "}), "invalid", "content must not be empty")
        _, structured, is_error = await first.call("memory_search", {"query": "x", "top_k": 99})
        assert is_error and structured["code"] == "invalid", structured

    async def refuses_unknown_tool():
        try:
            await first.call("nosuch", {})
        except protocol_error as error:
            assert error.error.code == -32602 and "unknown tool" in error.error.message, error
            return
        raise AssertionError("no error")

    await check("lists the tools in order", lists)
    await check("saves a fact", saves_fact)
    await check("another process finds the fact at once", other_finds_fact)
    await check("another process updates the fact", other_updates_fact)
    await check("deletes the fact", deletes_fact)
    await check("a refused fact is an error result", refuses_fact)
    await check("saves a note", saves_note)
    await check("another process finds the note at once", other_finds_note)
    await check("updates and deletes the note", updates_and_deletes_note)
    await check("refused notes are error results that fit the output schema", refuses_notes)
    await check("an unknown tool is a protocol error", refuses_unknown_tool)


async def story_of_questions(session, answers):
    """A person is asked before a directory goes: answers has what they say, and is told what they were asked."""

    async def asks():
        for name in ("a", "b"):
            await session.call("memory", {"command": "append", "path": "/d/" + name, "content": "text"})
        delete = {"command": "delete", "path": "/d"}
        text, structured, is_error = await session.call("memory", delete)
        assert is_error and structured["error"]["message"] == "the user declined: nothing was deleted", text
        answers["action"] = "accept"
        text, structured, is_error = await session.call("memory", delete)
        assert not is_error and structured["result"] == {"files": 2, "dirs": 1}, text
        assert len(answers["asked"]) == 2 and "the directory /d with 2 files" in answers["asked"][0], answers

    await check("a person is asked before a directory is deleted", asks)


def finish():
    sys.exit(1 if failures else 0)
