"""Writes testdata/messages/python.json: messages as LangChain for Python serialises them."""

import json
import sys
from importlib.metadata import version

from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
    message_to_dict,
)

MESSAGES = [
    SystemMessage("Be brief.", additional_kwargs={"__openai_role__": "developer"}),
    HumanMessage("Hello, <b>Ann</b> & co. \u2028 \U0001f600", name="ann", id="m-1"),
    HumanMessage([{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, "and"]),
    AIMessage(
        "Let me see.",
        tool_calls=[{"name": "weather", "args": {"city": "Porto", "days": [1, 2], "big": 12345678901234567890}, "id": "call_1"}],
        invalid_tool_calls=[{"name": "seat", "args": "{'row': 12", "id": "call_2", "error": "no JSON"}],
        usage_metadata={"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
        response_metadata={"model": "m", "logprobs": None},
        additional_kwargs={"refusal": None},
    ),
    ToolMessage("20 degrees", tool_call_id="call_1", name="weather", artifact={"rows": [[1, None]]}),
    ToolMessage("broken", tool_call_id="call_2", status="error"),
    FunctionMessage("old", name="f"),
    ChatMessage("said", role="critic"),
    RemoveMessage(id="m-1"),
    AIMessageChunk("part"),
    HumanMessageChunk("part"),
]

OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Look:"}], "name": "ann"},
    {"role": "assistant", "content": "", "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Porto"}'}}]},
    {"role": "tool", "content": "20 degrees", "tool_call_id": "call_1"},
]


def openai(message):
    try:
        return convert_to_openai_messages(message)
    except Exception:  # noqa: BLE001 what LangChain has no form for
        return None


json.dump(
    {
        "from": "langchain-core " + version("langchain-core"),
        "messages": [{"stored": message_to_dict(m), "constructor": dumpd(m), "openai": openai(m)} for m in MESSAGES],
        "openai": [{"openai": m, "stored": message_to_dict(convert_to_messages([m])[0])} for m in OPENAI],
    },
    open(sys.argv[1], "w", encoding="utf-8"),
    ensure_ascii=False,
    indent=1,
)
