// Writes testdata/messages/javascript.json: messages as LangChain for JavaScript serialises them.
import { readFileSync, writeFileSync } from "node:fs";
import {
  AIMessage, AIMessageChunk, ChatMessage, FunctionMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage,
  mapChatMessagesToStoredMessages,
} from "@langchain/core/messages";

const messages = [
  new SystemMessage("Be brief."),
  new HumanMessage({ content: "Hello, <b>Ann</b> & co. \u2028 \u{1f600}", name: "ann", id: "m-1" }),
  new HumanMessage([{ type: "text", text: "Look:" }, { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }]),
  new AIMessage({
    content: "Let me see.",
    tool_calls: [{ name: "weather", args: { city: "Porto", days: [1, 2] }, id: "call_1", type: "tool_call" }],
    invalid_tool_calls: [{ name: "seat", args: "{'row': 12", id: "call_2", error: "no JSON", type: "invalid_tool_call" }],
    usage_metadata: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    response_metadata: { model: "m", logprobs: null },
  }),
  new ToolMessage({ content: "20 degrees", tool_call_id: "call_1", name: "weather", artifact: { rows: [[1, null]] } }),
  new ToolMessage({ content: "broken", tool_call_id: "call_2", status: "error" }),
  new FunctionMessage({ content: "old", name: "f" }),
  new ChatMessage("said", "critic"),
  new RemoveMessage({ id: "m-1" }),
  new AIMessageChunk({ content: "part" }),
];
const core = JSON.parse(readFileSync(new URL("node_modules/@langchain/core/package.json", import.meta.url)));
const stored = mapChatMessagesToStoredMessages(messages);
writeFileSync(process.argv[2], JSON.stringify({
  from: "@langchain/core " + core.version,
  messages: messages.map((m, i) => ({ stored: stored[i], constructor: JSON.parse(JSON.stringify(m)) })),
}, null, 1));
