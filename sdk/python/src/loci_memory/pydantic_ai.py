"""Conversations and tools for Pydantic AI."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import FunctionToolset

from loci_memory.aio.client import AsyncLoci
from loci_memory.both import checked, one
from loci_memory.conversation import absent, arecent, arguments_of, carried, carrying, text_of
from loci_memory.errors import ConfigurationError, LociError
from loci_memory.remember import OnError, Remembered, aremember, report
from loci_memory.replies import Appended, StoredMessage

KEY = "pydantic_ai_message"  # under which a message carries one of Pydantic AI


class LociHistory:
    """Keeps the conversations of an agent:

        history = LociHistory("s1")
        result = await agent.run("Hello", message_history=await history.load())
        await history.save(result.new_messages())

    Each message is stored as it is and, beside that, as one that other programs read. Without a
    `session_id` it gets a UUID; `limit` is how many of the newest messages are read. An agent
    goes on without its memory: what fails is told to `on_error` (by default a warning in the
    log); with `strict` it is raised. `url` and the other settings are those of `AsyncLoci`.
    """

    def __init__(
        self,
        session_id: str | None = None,
        url: str | None = None,
        *,
        client: AsyncLoci | None = None,
        limit: int | None = None,
        strict: bool = False,
        on_error: OnError | None = None,
        **settings: Any,
    ) -> None:
        self.session_id = session_id or str(uuid.uuid4())
        self.client = one(client, AsyncLoci, url, settings)
        self.limit = limit
        self.strict = strict
        self.on_error = on_error

    async def load(self) -> list[ModelMessage]:
        """The messages, oldest first."""
        try:
            return [one for message in await arecent(self.client, self.session_id, self.limit) for one in _read(message)]
        except LociError as err:
            if self.strict or isinstance(err, ConfigurationError):
                raise
            report(err, self.on_error)
            return []

    async def save(self, messages: Sequence[ModelMessage]) -> Remembered[Appended] | None:
        """Appends messages, all or nothing, and says what became of them; None: there are none."""
        if not messages:
            return None
        stored = [_stored(message) for message in messages]

        async def append() -> Appended:
            return await self.client.sessions.append(self.session_id, stored)

        outcome = await aremember(append(), (lambda _: None) if self.strict else self.on_error)
        if self.strict and outcome.error:
            raise outcome.error
        return outcome

    async def clear(self) -> None:
        """Erases the session."""
        try:
            await self.client.sessions.clear(self.session_id)
        except LociError as err:
            absent(err)


async def memory_toolset(client: AsyncLoci, *, families: Sequence[str] | None = None, on_error: OnError | None = None) -> FunctionToolset[Any]:
    """The server's tools, of some families or of all, for an agent: `Agent(model, toolsets=[await memory_toolset(client)])`.

    What a tool refuses, and that the memory cannot be reached, the model is told.
    """
    checked(client, AsyncLoci)
    offered = [tool for tool in await client.tools.all() if families is None or tool["family"] in families]

    def calling(name: str) -> Any:
        async def call(**arguments: Any) -> str:
            try:
                return (await client.tools.call(name, arguments))["text"]
            except LociError as err:
                if isinstance(err, ConfigurationError) or err.code in ("forbidden", "unauthenticated"):
                    raise
                report(err, on_error)
                return "Error: the memory cannot be reached now. Go on without it."

        return call

    return FunctionToolset([Tool.from_schema(calling(tool["name"]), tool["name"], tool["description"], tool["input_schema"]) for tool in offered])


def _stored(message: ModelMessage) -> StoredMessage:
    [original] = ModelMessagesTypeAdapter.dump_python([message], mode="json")
    said = " ".join(part.content for part in message.parts if isinstance(getattr(part, "content", None), str) and part.part_kind in ("text", "user-prompt"))
    if isinstance(message, ModelResponse):
        calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
        made = [{"name": call.tool_name, "args": arguments_of(call.args), "id": call.tool_call_id, "type": "tool_call"} for call in calls]
        return carrying("ai", {"content": said, **({"tool_calls": made} if made else {})}, KEY, original)
    results = [part for part in message.parts if part.part_kind == "tool-return"]
    if len(results) == 1 and len(message.parts) == 1:
        return carrying("tool", {"content": str(results[0].content), "tool_call_id": results[0].tool_call_id}, KEY, original)
    return carrying("human", {"content": said}, KEY, original)


def _read(message: StoredMessage) -> list[ModelMessage]:
    """The messages of a stored one, also of one that another program wrote."""
    original = carried(message, KEY)
    text = text_of(message["data"].get("content"))
    if original is not None:
        try:
            return list(ModelMessagesTypeAdapter.validate_python([original]))
        except ValueError as err:
            raise LociError("unsupported", "a message is none that Pydantic AI can read", recovery="See which version wrote it.") from err
    if message["type"] == "human":
        return [ModelRequest(parts=[UserPromptPart(text)])]
    if message["type"] == "ai" and text:
        return [ModelResponse(parts=[TextPart(text)])]
    return []
