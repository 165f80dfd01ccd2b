"""A chat model that answers what a function of the messages says: a text, or calls of tools."""

from collections.abc import Callable
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class ScriptedModel(BaseChatModel):
    reply: Callable[[list], Any]
    calls: int = 0

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        said = self.reply(messages)
        if isinstance(said, str):
            usage = {"input_tokens": len(messages), "output_tokens": 1, "total_tokens": len(messages) + 1}
            message = AIMessage(said, usage_metadata=usage)
        else:
            self.calls += 1
            calls = [{"type": "tool_call", "id": f"call-{self.calls}", "name": name, "args": args} for name, args in said]
            message = AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])
