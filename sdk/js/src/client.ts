import { Agents, Connectors } from "./agents.js";
import { Checkpoints } from "./checkpoints.js";
import { Files } from "./files.js";
import { acting, identityOf } from "./identity.js";
import { Items } from "./items.js";
import type { Event } from "./events.js";
import { Notes, type ContextReply, type ContextRequest, type RecallReply, type RecallRequest, type SearchReply, type SearchRequest } from "./memories.js";
import { Sessions } from "./sessions.js";
import { Tools } from "./tools.js";
import { Memories } from "./view.js";
import { on, Transport, type CallOptions, type ClientOptions, type Identity } from "./transport.js";
import { shapes } from "./reply.js";

/** What a server is. */
export interface Info {
  name: string;
  version: string;
  api: number;
  families: string[];
  tools: string[];
  embedder?: string;
}

/**
 * A client of a Loci server. Requests and results have the fields of the REST
 * interface; every call throws a {@link LociError} when it fails. Calls that read
 * are tried again when the server cannot be reached, and so are calls that write:
 * each carries an idempotency key, so that nothing is stored twice.
 */
export class LociClient {
  readonly sessions: Sessions;
  readonly items: Items;
  readonly checkpoints: Checkpoints;
  readonly memories: Memories;
  readonly notes: Notes;
  readonly tools: Tools;
  readonly files: Files;
  readonly agents: Agents;
  readonly connectors: Connectors;
  readonly #options: ClientOptions;
  readonly #t: Transport;

  constructor(options: ClientOptions = {}) {
    this.#options = { ...options };
    this.#t = new Transport(options);
    this.sessions = new Sessions(this.#t);
    this.items = new Items(this.#t);
    this.checkpoints = new Checkpoints(this.#t);
    this.memories = new Memories(this.#t);
    this.notes = new Notes(this.#t);
    this.tools = new Tools(this.#t);
    this.files = new Files(this.#t);
    this.agents = new Agents(this.#t);
    this.connectors = new Connectors(this.#t);
  }

  /** A client of the same server for someone else; what is absent stays. */
  as(identity: Identity): LociClient {
    return new LociClient({ ...this.#options, ...identity });
  }

  /**
   * A client of the identity that `configurable` of LangChain names: `user_id`, `org_id`,
   * `agent_id` and `thread_id` replace the client's own. A narrower name that they leave out
   * is dropped: naming a user drops the client's thread. One that is empty is a
   * {@link ConfigurationError}.
   */
  forCall(configurable: Record<string, unknown> = {}): LociClient {
    const identity = identityOf(configurable);
    return Object.keys(identity).length === 0 ? this : new LociClient(acting(this.#options, identity));
  }

  info(o?: CallOptions): Promise<Info> {
    return this.#t.send({ method: "GET", path: "/v1/info", reply: shapes.info }, o);
  }

  /** Finds memories of every kind by meaning and by words. */
  search(query: SearchRequest | string, o?: CallOptions): Promise<SearchReply> {
    return this.#t.send({ method: "POST", path: "/v1/search", reply: shapes.found, body: typeof query === "string" ? { query } : query }, o);
  }

  /** Recalls the facts and rules that matter for a topic. */
  recall(query: RecallRequest | string, o?: CallOptions): Promise<RecallReply> {
    const body = typeof query === "string" ? { topic: query } : query;
    // With touch it counts uses, which one more attempt would count again.
    return this.#t.send({ method: "POST", path: "/v1/recall", reply: shapes.recalled, body, fragile: body.touch === true }, o);
  }

  /** Makes a block of memories for the system prompt of an agent. */
  context(query: ContextRequest | string, o?: CallOptions): Promise<ContextReply> {
    return this.#t.send({ method: "POST", path: "/v1/context", reply: shapes.context, body: typeof query === "string" ? { trigger_prompt: query } : query }, o);
  }

  /** A page of the audit log, newest first: who did what to which memory and when. */
  events(
    query: { limit?: number; cursor?: string; type?: string[]; entity?: string; since?: string; until?: string } = {},
    o?: CallOptions,
  ): Promise<{ events: Event[]; next_cursor?: string }> {
    return this.#t.send({ method: "GET", path: "/v1/events", reply: shapes.events, query }, o);
  }

  /** Goes through the audit log, newest first, page by page. */
  async *allEvents(
    query: { limit?: number; type?: string[]; entity?: string; since?: string; until?: string } = {},
    o?: CallOptions,
  ): AsyncGenerator<Event, void, undefined> {
    for (let cursor: string | undefined; ; ) {
      const page = await this.events({ ...query, ...(cursor === undefined ? {} : { cursor }) }, o);
      yield* page.events;
      if (!page.next_cursor) return;
      cursor = on(cursor, page.next_cursor, "events");
    }
  }
}
