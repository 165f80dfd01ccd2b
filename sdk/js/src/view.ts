import { forPart, on, segment, type CallOptions, type Transport } from "./transport.js";
import { entry, shapes } from "./reply.js";
import type { Event } from "./events.js";
import { check, imports, inWhole, together } from "./transfer.js";

/** How many memories one request erases. */
const erasedAtOnce = 4000;
const linesAtOnce = 5000; // of an export

export type MemoryKind = "note" | "fact" | "rule" | "episode" | "item" | "session" | "message" | "file" | "thread" | (string & {});
export type MemoryState = "live" | "fading" | "waiting" | "superseded" | "forgotten" | "expired";
export type LinkType = "derived_from" | "supports" | "contradicts" | "supersedes" | "related_to";

/** A memory of any kind. */
export interface MemoryEntry {
  id: string;
  kind: MemoryKind;
  state: MemoryState;
  /** Relative to the caller's own. */
  namespace: string[];
  /** The key of a fact that has one. */
  subject?: string;
  predicate?: string;
  scope?: string;
  /** Of an item; the id of a session or a thread, the path of a file. */
  key?: string;
  content?: string;
  value?: unknown;
  tags: string[];
  metadata?: Record<string, unknown>;
  /** What is only of its kind, such as the maturity of a rule. */
  details?: Record<string, unknown>;
  confidence?: number;
  supersedes?: string;
  superseded_by?: string;
  version: number;
  created_at: string;
  updated_at: string;
  confirmed_at?: string;
  expires_at?: string;
  source?: Record<string, unknown>;
}

export interface MemoriesQuery {
  /** Absent: all but messages. */
  kind?: MemoryKind[];
  /** Absent: those that are found: live, fading and waiting. */
  state?: MemoryState[];
  tag?: string[];
  /** Conditions on metadata, the subject and predicate of facts, and the fields of items. */
  filter?: Record<string, unknown>;
  /** In or below it, such as trips/2026, relative to the client's own. */
  namespace?: string;
  /** A time: the facts and notes that were believed then. */
  as_of?: string;
}

export interface EraseQuery {
  all?: boolean;
  /** Facts are notes, too; sessions go with their messages, by kind alone. */
  kinds?: ("fact" | "item" | "rule" | "episode" | "session")[];
  tags?: string[];
  /** Conditions on metadata, the subject and predicate of facts, and the fields of items. */
  filter?: Record<string, unknown>;
  /** In or below it, relative to the client's own. */
  namespace?: string[];
  expect?: number;
}

export interface Link {
  from: string;
  type: LinkType;
  to: string;
  created_at: string;
}

export interface Place {
  namespace: string[];
  /** By kind, in every state; notes count as facts. */
  counts: Record<string, number>;
  total: number;
}

export interface Exported {
  /** As lines of a file they are what `loci export` writes. */
  lines: string[];
  /** How many memories lie where tools keep them and the export does not look. */
  left_out: number;
}

export interface ImportReport {
  format: string;
  created: number;
  /** What they say is there already. */
  existing: number;
  /** Left out: something else is there under their id or key. */
  conflicts: number;
  /** The first 20 of these. */
  skipped?: string[];
  /** Ids of the lines that stand for others here. */
  moved?: number;
}

/** Memories of every kind in one view, and the verbs of their lifecycle. */
export class Memories {
  readonly #t: Transport;
  constructor(t: Transport) {
    this.#t = t;
  }

  /** A page, newest first; `next_cursor` goes on. */
  list(query: MemoriesQuery & { limit?: number; cursor?: string } = {}, o?: CallOptions): Promise<{ memories: MemoryEntry[]; next_cursor?: string }> {
    const { filter, ...rest } = query;
    const sent = { ...rest, ...(filter === undefined ? {} : { filter: JSON.stringify(filter) }) };
    return this.#t.send({ method: "GET", path: "/v1/memories", reply: shapes.memories, query: sent }, o);
  }

  /** Goes through memories page by page, newest first. */
  async *all(query: MemoriesQuery = {}, o?: CallOptions): AsyncGenerator<MemoryEntry, void, undefined> {
    for (let cursor: string | undefined; ; ) {
      const page = await this.list({ ...query, limit: 500, ...(cursor === undefined ? {} : { cursor }) }, o);
      yield* page.memories;
      if (!page.next_cursor) return;
      cursor = on(cursor, page.next_cursor, "memories");
    }
  }

  /** Reads one in full; of a file what it says. */
  async get(id: string, o?: CallOptions): Promise<MemoryEntry> {
    return this.#t.send({ method: "GET", path: this.#path(id), reply: entry }, o);
  }

  /** Erases one with all that belongs to it: its bytes leave the store. */
  async delete(id: string, o?: CallOptions): Promise<void> {
    return this.#t.send({ method: "DELETE", path: this.#path(id), reply: "nothing", writes: true }, o);
  }

  /**
   * Erases what all conditions select, for good; `all` is everything, and allows no other condition. Without `expect` it counts them and erases nothing;
   * with it, nothing is erased unless so many are selected. More than the server erases with one request are several. What others erase meanwhile is not
   * counted, and what they store stays, unless it says that it is older than what was there.
   */
  async erase(given: EraseQuery, o?: CallOptions): Promise<{ selected: number; erased: number }> {
    const ask = (body: EraseQuery & { cursor?: string }, o?: CallOptions): Promise<{ selected: number; erased: number; left?: number; next_cursor?: string }> =>
      this.#t.send({ method: "POST", path: "/v1/erase", reply: shapes.erasedMemories, body, writes: true }, o);
    if ((given.expect ?? 0) > erasedAtOnce) forPart(o, given.expect!); // a key without room for the others is refused before anything is erased
    let { selected, erased, left = 0, next_cursor: cursor } = await ask(given, o);
    while (cursor !== undefined) {
      const more = await ask({ ...given, expect: left, cursor }, forPart(o, left));
      [erased, left, cursor] = [erased + more.erased, more.left ?? 0, on(cursor, more.next_cursor, "what it erased")];
    }
    return { selected, erased };
  }

  /** Says that a note, a fact or a rule still holds. */
  async confirm(id: string, o?: CallOptions): Promise<MemoryEntry> {
    return this.#change(id, "confirm", undefined, o);
  }

  /** Takes a note, a fact, a rule or an episode out of every search; `restore` brings it back. */
  async forget(id: string, o?: CallOptions): Promise<MemoryEntry> {
    return this.#change(id, "forget", undefined, o);
  }

  /** Brings back what was forgotten or superseded; with `version` what a fact said then. Returns what is there now. */
  async restore(id: string, given: { version?: number } = {}, o?: CallOptions): Promise<MemoryEntry> {
    return this.#change(id, "restore", given, o);
  }

  /** Stores a fact or a note in the place of another, under its key, and returns the new one. */
  async supersede(
    id: string,
    given: {
      content?: string;
      value?: Record<string, unknown>;
      tags?: string[];
      metadata?: Record<string, unknown>;
      importance?: number;
      permanence?: string;
    },
    o?: CallOptions,
  ): Promise<MemoryEntry> {
    return this.#change(id, "supersede", given, o);
  }

  /** Counts that a rule helped. */
  async helpful(id: string, o?: CallOptions): Promise<MemoryEntry> {
    return this.#change(id, "helpful", undefined, o);
  }

  /** Counts that a rule did harm, and why. */
  async harmful(id: string, given: { reason?: string } = {}, o?: CallOptions): Promise<MemoryEntry> {
    return this.#change(id, "harmful", given, o);
  }

  /** What a memory was before: its earlier texts, newest first, and the facts of its key, oldest first. */
  async history(id: string, o?: CallOptions): Promise<{ revisions: Record<string, unknown>[]; chain: MemoryEntry[] }> {
    return this.#t.send({ method: "GET", path: `${this.#path(id)}/history`, reply: shapes.past }, o);
  }

  /** Where a memory comes from. */
  async provenance(id: string, o?: CallOptions): Promise<{ source: Record<string, unknown>; from: MemoryEntry[]; missing: number; events: Event[] }> {
    return this.#t.send({ method: "GET", path: `${this.#path(id)}/provenance`, reply: shapes.origin }, o);
  }

  /** The links from and to a memory. */
  async links(id: string, o?: CallOptions): Promise<Link[]> {
    return (await this.#t.send<{ links: Link[] }>({ method: "GET", path: `${this.#path(id)}/links`, reply: shapes.links }, o)).links;
  }

  /** Links a memory to another, and returns the links of the first. */
  async link(id: string, type: LinkType, to: string, o?: CallOptions): Promise<Link[]> {
    const body = { link_type: type, to };
    return (await this.#t.send<{ links: Link[] }>({ method: "POST", path: `${this.#path(id)}/links`, reply: shapes.links, body, writes: true }, o)).links;
  }

  /** A page of what somebody should look at: what fades, rules that did harm, episodes that wait. */
  review(query: { limit?: number; cursor?: string } = {}, o?: CallOptions): Promise<{ memories: (MemoryEntry & { reason: string })[]; next_cursor?: string }> {
    return this.#t.send({ method: "GET", path: "/v1/review", reply: shapes.memories, query }, o);
  }

  /** Where memories lie, with counts; `outside` is where tools keep some that no list here shows. */
  namespaces(query: { limit?: number; cursor?: string } = {}, o?: CallOptions): Promise<{ namespaces: Place[]; outside: Place[]; next_cursor?: string }> {
    return this.#t.send({ method: "GET", path: "/v1/namespaces", reply: shapes.places, query }, o);
  }

  /** How many memories there are, by kind and state. */
  stats(o?: CallOptions): Promise<{ counts: Record<string, number>; total: number; states: Record<string, unknown> }> {
    return this.#t.send({ method: "GET", path: "/v1/stats", reply: shapes.stats }, o);
  }

  /** All memories, with their history and links; `lines` are those of the file that `loci export` writes. Many come in several requests. */
  async export(query: { kind?: string[]; state?: MemoryState[] } = {}, o?: CallOptions): Promise<Exported> {
    const ask = (cursor?: string): Promise<Exported & { next_cursor?: string }> =>
      this.#t.send({ method: "GET", path: "/v1/export", reply: shapes.exported, query: { ...query, limit: linesAtOnce, ...(cursor === undefined ? {} : { cursor }) } }, o);
    const { next_cursor, ...whole } = await ask();
    for (let cursor = next_cursor; cursor !== undefined; ) {
      const part = await ask(cursor);
      for (const line of part.lines) whole.lines.push(line);
      cursor = on(cursor, part.next_cursor, "where the export goes on");
    }
    return whole;
  }

  /**
   * Stores the lines of an export. What is there already is left alone, so that it may be repeated.
   * More than the server imports with one request are several imports, each of them checked as a whole before it
   * stores anything; an error says how many of them are stored. What belongs together, such as a session with its
   * messages, must fit into one: else nothing is imported, and `loci import` takes the file.
   */
  async import(lines: string[], o?: CallOptions): Promise<ImportReport> {
    const parts = imports(lines);
    const done: ImportReport[] = [];
    for (const part of parts) {
      try {
        done.push(await this.#t.send<ImportReport>({ method: "POST", path: "/v1/import", reply: shapes.importReport, body: { lines: part.lines }, fragile: true }, o));
      } catch (error) {
        throw inWhole(part, error, done.length, parts.length);
      }
      check(parts, done);
    }
    return together(done);
  }

  #path(id: string): string {
    return `/v1/memories/${segment("id", id)}`;
  }

  #change(id: string, verb: string, body: object | undefined, o?: CallOptions): Promise<MemoryEntry> {
    return this.#t.send({ method: "POST", path: `${this.#path(id)}/${verb}`, reply: entry, writes: true, ...(body === undefined ? {} : { body }) }, o);
  }
}
