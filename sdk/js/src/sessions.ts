import type { Correction, NamedTime } from "./memories.js";
import { forPart, listed, on, parts, segment, sizeOfText, type CallOptions, type Transport } from "./transport.js";
import { session as shape, shapes } from "./reply.js";

/** A message in LangChain's stored form. */
export interface StoredMessage {
  /** human, ai, system, tool, function, chat, generic, remove. */
  type: string;
  /** content, id, name, tool_calls, tool_call_id, …; unknown fields survive. */
  data: Record<string, unknown>;
}

/**
 * A message to append: in LangChain's stored form, as its serialised constructor
 * (`JSON.stringify(message)` of LangChain), or as an OpenAI chat message.
 */
export type NewMessage = StoredMessage | Record<string, unknown>;

/** A message as it was read. */
export interface HistoryMessage extends StoredMessage {
  /** Consecutive from 1. */
  seq: number;
  created_at: string;
}

export interface Session {
  id: string;
  metadata?: Record<string, unknown>;
  max_messages?: number;
  timeout_seconds?: number;
  status: "active" | "expired";
  created_at: string;
  updated_at: string;
  message_count: number;
  last_seq: number;
  summary?: SessionSummary;
}

/** What stands for the older messages of a session; they stay. */
export interface SessionSummary {
  text: string;
  /** The last message it covers. */
  through_seq: number;
  message_count: number;
  /** Grows by one with each summary. */
  epoch: number;
  /** extractive, or the model that wrote it. */
  by: string;
  created_at: string;
}

export interface SummariseOptions {
  /** The room a model has for the conversation, in tokens, 100 to 10,000,000. */
  context_tokens: number;
  /** Of that room in use, above which a summary is due; default 0.85. */
  threshold?: number;
  /** Of that room in use afterwards; default 0.5. */
  target?: number;
  /** Least messages that are not summarised yet; default 6. */
  messages?: number;
  /** Most of the summary itself; default a tenth of the room. */
  summary_tokens?: number;
}

export interface RetrieveQuery {
  /** The new message. */
  query: string;
  /** Most tokens of the text, 0 to 200,000; default 1000. */
  token_budget?: number;
  /** How many of the newest messages the model sees anyway; default those the summary does not cover, else 20. */
  recent?: number;
  /** The least score, 0 to 1: about the chance that it answers; default 0.05. */
  min_score?: number;
}

export interface Retrieved {
  /** For a prompt; what was stored is fenced in it. */
  text: string;
  tokens: number;
  token_budget: number;
  tokenizer: string;
  /** What is in the text: a note, or a message of this session. */
  shown: { note_id?: string; seq?: number; score: number }[] | null;
  keyword_only?: boolean;
}

export interface NewSession {
  /** 1 to 256 bytes; absent: a new UUID. */
  id?: string;
  metadata?: Record<string, unknown>;
  /** The newest messages that are kept; system messages always stay. */
  max_messages?: number;
  /** Inactive longer, it is expired. */
  timeout_seconds?: number;
}

export interface HistoryQuery {
  after?: number;
  before?: number;
  /** The newest so many, oldest first; 1 to 1000. */
  last?: number;
  /** Of a page, 1 to 1000; default 100. */
  limit?: number;
  order?: "asc" | "desc";
}

/** A page of a history; `next` goes on, as `after`, or as `before` in descending order. */
export interface HistoryPage<M = HistoryMessage> {
  messages: M[];
  next?: number;
}

export interface Appended {
  session_id: string;
  first_seq: number;
  last_seq: number;
  count?: number;
}

/** What a pop took; `message` is null where there was none. */
export interface Popped {
  session_id: string;
  message: HistoryMessage | null;
  /** That are left. */
  message_count: number;
}

export interface SessionHit {
  session_id: string;
  seq: number;
  type: string;
  speaker: string;
  created_at: string;
  passage: string;
  score: number;
}

/** The document of an exported session. */
export interface SessionDocument {
  format: "loci.session";
  version: number;
  session: Record<string, unknown>;
  messages: HistoryMessage[];
}

type Imported = Record<string, unknown> & { imported: number; trimmed: number };

const batch = 1000; // messages of one append, as the server takes them
const batchBytes = 3 << 18; // of one append; the server takes 1 MiB
const part = 5000; // messages of one import, as the server takes them
const partBytes = 3 << 20; // of one import; the server takes 4 MiB

/** Conversations: messages in order, under the id of a session. */
export class Sessions {
  readonly #t: Transport;
  constructor(t: Transport) {
    this.#t = t;
  }

  create(session: NewSession = {}, o?: CallOptions): Promise<Session> {
    return this.#t.send({ method: "POST", path: "/v1/sessions", reply: shape, body: session, writes: true }, o);
  }

  /** Lists sessions, the latest activity first, only active ones unless asked; `next_cursor` goes on. */
  list(query: { include_expired?: boolean; limit?: number; cursor?: string } = {}, o?: CallOptions): Promise<{ sessions: Session[]; next_cursor?: string }> {
    return this.#t.send({ method: "GET", path: "/v1/sessions", reply: shapes.sessions, query }, o);
  }

  async get(id: string, o?: CallOptions): Promise<Session> {
    return this.#t.send({ method: "GET", path: path(id), reply: shape }, o);
  }

  async update(id: string, change: Omit<NewSession, "id">, o?: CallOptions): Promise<Session> {
    return this.#t.send({ method: "PATCH", path: path(id), reply: shape, body: change, writes: true }, o);
  }

  /** Erases a session with its messages. */
  async clear(id: string, o?: CallOptions): Promise<{ sessions: number; messages: number }> {
    return this.#t.send({ method: "DELETE", path: path(id), reply: shapes.cleared, writes: true }, o);
  }

  /** Erases every session of the caller. */
  clearAll(o?: CallOptions): Promise<{ sessions: number; messages: number }> {
    return this.#t.send({ method: "DELETE", path: "/v1/sessions", reply: shapes.cleared, query: { all: true }, writes: true }, o);
  }

  /**
   * Appends messages in their order, all or nothing, and makes the session if there
   * is none. Above 1000 messages, or 768 KiB, it is several appends, each of them whole.
   */
  async append(id: string, messages: NewMessage[], o: CallOptions = {}): Promise<Appended> {
    listed("messages", messages);
    const cuts = parts(messages, batch, batchBytes, (_, text) => sizeOfText(text));
    if (cuts.length > 1) forPart(o, messages.length - 1); // a key without room for the last part is refused before anything is sent
    let done: Appended | undefined;
    for (const [from, to] of cuts.length > 0 ? cuts : [[0, 0] as const]) {
      const call = forPart(o, from);
      const body = { messages: messages.slice(from, to) };
      const next = await this.#t.send<Appended>({ method: "POST", path: `${path(id)}/messages`, reply: shapes.appended, body, writes: true }, call);
      done = done === undefined ? next : { ...next, first_seq: done.first_seq, count: (done.count ?? 0) + (next.count ?? 0) };
    }
    return done!;
  }

  /** Goes through sessions page by page, the latest activity first, only active ones unless asked. */
  async *all(query: { include_expired?: boolean } = {}, o?: CallOptions): AsyncGenerator<Session, void, undefined> {
    for (let cursor: string | undefined; ; ) {
      const page = await this.list({ ...query, limit: 500, ...(cursor === undefined ? {} : { cursor }) }, o);
      yield* page.sessions;
      if (!page.next_cursor) return;
      cursor = on(cursor, page.next_cursor, "sessions");
    }
  }

  /** Reads one page of a history, also of an expired session, oldest first. */
  async history(id: string, query: HistoryQuery = {}, o?: CallOptions): Promise<HistoryPage> {
    return this.#t.send({ method: "GET", path: `${path(id)}/messages`, reply: shapes.history, query: { ...query } }, o);
  }

  /** Reads one page of a history as OpenAI chat messages. */
  async openai(id: string, query: HistoryQuery = {}, o?: CallOptions): Promise<HistoryPage<Record<string, unknown>>> {
    return this.#t.send({ method: "GET", path: `${path(id)}/messages`, reply: shapes.openai, query: { ...query, format: "openai" } }, o);
  }

  /** Goes through a history page by page. */
  async *messages(id: string, query: Omit<HistoryQuery, "last"> = {}, o?: CallOptions): AsyncGenerator<HistoryMessage, void, undefined> {
    const q: HistoryQuery = { limit: 500, ...query };
    for (;;) {
      const page = await this.history(id, q, o);
      yield* page.messages;
      if (page.next === undefined) return;
      if (q.order === "desc") q.before = on(q.before, page.next, "messages");
      else q.after = on(q.after, page.next, "messages");
    }
  }

  /** Returns a session with all of its messages as one document. */
  async export(id: string, o?: CallOptions): Promise<SessionDocument> {
    return this.#t.send({ method: "GET", path: `${path(id)}/export`, reply: shapes.document }, o);
  }

  /**
   * Restores a document, or stores a list of messages in the form of LangChain or
   * OpenAI; whole or not at all. More than 5000 messages, or 3 MiB of them, are several
   * imports, each of them whole.
   */
  async import(document: SessionDocument | object[], to: { id?: string; mode?: "new" | "append" | "replace" } = {}, o: CallOptions = {}): Promise<Record<string, unknown>> {
    const send = (body: object, call: CallOptions): Promise<Imported> => this.#t.send({ method: "POST", path: "/v1/sessions/import", reply: shapes.imported, body, writes: true }, call);
    const messages: unknown = Array.isArray(document) ? document : document.messages;
    const cuts = Array.isArray(messages) ? parts(messages, part, partBytes) : [];
    if (!Array.isArray(messages) || cuts.length < 2) return send({ document, ...to }, o);
    const session = Array.isArray(document) ? {} : { ...document.session };
    const id = to.id ?? (typeof session["id"] === "string" ? session["id"] : crypto.randomUUID());
    delete session["last_seq"]; // the numbers go on behind those of the first part
    forPart(o, cuts.at(-1)![0]);
    let done: Imported | undefined;
    for (const [from, until] of cuts) {
      const some = messages.slice(from, until);
      const begin = Array.isArray(document) ? some : { ...document, session, messages: some };
      const body = done === undefined ? { document: begin, ...to, id } : { document: some, id, mode: "append" };
      const next = await send(body, forPart(o, from) ?? o);
      done = done === undefined ? next : { ...done, imported: done.imported + next.imported, trimmed: done.trimmed + next.trimmed };
    }
    return done!;
  }

  /** Erases all but the newest messages; system messages stay. */
  async trim(id: string, maxMessages: number, o?: CallOptions): Promise<Record<string, unknown>> {
    return this.#t.send({ method: "POST", path: `${path(id)}/trim`, reply: shapes.trimmed, body: { max_messages: maxMessages }, writes: true }, o);
  }

  /** Takes the newest message away and returns it, in one change, so that several callers at once each get a different one. */
  async pop(id: string, o?: CallOptions): Promise<Popped> {
    return this.#t.send({ method: "POST", path: `${path(id)}/pop`, reply: shapes.popped, writes: true }, o);
  }

  /** Finds messages by meaning and by words. */
  async search(
    id: string,
    query: { query: string; limit?: number; min_score?: number; rerank?: boolean; since?: string; until?: string },
    o?: CallOptions,
  ): Promise<{ results: SessionHit[]; keyword_only?: boolean; not_reranked?: string; corrections?: Correction[]; times?: NamedTime[] }> {
    return this.#t.send({ method: "POST", path: `${path(id)}/search`, reply: shapes.hits, body: query }, o);
  }

  /** Summarises older messages, if the session fills the model's context far enough. The history stays. */
  async summarise(id: string, options: SummariseOptions, o?: CallOptions): Promise<{ session_id: string; done: boolean; tokens_before: number; tokens_after: number; summary?: SessionSummary }> {
    return this.#t.send({ method: "POST", path: `${path(id)}/summarise`, reply: shapes.summarised, body: options, writes: true }, o);
  }

  /** Returns what notes and older messages say about a new message, within a budget of tokens. */
  async retrieve(id: string, query: RetrieveQuery, o?: CallOptions): Promise<Retrieved> {
    return this.#t.send({ method: "POST", path: `${path(id)}/retrieve`, reply: shapes.retrieved, body: query }, o);
  }
}

function path(id: string): string {
  return `/v1/sessions/${segment("session id", id)}`;
}
