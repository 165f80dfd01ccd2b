import type { AgentInputItem, Session } from "@openai/agents-core";
import type { LociClient } from "./client.js";
import { argumentsOf, carried, carrying, recent, textOf, toolCallsOf } from "./conversation.js";
import { LociError } from "./errors.js";
import { optionsOf, sessionOf } from "./given.js";
import { remember, report, type OnError, type Remembered } from "./remember.js";
import type { Appended, StoredMessage } from "./sessions.js";

const key = "openai_agents_item";

/** Options of a {@link LociSession}. */
export interface LociSessionOptions {
  client: LociClient;
  /** Default: a new UUID. The session is made by its first item. */
  sessionId?: string;
  /** Throw what fails. Default: a run goes on without its memory, and the failure is reported. */
  strict?: boolean;
  /** Hears of failures; default: a warning on the console. */
  onError?: OnError;
}

/**
 * A session of the OpenAI Agents SDK, kept in Loci:
 *
 *     await run(agent, "Hello", { session: new LociSession({ client, sessionId: "s1" }) });
 *
 * Each item is stored as it is and, beside that, as a message that other programs
 * read. {@link popItem} takes the newest one away in one change, so that no two callers
 * get the same.
 */
export class LociSession implements Session {
  readonly #o: LociSessionOptions;
  readonly #id: string;

  /** What became of the last items added. */
  last: Remembered<Appended> | undefined;

  constructor(options: LociSessionOptions) {
    this.#o = optionsOf("LociSession", "sessions", ["sessionId", "strict", "onError"], options);
    if (options.sessionId !== undefined) sessionOf(options.sessionId);
    this.#id = options.sessionId ?? crypto.randomUUID();
  }

  async getSessionId(): Promise<string> {
    return this.#id;
  }

  /** The items, oldest first, at most so many of the newest. */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    try {
      const items = (await recent(this.#o.client, this.#id, limit)).flatMap(itemsOf);
      return limit === undefined ? items : items.slice(Math.max(0, items.length - limit));
    } catch (error) {
      if (this.#o.strict) throw error;
      report(error, this.#o.onError);
      return [];
    }
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    if (items.length === 0) return;
    this.last = await remember(() => this.#o.client.sessions.append(this.#id, items.map(messageOf)), this.#o.strict ? () => {} : this.#o.onError);
    if (this.#o.strict && !this.last.stored) throw this.last.error;
  }

  /** Takes the newest item away and returns it. Always throws what fails: the caller counts on its being gone. */
  async popItem(): Promise<AgentInputItem | undefined> {
    try {
      for (;;) {
        const { message } = await this.#o.client.sessions.pop(this.#id);
        if (message === null) return undefined;
        const item = itemsOf(message).at(-1);
        if (item !== undefined) return item;
      }
    } catch (error) {
      if (!LociError.is(error) || error.code !== "not_found") throw error;
      return undefined;
    }
  }

  /** Erases the session. Always throws what fails. */
  async clearSession(): Promise<void> {
    try {
      await this.#o.client.sessions.clear(this.#id);
    } catch (error) {
      if (!LociError.is(error) || error.code !== "not_found") throw error;
    }
  }
}

/** An item as a message that carries it. */
function messageOf(item: AgentInputItem): StoredMessage {
  const it = item as Record<string, unknown>;
  switch (it.type) {
    case "function_call":
      return carrying("ai", { content: "", tool_calls: [{ name: it.name, args: argumentsOf(it.arguments), id: it.callId, type: "tool_call" }] }, key, item);
    case "function_call_result": {
      const output = it.output as string | Record<string, unknown> | unknown[];
      const content = typeof output === "string" || Array.isArray(output) ? textOf(output) : textOf([output]);
      return carrying("tool", { content, tool_call_id: it.callId, ...(it.name === undefined ? {} : { name: it.name }) }, key, item);
    }
    case undefined:
    case "message": {
      const type = { user: "human", assistant: "ai", system: "system" }[String(it.role)];
      if (type) return carrying(type, { content: textOf(it.content) }, key, item);
    }
  }
  return carrying("generic", { role: String(it.type ?? it.role ?? "item"), content: textOf(it.content) }, key, item);
}

/** The items of a message, also of one that another program wrote. */
function itemsOf(message: StoredMessage): AgentInputItem[] {
  const original = carried<AgentInputItem>(message, key);
  if (original !== undefined) return [original];
  const text = textOf(message.data.content);
  switch (message.type) {
    case "human":
      return [{ type: "message", role: "user", content: text }];
    case "system":
      return [{ type: "message", role: "system", content: text }];
    case "ai": {
      const calls = toolCallsOf(message).map(
        (call): AgentInputItem => ({ type: "function_call", callId: call.id ?? "", name: call.name, arguments: JSON.stringify(call.args), status: "completed" }),
      );
      const said: AgentInputItem[] = text ? [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] }] : [];
      return [...said, ...calls];
    }
    case "tool": {
      const { tool_call_id: callId, name } = message.data;
      return [{ type: "function_call_result", callId: String(callId ?? ""), name: String(name ?? ""), status: "completed", output: { type: "text", text } }];
    }
  }
  return []; // a role that the SDK has no item for
}
