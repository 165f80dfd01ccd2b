import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import { ChatMessage, mapChatMessagesToStoredMessages, mapStoredMessageToChatMessage, RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import type { LociClient } from "../client.js";
import { recent } from "../conversation.js";
import { LociError } from "../errors.js";
import { optionsOf, sessionOf } from "../given.js";
import { remember, report, type OnError, type Remembered } from "../remember.js";
import type { Appended, NewMessage, StoredMessage } from "../sessions.js";

/** Options of a {@link LociChatMessageHistory}. */
export interface LociChatMessageHistoryOptions {
  client: LociClient;
  /** The session; it is made by its first message. */
  sessionId: string;
  /** The newest messages that are read; default all. */
  limit?: number;
  /** Throw what fails. Default: an agent goes on without its memory, and the failure is reported. */
  strict?: boolean;
  /** Hears of failures; default: a warning on the console. */
  onError?: OnError;
}

/**
 * The history of a conversation, kept in Loci:
 *
 *     new RunnableWithMessageHistory({ runnable, getMessageHistory: (sessionId) => new LociChatMessageHistory({ client, sessionId }) })
 */
export class LociChatMessageHistory extends BaseListChatMessageHistory {
  lc_namespace = ["loci_memory", "langchain"];
  readonly #o: LociChatMessageHistoryOptions;

  /** What became of the last messages added. */
  last: Remembered<Appended> | undefined;

  constructor(options: LociChatMessageHistoryOptions) {
    super();
    this.#o = optionsOf("LociChatMessageHistory", "sessions", ["sessionId", "limit", "strict", "onError"], options);
    sessionOf(options.sessionId);
  }

  async getMessages(): Promise<BaseMessage[]> {
    try {
      return fromStored(await recent(this.#o.client, this.#o.sessionId, this.#o.limit));
    } catch (error) {
      if (this.#o.strict) throw error;
      report(error, this.#o.onError);
      return [];
    }
  }

  async addMessage(message: BaseMessage): Promise<void> {
    await this.addMessages([message]);
  }

  /** Appends messages in their order, all or nothing. */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    if (messages.length === 0) return;
    this.last = await remember(() => this.#o.client.sessions.append(this.#o.sessionId, toStored(messages)), this.#o.strict ? () => {} : this.#o.onError);
    if (this.#o.strict && !this.last.stored) throw this.last.error;
  }

  /** Erases the session. Always throws what fails. */
  override async clear(): Promise<void> {
    try {
      await this.#o.client.sessions.clear(this.#o.sessionId);
    } catch (error) {
      if (!LociError.is(error) || error.code !== "not_found") throw error;
    }
  }
}

/** Messages in their stored form, as `client.sessions.append` takes them. */
export function toStored(messages: BaseMessage[]): NewMessage[] {
  return mapChatMessagesToStoredMessages(messages) as unknown as NewMessage[];
}

/** Messages of stored ones, of any program that writes LangChain's form. */
export function fromStored(messages: StoredMessage[]): BaseMessage[] {
  return messages.map(({ type, data }) => {
    switch (type) {
      case "remove":
        return new RemoveMessage({ ...data, id: String(data.id ?? "") });
      case "chat": // as LangChain in Python names it
      case "ChatMessageChunk":
        return new ChatMessage({ ...data, content: data.content as string, role: String(data.role ?? "") });
    }
    // What a stream sent in parts is whole once it is stored.
    const whole = /^(\w+)MessageChunk$/.exec(type)?.[1]?.toLowerCase() ?? type;
    try {
      return mapStoredMessageToChatMessage({ type: whole, data } as unknown as Parameters<typeof mapStoredMessageToChatMessage>[0]);
    } catch (cause) {
      throw new LociError("unsupported", `a message of the type ${type} is none that LangChain can read`, { cause, recovery: "Another program wrote it." });
    }
  });
}
