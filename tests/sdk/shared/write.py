"""Writes a message of every type, as LangChain in Python stores it."""

import json
import sys
from importlib.metadata import version

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)

USAGE = {
    "input_tokens": 7,
    "output_tokens": 5,
    "total_tokens": 12,
    "input_token_details": {"cache_read": 3},
    "output_token_details": {"reasoning": 2},
}
MESSAGES = [
    SystemMessage("Be brief. <b>&</b> \u2028 end"),
    HumanMessage(
        [
            {"type": "text", "text": "What is this? 😀"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}},
        ],
        name="ada",
        id="h1",
    ),
    AIMessage(
        [{"type": "reasoning", "reasoning": "An image."}, {"type": "text", "text": "Let me look."}],
        id="a1",
        tool_calls=[
            {"name": "look", "args": {"at": "image", "deep": {"n": [1, 2.5, None, True]}}, "id": "c1", "type": "tool_call"},
            {"name": "wait", "args": {}, "id": "c2", "type": "tool_call"},
        ],
        invalid_tool_calls=[{"name": "bad", "args": "{", "id": "c3", "error": "no JSON", "type": "invalid_tool_call"}],
        usage_metadata=USAGE,
        response_metadata={"model": "m", "finish_reason": "tool_calls"},
        additional_kwargs={"refusal": None, "audio": {"id": "x"}},
    ),
    ToolMessage("a cat", tool_call_id="c1", name="look", status="success", artifact={"boxes": [[0, 0, 1, 1]]}, id="t1"),
    ToolMessage([{"type": "text", "text": "failed"}], tool_call_id="c2", status="error"),
    FunctionMessage("42", name="old_function"),
    ChatMessage("From elsewhere", role="critic"),
    AIMessageChunk(
        "in parts",
        id="k1",
        tool_call_chunks=[{"name": "f", "args": '{"a":1}', "id": "c4", "index": 0, "type": "tool_call_chunk"}],
    ),
    AIMessage(""),
    RemoveMessage("gone"),
]
json.dump({"from": f"langchain-core {version('langchain-core')}", "messages": messages_to_dict(MESSAGES)}, sys.stdout, indent=1)
print()
