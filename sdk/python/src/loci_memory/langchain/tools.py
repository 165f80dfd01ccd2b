"""Tools by which a model manages and searches memories, with the names, arguments and replies of LangMem's."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Optional

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool, ToolException
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic_core import to_jsonable_python

from loci_memory.aio.client import AsyncLoci
from loci_memory.both import both
from loci_memory.calls import Call, items, memories
from loci_memory.errors import ConfigurationError, LociError
from loci_memory.identity import variable
from loci_memory.remember import OnError, report
from loci_memory.replies import JSON, Item
from loci_memory.sync.client import Loci

ACTIONS = ("create", "update", "delete")
INSTRUCTIONS = (
    "Call this tool whenever the user states a preference or a decision, asks you to remember or to forget something, "
    "or a stored memory turns out to be wrong. Never store passwords, keys or other secrets."
)

_MENDABLE = ("invalid", "not_found", "too_large")  # errors that are about what the model asked for
_REFUSED = ("unauthenticated", "forbidden")  # errors that are about whom the program asks for


def create_manage_memory_tool(
    namespace: Sequence[str] | str | None = None,
    *,
    instructions: str = INSTRUCTIONS,
    schema: Any = None,
    actions_permitted: Sequence[str] = ACTIONS,
    name: str = "manage_memory",
    client: Loci | None = None,
    async_client: AsyncLoci | None = None,
    url: str | None = None,
    on_error: OnError | None = None,
    **settings: Any,
) -> StructuredTool:
    """Makes a tool to create, update and delete memories.

    Whose memory it is, each call says: `user_id`, `org_id`, `agent_id` and `thread_id` of its
    `configurable` take the place of the client's own, which needs a server that allows the
    choice (scope delegate). Without a `namespace` the tool calls the server's own of the family
    facts. With one, such as ("memories", "{langgraph_user_id}"), it keeps items there, in the
    memory of the call's user; a label in braces is taken from `configurable`. `schema` is the
    type of a memory's content (default: a text or an object). `url` and the other settings are
    those of `Loci`.

    A model is told what it did wrong, and to go on when the memory fails, which is told to
    `on_error`. What the program did wrong is raised: a variable that is missing
    (`ConfigurationError`), an identity that the server refuses (`LociError`).
    """
    actions = tuple(actions_permitted)
    if not actions:
        raise ValueError("actions_permitted cannot be empty")
    if unknown := set(actions) - set(ACTIONS):
        raise ValueError(f"actions_permitted has {sorted(unknown)}; it may have {ACTIONS}")
    preset = "create" if "create" in actions else actions[0]
    place = _Place(namespace, client, async_client, url, settings, on_error)

    def steps(labels: list[str] | None, content: Any, action: str, metadata: JSON | None, id: uuid.UUID | None) -> _Steps:
        _check(action, id)
        plain = to_jsonable_python(content)
        if labels is not None:
            return _manage_item(labels, plain, action, metadata, id)
        given = {"content": plain, "action": action, "metadata": metadata, "id": str(id) if id else None}
        call = memories.call_tool("manage_memory", {k: v for k, v in given.items() if v is not None})
        return _Steps([call], lambda replies: _text(replies[0]), of_tool=True)

    def manage(config: RunnableConfig, content: Any = None, action: str = preset, metadata: Optional[JSON] = None, id: Optional[uuid.UUID] = None) -> str:
        return str(place.run(steps, config, content, action, metadata, id))

    async def amanage(
        config: RunnableConfig, content: Any = None, action: str = preset, metadata: Optional[JSON] = None, id: Optional[uuid.UUID] = None
    ) -> str:
        return str(await place.arun(steps, config, content, action, metadata, id))

    what: Any = str | dict[str, Any] if schema is None else schema
    arguments = _arguments(
        name,
        content=(Annotated[Optional[what], Field(description="What to remember: one self-contained statement, or a JSON object")], None),
        action=(Literal[actions], preset),
        id=(Annotated[Optional[uuid.UUID], Field(description="Of the memory to update or delete")], None),
        metadata=(Annotated[Optional[dict[str, Any]], Field(description='Labels for filters, such as {"category":"preference"}')], None),
    )
    verbs = " or ".join(actions) if len(actions) < 3 else "create, update, or delete"
    description = (
        f"{verbs.capitalize()} a memory to persist across conversations.\n\n"
        f"Omit id when you create a memory; to update or delete one, pass its id from a search or an earlier reply.\n\n{instructions}"
    )
    tool = _tool(manage, amanage, name, description, arguments, "content")
    tool.handle_validation_error = lambda err: _wrong(err, actions)
    return tool


def create_search_memory_tool(
    namespace: Sequence[str] | str | None = None,
    *,
    instructions: str = "",
    response_format: Literal["content", "content_and_artifact"] = "content",
    name: str = "search_memory",
    client: Loci | None = None,
    async_client: AsyncLoci | None = None,
    url: str | None = None,
    on_error: OnError | None = None,
    **settings: Any,
) -> StructuredTool:
    """Makes a tool to search memories; the settings are those of `create_manage_memory_tool`.

    It replies a JSON list of namespace, key, value, created_at, updated_at and score; with
    content_and_artifact the message's artifact has the same as objects.
    """
    place = _Place(namespace, client, async_client, url, settings, on_error)

    def steps(labels: list[str] | None, query: str, limit: int, offset: int, filter: JSON | None) -> _Steps:
        if labels is not None:
            call = items.search(labels, query, filter, limit, offset, None)
            return _Steps([call], lambda replies: [_shown(item) for item in replies[0]])
        given = {"query": query, "limit": limit, "offset": offset, **({"filter": filter} if filter else {})}
        return _Steps([memories.call_tool("search_memory", given)], lambda replies: _list(_text(replies[0])), of_tool=True)

    def reply(found: Any) -> Any:
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        return text if response_format == "content" else (text, found)

    def search(query: str, config: RunnableConfig, limit: int = 10, offset: int = 0, filter: Optional[JSON] = None) -> Any:
        return reply(place.run(steps, config, query, limit, offset, filter))

    async def asearch(query: str, config: RunnableConfig, limit: int = 10, offset: int = 0, filter: Optional[JSON] = None) -> Any:
        return reply(await place.arun(steps, config, query, limit, offset, filter))

    arguments = _arguments(
        name,
        query=(Annotated[str, Field(description="What to look for, in plain words")], ...),
        limit=(Annotated[int, Field(ge=1, le=100)], 10),
        offset=(Annotated[int, Field(ge=0)], 0),
        filter=(Annotated[Optional[dict[str, Any]], Field(description='Conditions on memories, such as {"category":"preference"}')], None),
    )
    description = f"Search your long-term memories for information relevant to the current context.\n\n{instructions}".strip()
    return _tool(search, asearch, name, description, arguments, response_format)


def _arguments(name: str, **fields: Any) -> type[BaseModel]:
    """A model of these fields, each a type and its default, and of no others."""
    model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
    return model


def _tool(
    waits: Callable[..., Any], awaits: Callable[..., Any], name: str, description: str, arguments: type[BaseModel], response_format: Any
) -> StructuredTool:
    tool = StructuredTool.from_function(
        waits, awaits, name=name, description=description, args_schema=arguments, infer_schema=False, response_format=response_format
    )
    tool.handle_tool_error = True  # what the model can mend, it is told
    tool.handle_validation_error = _wrong
    return tool


def _wrong(err: Any, actions: tuple[str, ...] = ()) -> str:
    """What a model is told of arguments that do not fit the schema."""
    parts = []
    for part in err.errors():
        where = ".".join(str(step) for step in part["loc"])
        parts.append(_invalid_action(part["input"], actions) if where == "action" else f"{where}: {part['msg']}")
    return "Error: " + "; ".join(parts)


def _invalid_action(action: Any, actions: tuple[str, ...]) -> str:
    return f"Invalid action {action}. Must be one of {actions}."


@dataclass(frozen=True)
class _Steps:
    """Requests in their order, and what is made of their replies. A reply that is None ends them.

    `of_tool`: they call a tool of the server, whose refusals are replies, not errors.
    """

    calls: Sequence[Call[Any]]
    read: Callable[[list[Any]], Any]
    of_tool: bool = False


class _Place:
    """Where a tool's memories are, and how it gets there."""

    def __init__(
        self,
        namespace: Sequence[str] | str | None,
        client: Loci | None,
        async_client: AsyncLoci | None,
        url: str | None,
        settings: JSON,
        on_error: OnError | None,
    ) -> None:
        self._template = (namespace,) if isinstance(namespace, str) else namespace
        self._client, self._async_client = both(client, async_client, url, settings)
        self._on_error = on_error

    def resolve(self, config: RunnableConfig) -> list[str] | None:
        """Fills the labels in braces. What is missing is a mistake of the program, not of the model."""
        if self._template is None:
            return None
        given = config.get("configurable") or {}
        variables = (re.fullmatch(r"\{(\w+)\}", label) for label in self._template)
        labels = [variable(given, name[1]) if name else label for label, name in zip(self._template, variables, strict=True)]
        if not labels or labels[0] == "langgraph" or any(not label or "." in label for label in labels):
            raise LociError(
                "invalid",
                f"{labels} is no namespace: labels must not be empty nor have a period, and the first must not be langgraph",
                recovery="Take ids without a period for its variables.",
            )
        return labels

    def run(self, steps: Callable[..., _Steps], config: RunnableConfig, *given: Any) -> Any:
        client = self._client.for_call(config.get("configurable") or {})
        plan = steps(self.resolve(config), *given)
        try:
            replies = []
            for call in plan.calls:
                replies.append(client.run(call))
                if replies[-1] is None:
                    break
            return plan.read(replies)
        except LociError as err:
            raise self._told(err, plan) from err

    async def arun(self, steps: Callable[..., _Steps], config: RunnableConfig, *given: Any) -> Any:
        client = self._async_client.for_call(config.get("configurable") or {})
        plan = steps(self.resolve(config), *given)
        try:
            replies = []
            for call in plan.calls:
                replies.append(await client.run(call))
                if replies[-1] is None:
                    break
            return plan.read(replies)
        except LociError as err:
            raise self._told(err, plan) from err

    def _told(self, err: LociError, plan: _Steps) -> Exception:
        """What the model is told: a memory that fails must not end its turn. What the program did wrong does."""
        if isinstance(err, ConfigurationError) or err.code in _REFUSED:
            return err
        if err.code in _MENDABLE:
            return err if plan.of_tool and err.code != "too_large" else ToolException(f"Error: {err.message}")
        report(err, self._on_error)
        return ToolException("Error: the memory cannot be reached now. Go on without it.")


def _check(action: str, id: uuid.UUID | None) -> None:
    if action == "create" and id:
        raise ToolException("Error: You cannot provide a MEMORY ID when creating a MEMORY. Please try again, omitting the id argument.")
    if action != "create" and not id:
        raise ToolException("Error: You must provide a MEMORY ID when deleting or updating a MEMORY.")


def _text(reply: JSON) -> str:
    if not reply["is_error"]:
        return str(reply["text"])
    error = reply.get("structured") or {}
    if error.get("code") in _REFUSED:
        raise LociError(error["code"], str(error.get("error") or reply["text"]), recovery=str(error.get("recovery") or ""))
    raise ToolException(f"Error: {reply['text']}")


def _list(text: str) -> list[Any]:
    """The memories that the server's tool found."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise LociError("unsupported", "search_memory of the server answered no list", recovery="See which version the server is.")
    return found


def _manage_item(labels: list[str], content: Any, action: str, metadata: JSON | None, id: uuid.UUID | None) -> _Steps:
    key = str(id or uuid.uuid4())
    if action != "delete" and content in (None, ""):
        raise ToolException("Error: content must not be empty")
    change = items.delete(labels, key) if action == "delete" else items.put(labels, key, {**(metadata or {}), "content": content}, None, None)
    if action == "create":
        return _Steps([change], lambda _: f"created memory {key}")

    def read(replies: list[Any]) -> str:
        if replies[0] is None:
            raise ToolException(f"Error: There is no memory with the id {key}.")
        return f"Deleted memory {key}" if action == "delete" else f"updated memory {key}"

    return _Steps([items.get(labels, key, None), change], read)


def _shown(item: Item) -> JSON:
    return {**{field: item[field] for field in ("namespace", "key", "value", "created_at", "updated_at")}, "score": item.get("score")}
