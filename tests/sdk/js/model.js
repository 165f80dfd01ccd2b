import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";

/** A chat model that answers what `reply(messages)` says: a text, or an array of tool calls. It keeps what it was shown. */
export class ScriptedModel extends BaseChatModel {
  constructor(reply) {
    super({});
    this.reply = reply;
    this.shown = [];
    this.calls = 0;
  }
  _llmType() {
    return "scripted";
  }
  bindTools() {
    return this;
  }
  async _generate(messages) {
    this.shown.push(messages);
    const said = this.reply(messages);
    const message =
      typeof said === "string"
        ? new AIMessage({ content: said, usage_metadata: { input_tokens: messages.length, output_tokens: 1, total_tokens: messages.length + 1 } })
        : new AIMessage({ content: "", tool_calls: said.map((call) => ({ type: "tool_call", id: `call-${++this.calls}`, ...call })) });
    return { generations: [{ text: message.text, message }] };
  }
}
