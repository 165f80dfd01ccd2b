import type { LociClient } from "./client.js";
import { LociError } from "./errors.js";
import type { HistoryMessage, StoredMessage } from "./sessions.js";
import type { CallOptions } from "./transport.js";

/**
 * The messages of a session, oldest first, at most so many of the newest. What a
 * later message of the type "remove" names is left out, and so are these. A session
 * that is not there has no history.
 */
export async function recent(client: LociClient, session: string, limit = Infinity, o?: CallOptions): Promise<HistoryMessage[]> {
  const out: HistoryMessage[] = [];
  if (limit <= 0) return out;
  const removed = new Set<unknown>();
  try {
    // Newest first: what removes comes before what it removes.
    for await (const message of client.sessions.messages(session, { order: "desc", limit: Math.min(limit + 10, 500) }, o)) {
      const { id } = message.data;
      if (message.type === "remove") removed.add(id);
      else if (id === undefined || id === null || !removed.has(id)) out.push(message);
      if (out.length >= limit) break;
    }
  } catch (error) {
    if (!LociError.is(error) || error.code !== "not_found") throw error;
  }
  return out.reverse();
}

/** Where a framework's own form of a message is kept, in additional_kwargs. */
export type Verbatim = "openai_agents_item" | "ai_sdk_message";

/**
 * A message in LangChain's form that also carries a framework's own, so that the
 * framework reads back exactly what it wrote and every other program understands it.
 */
export function carrying(type: string, data: Record<string, unknown>, key: Verbatim, original: unknown): StoredMessage {
  return { type, data: { id: crypto.randomUUID(), ...data, additional_kwargs: { [key]: original } } };
}

/** What {@link carrying} put there; undefined: another program wrote the message. */
export function carried<T>(message: StoredMessage, key: Verbatim): T | undefined {
  const kwargs = message.data.additional_kwargs;
  return typeof kwargs === "object" && kwargs !== null ? ((kwargs as Record<string, unknown>)[key] as T | undefined) : undefined;
}

/** The text of a content: a string, or the texts among its blocks. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((block: unknown) => {
      if (typeof block === "string") return block;
      const text = typeof block === "object" && block !== null ? ((block as Record<string, unknown>).text ?? (block as Record<string, unknown>).refusal) : undefined;
      return typeof text === "string" ? text : "";
    })
    .filter((text) => text !== "")
    .join("\n");
}

/** Arguments of a tool call, which models give as JSON; what is none stays a text. */
export function argumentsOf(given: unknown): Record<string, unknown> {
  let value = given;
  if (typeof given === "string") {
    try {
      value = JSON.parse(given);
    } catch {
      return { arguments: given };
    }
  }
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : { arguments: value };
}

/** A tool call as LangChain stores it. */
export interface StoredToolCall {
  name: string;
  args: Record<string, unknown>;
  id?: string;
}

export function toolCallsOf(message: StoredMessage): StoredToolCall[] {
  const calls = message.data.tool_calls;
  return Array.isArray(calls) ? (calls as unknown[]).filter((call): call is StoredToolCall => typeof call === "object" && call !== null && "name" in call) : [];
}
