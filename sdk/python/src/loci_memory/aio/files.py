"""Files: trees of text, such as a model keeps with the tool `memory`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Literal

from loci_memory.calls import JSON, files
from loci_memory.calls.call import given, on
from loci_memory.replies import File, FileContent, FileCounts, FileMatches, FilePage, FileVersion
from loci_memory.transport import AsyncTransport


class AsyncFiles:
    """The files of a tree. Another one is `tree(memory, scope)`."""

    def __init__(self, transport: AsyncTransport, tree: JSON | None = None) -> None:
        self._transport = transport
        self._tree = tree or {}

    def tree(self, memory: str | None = None, *, scope: Literal["global", "perThread"] | None = None) -> AsyncFiles:
        """The files of another tree: one with a name, such as that of a memory node, and with perThread that of the client's thread."""
        return AsyncFiles(self._transport, given(memory=memory, scope=scope))

    async def page(self, path: str = "/", *, recursive: bool = False, limit: int | None = None, cursor: str | None = None) -> FilePage:
        """Reads a page of a directory; with `recursive` of all files of the tree. What is missing has no entries."""
        return await self._transport.run(files.page(self._tree, path, recursive, limit, cursor))

    async def all(self, path: str = "/", *, recursive: bool = False) -> AsyncIterator[File]:
        """Goes through a directory; with `recursive` through all files of the tree."""
        cursor: str | None = None
        while True:
            page = await self.page(path, recursive=recursive, limit=500, cursor=cursor)
            for file in page["files"]:
                yield file
            if not page.get("next_cursor"):
                return
            cursor = on(cursor, page["next_cursor"], "files")

    async def read(
        self, path: str, *, version: int | None = None, first_line: int | None = None, last_line: int | None = None
    ) -> FileContent | None:
        """Reads a file, some lines of it, or one of its versions; None: there is none."""
        return await self._transport.run(files.read(self._tree, path, version, first_line, last_line))

    async def write(
        self, path: str, content: str, *, create: bool = False, if_version: int | None = None, idempotency_key: str | None = None
    ) -> File:
        """Makes a file or replaces all of it. `create` refuses one that is there, `if_version` one of another version."""
        return await self._transport.run(files.write(self._tree, path, content, create, if_version), idempotency_key=idempotency_key)

    async def append(self, path: str, content: str, *, idempotency_key: str | None = None) -> File:
        """Adds a line of its own to a file, which is made if it is missing."""
        return await self._transport.run(files.append(self._tree, path, content), idempotency_key=idempotency_key)

    async def update(self, path: str, old_content: str, content: str, *, idempotency_key: str | None = None) -> int:
        """Replaces a text wherever it occurs in a file, and returns how often."""
        return await self._transport.run(files.update(self._tree, path, old_content, content), idempotency_key=idempotency_key)

    async def move(self, path: str, target_path: str, *, idempotency_key: str | None = None) -> None:
        """Moves a file or a directory to where there is nothing."""
        await self._transport.run(files.move(self._tree, path, target_path), idempotency_key=idempotency_key)

    async def delete(self, path: str, *, idempotency_key: str | None = None) -> FileCounts:
        """Erases a file, or a directory with all that is in it, earlier versions too."""
        return await self._transport.run(files.delete(self._tree, path), idempotency_key=idempotency_key)

    async def versions(self, path: str) -> list[FileVersion]:
        """The versions of a file that are kept: the current one first, then the newest first."""
        return await self._transport.run(files.versions(self._tree, path))

    async def restore(self, path: str, version: int, *, idempotency_key: str | None = None) -> File:
        """Gives a file the content of an earlier version again."""
        return await self._transport.run(files.restore(self._tree, path, version), idempotency_key=idempotency_key)

    async def search(
        self,
        query: str,
        *,
        path: str | None = None,
        mode: Literal["hybrid", "keyword", "semantic"] | None = None,
        limit: int | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
    ) -> FileMatches:
        """Finds passages by meaning and by words; with `path` only in that file or below that directory.

        `since` and `until` are times: only passages written at `since` or after, and before `until`.
        """
        return await self._transport.run(files.search(self._tree, query, path, mode, limit, since, until))
