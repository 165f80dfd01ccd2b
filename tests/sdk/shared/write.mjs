// Writes a message of every type, as LangChain in JavaScript stores it.
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(import.meta.dirname, "../js/package.json"));
const { AIMessage, AIMessageChunk, ChatMessage, FunctionMessage, HumanMessage, mapChatMessagesToStoredMessages, RemoveMessage, SystemMessage, ToolMessage } = require("@langchain/core/messages");
const { version } = require("@langchain/core/package.json");

const usage_metadata = { input_tokens: 7, output_tokens: 5, total_tokens: 12, input_token_details: { cache_read: 3 }, output_token_details: { reasoning: 2 } };
const messages = [
  new SystemMessage("Be brief. <b>&</b> \u2028 end"),
  new HumanMessage({ content: [{ type: "text", text: "What is this? 😀" }, { type: "image_url", image_url: { url: "data:image/png;base64,AA==", detail: "low" } }], name: "ada", id: "h1" }),
  new AIMessage({
    content: [{ type: "reasoning", reasoning: "An image." }, { type: "text", text: "Let me look." }],
    id: "a1",
    tool_calls: [
      { name: "look", args: { at: "image", deep: { n: [1, 2.5, null, true] } }, id: "c1", type: "tool_call" },
      { name: "wait", args: {}, id: "c2", type: "tool_call" },
    ],
    invalid_tool_calls: [{ name: "bad", args: "{", id: "c3", error: "no JSON", type: "invalid_tool_call" }],
    usage_metadata,
    response_metadata: { model: "m", finish_reason: "tool_calls" },
    additional_kwargs: { refusal: null, audio: { id: "x" } },
  }),
  new ToolMessage({ content: "a cat", tool_call_id: "c1", name: "look", status: "success", artifact: { boxes: [[0, 0, 1, 1]] }, id: "t1" }),
  new ToolMessage({ content: [{ type: "text", text: "failed" }], tool_call_id: "c2", status: "error" }),
  new FunctionMessage({ content: "42", name: "old_function" }),
  new ChatMessage({ content: "From elsewhere", role: "critic" }),
  new AIMessageChunk({ content: "in parts", id: "k1", tool_call_chunks: [{ name: "f", args: '{"a":1}', id: "c4", index: 0, type: "tool_call_chunk" }] }),
  new AIMessage(""),
  new RemoveMessage({ id: "gone" }),
];
process.stdout.write(JSON.stringify({ from: `@langchain/core ${version}`, messages: mapChatMessagesToStoredMessages(messages) }, null, 1) + "\n");
