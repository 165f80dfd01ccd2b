import { errorOfProblem, LociError } from "./errors.js";
import { forPart, listed, parts, sizeOfText, type CallOptions, type Transport } from "./transport.js";
import { shapes } from "./reply.js";

/** A JSON object under a key of a namespace. */
export interface Item {
  namespace: string[];
  key: string;
  value: Record<string, unknown>;
  created_at: string;
  updated_at: string;
  expires_at?: string;
  /** Of a search with a query, 0 to 1. */
  score?: number;
}

export interface PutItem {
  /** Relative to the caller's own; at least one label, none with a period. */
  namespace: string[];
  key: string;
  value: Record<string, unknown>;
  /** Paths of the value that are searched; absent: all of it, empty: nothing. */
  index?: string[];
  /** Minutes after the last write or refreshing read when it expires. */
  ttl?: number;
  /** When a new item was made, 1900 to a day from now; default: now. */
  created_at?: string;
}

export interface GetItem {
  namespace: string[];
  key: string;
  /** Whether the read moves the expiry; default yes. */
  refresh_ttl?: boolean;
}

export interface SearchItems {
  /** Here and below; empty: everywhere. */
  namespace_prefix: string[];
  query?: string;
  filter?: Record<string, unknown>;
  /** 1 to 1000; default 10. */
  limit?: number;
  offset?: number;
  refresh_ttl?: boolean;
  /** With a query: the least score, 0 to 1. */
  min_score?: number;
  /** Only what was put first at this time or after: 2026-01-31T08:00:00Z. */
  since?: string;
  /** Only what was put first before this time. */
  until?: string;
}

export interface ListNamespaces {
  /** Labels from the front; * stands for any one label. */
  prefix?: string[];
  suffix?: string[];
  max_depth?: number;
  /** 1 to 10000; default 100. */
  limit?: number;
  offset?: number;
}

export type ItemOperation =
  | ({ op: "put" } & PutItem)
  | ({ op: "get" } & GetItem)
  | { op: "delete"; namespace: string[]; key: string }
  | ({ op: "search" } & SearchItems)
  | ({ op: "namespaces" } & ListNamespaces);

/** What became of one operation of a batch: `error` says why it was not done. */
export interface ItemOutcome {
  op: ItemOperation["op"];
  item?: Item;
  items?: Item[];
  namespaces?: string[][];
  error?: LociError;
}

const most = 250; // operations of a batch, as the server takes them
const roomy = 30; // so many items always have room in one answer
const mostBytes = 3 << 18; // of a batch; the server takes 1 MiB
// How many bytes the server counts an operation as: a search costs more than a put.
const counted = (op: ItemOperation | undefined, text: string): number => {
  const size = sizeOfText(text);
  return op?.op === "search" || op?.op === "namespaces" ? Math.max(20 << 10, 16 * size) : size;
};

/** Items: LangGraph's key-value store, searched by meaning and by words. */
export class Items {
  readonly #t: Transport;
  constructor(t: Transport) {
    this.#t = t;
  }

  put(item: PutItem, o?: CallOptions): Promise<void> {
    return this.#t.send({ method: "PUT", path: "/v1/items", reply: "nothing", body: item, writes: true }, o);
  }

  /** Reads an item; undefined: there is none. */
  async get(item: GetItem, o?: CallOptions): Promise<Item | undefined> {
    const [got] = await this.batch([{ op: "get", ...item }], o);
    if (got?.error) throw got.error;
    return got?.item;
  }

  /** Erases an item. A key that names none is no error. */
  delete(item: { namespace: string[]; key: string }, o?: CallOptions): Promise<void> {
    return this.#t.send({ method: "POST", path: "/v1/items/delete", reply: "nothing", body: item, writes: true }, o);
  }

  async search(query: SearchItems, o?: CallOptions): Promise<Item[]> {
    return (await this.#t.send<{ items: Item[] }>({ method: "POST", path: "/v1/items/search", reply: shapes.items, body: query }, o)).items;
  }

  async namespaces(query: ListNamespaces = {}, o?: CallOptions): Promise<string[][]> {
    return (await this.#t.send<{ namespaces: string[][] }>({ method: "POST", path: "/v1/items/namespaces", reply: shapes.namespaces, body: query }, o)).namespaces;
  }

  /**
   * Does several things. Operations that read see what was there before; then those
   * that write are done in their order, each for itself. More than 250 operations,
   * 38 searches, or 768 KiB, go in several requests. What has no room in an answer is asked again.
   */
  async batch(operations: ItemOperation[], o: CallOptions = {}): Promise<ItemOutcome[]> {
    listed("operations", operations);
    const writes = (op: ItemOperation): boolean => op.op === "put" || op.op === "delete";
    const order = operations.map((_, i) => i);
    const results = new Array<ItemOutcome>(operations.length);
    const [reads, others] = [order.filter((i) => !writes(operations[i]!)), order.filter((i) => writes(operations[i]!))];
    // What is asked again must not see what was written in the same request.
    const alone = reads.length > roomy || reads.some((i) => operations[i]!.op !== "get");
    const all = alone ? [...chunks(reads, operations), ...chunks(others, operations)] : chunks([...reads, ...others], operations);
    forPart(o, Math.max(0, all.length - 1)); // a key without room for the last one is refused before anything is sent
    const waiting = [...all.entries()];
    while (waiting.length > 0) {
      const [part, chunk] = waiting.shift()!;
      const call = forPart(o, part); // what is asked again has the same key, and only reads
      const request = { method: "POST", path: "/v1/items/batch", reply: shapes.results, body: { operations: chunk.map((i) => operations[i]) }, writes: chunk.some((i) => writes(operations[i]!)) } as const;
      const reply = await this.#t.send<{ results: (Omit<ItemOutcome, "error"> & { error?: unknown })[] }>(request, call);
      if (reply.results.length !== chunk.length || reply.results.some((one, i) => one.op !== operations[chunk[i]!]!.op)) {
        throw new LociError("unsupported", "the reply's results are not those of the operations", { recovery: "See which version the server is." });
      }
      const again: number[] = [];
      chunk.forEach((at, i) => {
        results[at] = outcome(reply.results[i]!);
        // Before the first one nothing was answered: what has no room then has none at all.
        if (i > 0 && results[at].error?.code === "too_large" && !chunk.some((each) => writes(operations[each]!))) again.push(at);
      });
      if (again.length > 0) waiting.unshift([part, again]);
    }
    return results;
  }
}

function outcome(result: Omit<ItemOutcome, "error"> & { error?: unknown }): ItemOutcome {
  const { error, ...rest } = result;
  if (error === undefined) return rest;
  return { ...rest, error: errorOfProblem(error) ?? new LociError("internal", "the server gave no reason") };
}

function chunks(order: number[], operations: ItemOperation[]): number[][] {
  return parts(order.map((i) => operations[i]), most, mostBytes, counted).map(([from, to]) => order.slice(from, to));
}
