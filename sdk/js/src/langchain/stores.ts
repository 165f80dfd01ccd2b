import { BaseStore } from "@langchain/core/stores";
import type { LociClient } from "../client.js";
import { LociError } from "../errors.js";
import { optionsOf } from "../given.js";
import type { Item, ItemOperation, ItemOutcome } from "../items.js";

/** Options of a {@link LociByteStore} and a {@link LociKeyValueStore}. */
export interface LociStoreOfValuesOptions {
  client: LociClient;
  /** Where the items are; default ["langchain", "store"]. */
  namespace?: string[];
}

const page = 1000; // keys
const furthest = 10_000; // keys that a list passes over

abstract class Store<V> extends BaseStore<string, V> {
  lc_namespace = ["loci_memory", "langchain"];
  readonly #client: LociClient;
  readonly #namespace: string[];

  constructor(options: LociStoreOfValuesOptions) {
    super();
    const { client, namespace = ["langchain", "store"] } = optionsOf(new.target.name, "items", ["namespace"], options);
    this.#client = client;
    this.#namespace = namespace;
  }

  protected abstract written(value: V): unknown;
  /** Undefined: it is none that this store wrote. */
  protected abstract read(value: unknown): V | undefined;

  async mget(keys: string[]): Promise<(V | undefined)[]> {
    const outcomes = await this.#batch(keys.map((key) => ({ op: "get", namespace: this.#namespace, key })));
    return outcomes.map(({ item }) => item && this.#value(item));
  }

  async mset(pairs: [string, V][]): Promise<void> {
    await this.#batch(pairs.map(([key, value]) => ({ op: "put", namespace: this.#namespace, key, value: { value: this.written(value) }, index: [] })));
  }

  async mdelete(keys: string[]): Promise<void> {
    await this.#batch(keys.map((key) => ({ op: "delete", namespace: this.#namespace, key })));
  }

  /** The keys that begin with a prefix, as they were when the first was asked for. */
  async *yieldKeys(prefix = ""): AsyncGenerator<string> {
    const found: Item[] = [];
    for (;;) {
      if (found.length > furthest) throw new LociError("too_large", `a store of more than ${furthest} keys cannot list them`, { recovery: "Use several namespaces." });
      const items = await this.#client.items.search({ namespace_prefix: this.#namespace, limit: page, offset: found.length });
      if (items.length === 0) break;
      found.push(...items);
    }
    for (const { namespace, key } of found) if (namespace.length === this.#namespace.length && key.startsWith(prefix)) yield key;
  }

  async #batch(operations: ItemOperation[]): Promise<ItemOutcome[]> {
    const outcomes = operations.length > 0 ? await this.#client.items.batch(operations) : [];
    const failed = outcomes.find((outcome) => outcome.error !== undefined)?.error;
    if (failed) throw failed;
    return outcomes;
  }

  #value(item: Item): V {
    const value = Object.hasOwn(item.value, "value") ? this.read(item.value.value) : undefined;
    if (value === undefined) throw new LociError("unsupported", `the item ${JSON.stringify(item.key)} is none that this store wrote`, { recovery: "Choose another namespace." });
    return value;
  }
}

/** Keeps bytes under texts, such as LangChain's cache of embeddings needs. A value may have 190,000 bytes. What fails is thrown. */
export class LociByteStore extends Store<Uint8Array> {
  protected written(value: Uint8Array): unknown {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  }

  protected read(value: unknown): Uint8Array | undefined {
    return typeof value === "string" && /^[A-Za-z0-9+/]*={0,2}$/.test(value) ? new Uint8Array(Buffer.from(value, "base64")) : undefined;
  }
}

/** Keeps values of JSON under texts. What fails is thrown. */
export class LociKeyValueStore<V = unknown> extends Store<V> {
  protected written(value: V): unknown {
    return value;
  }

  protected read(value: unknown): V {
    return value as V;
  }
}
