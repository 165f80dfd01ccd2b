import { dynamicTool, jsonSchema, type JSONSchema7, type ModelMessage, type ToolSet } from "ai";
import type { LociClient } from "./client.js";
import { carried, carrying, recent, textOf, toolCallsOf } from "./conversation.js";
import { clientOf, optionsOf, sessionOf } from "./given.js";
import { remember, report, type OnError, type Remembered } from "./remember.js";
import type { Appended, StoredMessage } from "./sessions.js";
import { known, type CallOptions } from "./transport.js";

const key = "ai_sdk_message";

/** Options of {@link conversation}. */
export interface ConversationOptions {
  client: LociClient;
  /** The session; it is made by its first message. */
  sessionId: string;
  /** The newest messages that are loaded; default all. */
  limit?: number;
  /** Hears of failures; default: a warning on the console. */
  onError?: OnError;
}

/** A conversation of the AI SDK, kept in Loci. */
export interface Conversation {
  /** The messages so far, oldest first. `loaded` is false when the memory failed: the conversation then begins again. */
  load(o?: CallOptions): Promise<{ messages: ModelMessage[]; loaded: boolean }>;
  /** Appends messages; it never throws. */
  save(messages: ModelMessage[], o?: CallOptions): Promise<Remembered<Appended | undefined>>;
}

/**
 * Loads a conversation and saves its turns:
 *
 *     const talk = conversation({ client, sessionId: "s1" });
 *     const user = { role: "user", content: prompt } as const;
 *     const { messages } = await talk.load();
 *     const result = await generateText({ model, messages: [...messages, user] });
 *     await talk.save([user, ...result.responseMessages]);
 */
export function conversation(options: ConversationOptions): Conversation {
  const { client, sessionId, limit, onError } = optionsOf("conversation", "sessions", ["sessionId", "limit", "onError"], options);
  sessionOf(sessionId);
  return {
    async load(o) {
      try {
        return { messages: (await recent(client, sessionId, limit, o)).flatMap(modelMessageOf), loaded: true };
      } catch (error) {
        report(error, onError);
        return { messages: [], loaded: false };
      }
    },
    save(messages, o) {
      return remember(async () => (messages.length > 0 ? client.sessions.append(sessionId, messages.flatMap(storedOf), o) : undefined), onError);
    },
  };
}

/** Options of {@link memoryTools}. */
export interface MemoryToolsOptions {
  /** Only tools of these families; default all that the server offers. */
  families?: string[];
  /** Hears of failures that the model goes on without; default: a warning on the console. */
  onError?: OnError;
}

/**
 * The server's tools for `generateText` and `streamText`. What a tool refuses, and a
 * memory that cannot be reached, the model is told in the result.
 */
export async function memoryTools(client: LociClient, options: MemoryToolsOptions = {}, o?: CallOptions): Promise<ToolSet> {
  clientOf("memoryTools", "tools", client, "Give the client itself: memoryTools(new LociClient()).");
  known("memoryTools", ["families", "onError"], options, "See its documentation for what it takes.");
  const tools = (await client.tools.list(o)).filter((t) => options.families?.includes(t.family) ?? true);
  return Object.fromEntries(
    tools.map((t) => [
      t.name,
      dynamicTool({
        description: t.description,
        inputSchema: jsonSchema(t.input_schema as JSONSchema7),
        execute: async (input, { abortSignal }) => {
          try {
            const reply = await client.tools.call(t.name, input as Record<string, unknown>, abortSignal ? { signal: abortSignal } : {});
            return reply.text;
          } catch (error) {
            abortSignal?.throwIfAborted();
            report(error, options.onError);
            return "Error: the memory cannot be reached now. Go on without it.";
          }
        },
      }),
    ]),
  );
}

type Part = Record<string, unknown> & { type: string };

/** A message as the messages that carry it: results of tools are one each. */
function storedOf(message: ModelMessage): StoredMessage[] {
  const parts = Array.isArray(message.content) ? (message.content as unknown as Part[]) : [];
  const content = textOf(message.content);
  switch (message.role) {
    case "user":
      return [carrying("human", { content }, key, encode(message))];
    case "system":
      return [carrying("system", { content }, key, encode(message))];
    case "assistant": {
      const calls = parts.filter((p) => p.type === "tool-call" && !p.providerExecuted);
      const tool_calls = calls.map((p) => ({ name: p.toolName, args: p.input ?? {}, id: p.toolCallId, type: "tool_call" }));
      return [carrying("ai", { content, ...(calls.length > 0 ? { tool_calls: encode(tool_calls) } : {}) }, key, encode(message))];
    }
  }
  return parts.map((part) => {
    const original = encode({ ...message, content: [part] });
    if (part.type !== "tool-result") return carrying("generic", { role: "tool", content: "" }, key, original);
    const output = part.output as { type?: string; value?: unknown } | undefined;
    const text = typeof output?.value === "string" ? output.value : JSON.stringify(encode(output?.value ?? null));
    const status = output?.type?.startsWith("error") ? "error" : "success";
    return carrying("tool", { content: text, tool_call_id: part.toolCallId, name: part.toolName, status }, key, original);
  });
}

/** The messages of a stored one, also of one that another program wrote. */
function modelMessageOf(message: StoredMessage): ModelMessage[] {
  const original = carried<ModelMessage>(message, key);
  if (original !== undefined) return [decode(original) as ModelMessage];
  const content = textOf(message.data.content);
  switch (message.type) {
    case "human":
      return [{ role: "user", content }];
    case "system":
      return [{ role: "system", content }];
    case "ai": {
      const calls = toolCallsOf(message).map((call) => ({ type: "tool-call" as const, toolCallId: call.id ?? "", toolName: call.name, input: call.args }));
      if (calls.length === 0) return [{ role: "assistant", content }];
      return [{ role: "assistant", content: content ? [{ type: "text", text: content }, ...calls] : calls }];
    }
    case "tool": {
      const { tool_call_id: id, name, status } = message.data;
      const output = { type: status === "error" ? ("error-text" as const) : ("text" as const), value: content };
      return [{ role: "tool", content: [{ type: "tool-result", toolCallId: String(id ?? ""), toolName: String(name ?? ""), output }] }];
    }
  }
  return []; // a role that the SDK has no message for
}

const typeKey = "$loci"; // marks what JSON has no form for

/** A value in JSON: bytes and addresses keep their type. */
function encode(value: unknown): unknown {
  if (value instanceof URL) return { [typeKey]: "url", value: value.href };
  if (value instanceof ArrayBuffer) return { [typeKey]: "buffer", value: Buffer.from(value).toString("base64") };
  if (value instanceof Uint8Array) return { [typeKey]: "bytes", value: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64") };
  if (Array.isArray(value)) return value.map(encode);
  if (typeof value !== "object" || value === null) return value;
  if ("toJSON" in value && typeof value.toJSON === "function") return encode(value.toJSON());
  return Object.fromEntries(Object.entries(value).map(([name, v]) => [name, encode(v)]));
}

/** The inverse of {@link encode}. */
function decode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decode);
  if (typeof value !== "object" || value === null) return value;
  const { [typeKey]: type, value: text } = value as Record<string, unknown>;
  if (typeof text === "string") {
    if (type === "url") return new URL(text);
    if (type === "bytes") return new Uint8Array(Buffer.from(text, "base64"));
    if (type === "buffer") return new Uint8Array(Buffer.from(text, "base64")).buffer;
  }
  return Object.fromEntries(Object.entries(value).map(([name, v]) => [name, decode(v)]));
}
