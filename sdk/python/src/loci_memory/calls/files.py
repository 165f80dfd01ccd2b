"""Requests about files, and about the agents of a graph, which have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from loci_memory.calls.call import JSON, Call, field, given, nothing, segment
from loci_memory.replies import (
    Agent,
    Agents,
    File,
    FileContent,
    FileCounts,
    FileMatches,
    FilePage,
    FileVersion,
    FileVersions,
    Injected,
    Replaced,
    Tool,
    ToolReply,
    Tools,
)


def page(tree: JSON, path: str, recursive: bool, limit: int | None, cursor: str | None) -> Call[FilePage]:
    return Call("GET", "/v1/files", FilePage, query={**tree, **given(path=path, recursive=recursive or None, limit=limit, cursor=cursor)})


def read(tree: JSON, path: str, version: int | None, first_line: int | None, last_line: int | None) -> Call[FileContent | None]:
    query = {**tree, **given(path=path, version=version, first_line=first_line, last_line=last_line)}
    return Call("GET", "/v1/files/content", FileContent, query=query, optional=True)


def write(tree: JSON, path: str, content: str, create: bool, if_version: int | None) -> Call[File]:
    body = {**tree, **given(path=path, content=content, create=create or None, if_version=if_version)}
    return Call("PUT", "/v1/files/content", File, body, once=True)


def append(tree: JSON, path: str, content: str) -> Call[File]:
    return Call("POST", "/v1/files/append", File, {**tree, "path": path, "content": content}, once=True)


def update(tree: JSON, path: str, old_content: str, content: str) -> Call[int]:
    body = {**tree, "path": path, "old_content": old_content, "content": content}
    return Call("POST", "/v1/files/update", Replaced, body, read=field("replaced"), once=True)


def move(tree: JSON, path: str, target_path: str) -> Call[None]:
    return Call("POST", "/v1/files/move", None, {**tree, "path": path, "target_path": target_path}, read=nothing, once=True)


def delete(tree: JSON, path: str) -> Call[FileCounts]:
    return Call("DELETE", "/v1/files", FileCounts, query={**tree, "path": path}, once=True)


def versions(tree: JSON, path: str) -> Call[list[FileVersion]]:
    return Call("GET", "/v1/files/versions", FileVersions, query={**tree, "path": path}, read=field("versions"))


def restore(tree: JSON, path: str, version: int) -> Call[File]:
    return Call("POST", "/v1/files/restore", File, {**tree, "path": path, "version": version}, once=True)


def search(
    tree: JSON,
    query: str,
    path: str | None,
    mode: str | None,
    limit: int | None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
) -> Call[FileMatches]:
    body = {**tree, **given(query=query, path=path, mode=mode, limit=limit, since=since, until=until)}
    return Call("POST", "/v1/files/search", FileMatches, body)


def inject(agent: str, messages: Sequence[Mapping[str, Any]]) -> Call[list[JSON]]:
    body = {"messages": [dict(message) for message in messages]}
    return Call("POST", f"/v1/connectors/{segment('agent', agent)}/inject", Injected, body, read=field("messages"))


def agents() -> Call[list[Agent]]:
    return Call("GET", "/v1/agents", Agents, read=field("agents"))


def agent_tools(agent: str) -> Call[list[Tool]]:
    return Call("GET", f"/v1/agents/{segment('agent', agent)}/tools", Tools, read=field("tools"))


def call_agent_tool(agent: str, name: str, arguments: Mapping[str, Any]) -> Call[ToolReply]:
    path = f"/v1/agents/{segment('agent', agent)}/tools/{segment('name', name)}"
    return Call("POST", path, ToolReply, dict(arguments), once=True)
