import { on, segment, type CallOptions, type Transport } from "./transport.js";
import { note, shapes } from "./reply.js";
import type { MemoryEntry } from "./view.js";

export type Mode = "hybrid" | "keyword" | "semantic";
export type MemoryType = "fact" | "rule" | "episode" | "item" | "message" | "session" | "file" | "thread";

/** A memory as a search returns it: the field that its type names is there. */
export interface FoundMemory {
  type: MemoryType;
  id: string;
  /** The part of its text that fits best. */
  passage: string;
  /** 0 to 1, comparable within one reply. */
  score: number;
  fact?: Record<string, unknown>;
  rule?: Record<string, unknown>;
  episode?: Record<string, unknown>;
  item?: Record<string, unknown>;
  message?: MemoryEntry;
  /** The passage is of the message that fits best. */
  session?: MemoryEntry;
  /** The passage is of it. */
  file?: MemoryEntry;
  /** Of a graph, found by its name. */
  thread?: MemoryEntry;
  /** How the score came about. */
  explain: Record<string, number | boolean>;
}

export interface SearchRequest {
  /** In plain words, with "phrases" and begin*; absent: newest first. */
  query?: string;
  mode?: Mode;
  /** Absent: all but messages, sessions, files and threads. */
  types?: MemoryType[];
  scopes?: string[];
  tags?: string[];
  /** Conditions on metadata, the subject and predicate of facts, and the fields of items, all of which must hold. */
  filter?: Record<string, unknown>;
  /** 0 to 1. */
  min_confidence?: number;
  /** The least score, 0 to 1: about the chance that a memory answers. */
  min_score?: number;
  /** Whether the re-ranker of the server reads the best results again; absent: if it has one. */
  rerank?: boolean;
  /** Only what was made at this time or after: 2026-01-31T08:00:00Z. */
  since?: string;
  /** Only what was made before this time. */
  until?: string;
  /** 1 to 1000; default 10. */
  limit?: number;
  offset?: number;
}

export interface SearchReply {
  /** Best first. */
  matches: FoundMemory[];
  /** The embedder did not answer: this is what the words found. */
  keyword_only: boolean;
  /** The query has no word, such as ?!: nothing fits it. */
  no_words?: boolean;
  /** Why the re-ranker has not read the results though it was to. */
  not_reranked?: string;
  /** Words of the query that nobody has, with those searched for instead, and roles, with themselves and the names searched for beside them. */
  corrections?: Correction[];
  /** Times that the query names. */
  times?: NamedTime[];
}

export interface Correction {
  word: string;
  searched_for: string[];
}

/** A time that a query names, such as "last week". */
export interface NamedTime {
  text: string;
  /** Its first moment; absent: it has no beginning. */
  since?: string;
  /** The moment after its last; absent: it has no end. */
  until?: string;
  /** No year is named: these are those of the latest one. */
  yearly?: boolean;
}

export interface RecallRequest {
  topic: string;
  mode?: Mode;
  types?: ("fact" | "rule" | "episode")[];
  scopes?: string[];
  min_confidence?: number;
  /** Conditions on metadata, and on the subject and predicate of facts. */
  filter?: Record<string, unknown>;
  /** The least fit, 0 to 1: about the chance that a memory answers. */
  min_score?: number;
  /** Only what was made at this time or after: 2026-01-31T08:00:00Z. */
  since?: string;
  /** Only what was made before this time. */
  until?: string;
  /** 1 to 500; default 20. */
  limit?: number;
  /** Count a use of each memory returned. */
  touch?: boolean;
}

export interface RecallReply {
  memories: (FoundMemory & { confidence: number; fit?: number })[];
  weights: Record<string, unknown>;
  /** How many candidates were left out for min_score. */
  unfit?: number;
  keyword_only: boolean;
  /** Times that the topic names. */
  times?: NamedTime[];
  at: string;
}

export interface ContextRequest {
  trigger_prompt: string;
  /** The agent; default: that of the caller. */
  butler?: string;
  /** The most tokens of the text, 0 to 200000; default 3000. */
  token_budget?: number;
  /** Conditions on metadata, and on the subject and predicate of facts. */
  filter?: Record<string, unknown>;
  /** The least fit, 0 to 1: about the chance that a memory answers. */
  min_score?: number;
}

export interface ContextReply {
  /** For the system prompt; empty if there is nothing to remember. */
  text: string;
  tokens: number;
  token_budget: number;
  tokenizer: string;
  shown: Record<string, unknown>[];
  omitted: Record<string, unknown>[];
  /** How many candidates were left out for min_score. */
  unfit?: number;
  keyword_only?: boolean;
  at: string;
}

export interface Note {
  /** note-<uuid>, or the id of a fact. */
  id: string;
  content: string;
  value?: unknown;
  subject?: string;
  predicate?: string;
  tags: string[];
  metadata?: Record<string, unknown>;
  validity: string;
  superseded_by?: string;
  version: number;
  created_at: string;
  updated_at: string;
  confirmed_at: string;
}

/** Notes: what is to be remembered, in plain words. */
export class Notes {
  readonly #t: Transport;
  constructor(t: Transport) {
    this.#t = t;
  }

  /**
   * Saves a note. One that is remembered already is confirmed instead. `created_at` is when it was said; `sequence` is the conversation it is a part of,
   * and `position` its place there (absent: behind what was saved before). `related_to` of the reply says it in mostly the same words;
   * `possible_update_of` says something else of the same subject.
   */
  save(
    given: { content: string; tags?: string[]; metadata?: Record<string, unknown>; created_at?: string; sequence?: string; position?: number },
    o?: CallOptions,
  ): Promise<{ id: string; outcome: "created" | "duplicate_of"; related_to?: string; possible_update_of?: string }> {
    return this.#t.send({ method: "POST", path: "/v1/notes", reply: shapes.saved, body: given, writes: true }, o);
  }

  /** Lists notes and facts, newest first; `next_cursor` goes on. */
  list(query: { limit?: number; cursor?: string; tag?: string[]; history?: boolean } = {}, o?: CallOptions): Promise<{ notes: Note[]; next_cursor?: string }> {
    return this.#t.send({ method: "GET", path: "/v1/notes", reply: shapes.notes, query }, o);
  }

  /** Goes through notes and facts page by page, newest first. */
  async *all(query: { tag?: string[]; history?: boolean } = {}, o?: CallOptions): AsyncGenerator<Note, void, undefined> {
    for (let cursor: string | undefined; ; ) {
      const page = await this.list({ ...query, limit: 500, ...(cursor === undefined ? {} : { cursor }) }, o);
      yield* page.notes;
      if (!page.next_cursor) return;
      cursor = on(cursor, page.next_cursor, "notes");
    }
  }

  async get(id: string, o?: CallOptions): Promise<Note> {
    return this.#t.send({ method: "GET", path: `/v1/notes/${segment("id", id)}`, reply: note }, o);
  }

  /** Corrects a note; absent fields stay. `if_version` refuses the change unless this is its version. */
  async update(id: string, change: { content?: string; tags?: string[]; metadata?: Record<string, unknown>; if_version?: number }, o?: CallOptions): Promise<Note> {
    return this.#t.send({ method: "PATCH", path: `/v1/notes/${segment("id", id)}`, reply: note, body: change, writes: true }, o);
  }

  /** Erases a note: its bytes leave the store. */
  async delete(id: string, o?: CallOptions): Promise<void> {
    return this.#t.send({ method: "DELETE", path: `/v1/notes/${segment("id", id)}`, reply: "nothing", writes: true }, o);
  }
}
