import {
  BaseStore,
  InvalidNamespaceError,
  type GetOperation,
  type Item as GraphItem,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
} from "@langchain/langgraph-checkpoint";
import type { LociClient } from "../client.js";
import { LociError } from "../errors.js";
import { clientOf } from "../given.js";
import { finite } from "./filter.js";
import type { Item, ItemOperation, ItemOutcome } from "../items.js";
import { known } from "../transport.js";

/** Options of a {@link LociStore}. */
export interface LociStoreOptions {
  /** Minutes after the last write or refreshing read when items expire; absent: never. */
  ttl?: number;
  /** Whether reads move the expiry; default yes. */
  refreshOnRead?: boolean;
  /**
   * That of LangGraph's stores: its fields are searched where a put names none. The server
   * embeds, as it is configured, so embeddings and dims count for nothing.
   */
  index?: { fields?: string[]; dims?: number; embeddings?: unknown };
}

/**
 * Keeps the items of LangGraph's store in Loci, searched by meaning and by words:
 *
 *     const graph = builder.compile({ store: new LociStore(new LociClient()) });
 *
 * Namespaces are relative to the client's own, so that users of one server never
 * see each other's.
 */
export class LociStore extends BaseStore {
  readonly #client: LociClient;
  readonly #options: LociStoreOptions;

  constructor(client: LociClient, options: LociStoreOptions = {}) {
    super();
    this.#client = clientOf("LociStore", "items", client, "Give the client itself: new LociStore(new LociClient()).");
    known("LociStore", ["ttl", "refreshOnRead", "index"], options, "See its documentation for what it takes.");
    this.#options = options;
  }

  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const requests = operations.map((op) => this.#request(op));
    const asked = requests.filter((request) => request !== undefined);
    const outcomes = asked.length > 0 ? await this.#client.items.batch(asked) : [];
    const failed = outcomes.find((o) => o.error !== undefined)?.error;
    if (failed) throw failed;
    return operations.map((op, i) => (requests[i] === undefined ? [] : resultOf(op, outcomes.shift()!))) as OperationResults<Op>;
  }

  #fields(): { index?: string[] } {
    const fields = this.#options.index?.fields;
    return fields === undefined || (fields.length === 1 && fields[0] === "$") ? {} : { index: fields };
  }

  /** Undefined: a search that no value of JSON can match. */
  #request(op: Operation): ItemOperation | undefined {
    const refresh = this.#options.refreshOnRead === undefined ? {} : { refresh_ttl: this.#options.refreshOnRead };
    if (isPut(op)) {
      checkNamespace(op.namespace);
      if (op.value === null) return { op: "delete", namespace: op.namespace, key: op.key };
      return {
        op: "put",
        namespace: op.namespace,
        key: op.key,
        value: op.value,
        ...(op.index === false ? { index: [] } : op.index ? { index: op.index } : this.#fields()),
        ...(this.#options.ttl === undefined ? {} : { ttl: this.#options.ttl }),
      };
    }
    if (isSearch(op)) {
      const filter = finite(op.filter ?? {});
      if (filter === undefined) return undefined;
      return {
        op: "search",
        namespace_prefix: op.namespacePrefix,
        ...(op.query ? { query: op.query } : {}),
        ...(Object.keys(filter).length > 0 ? { filter } : {}),
        ...(op.limit === undefined ? {} : { limit: op.limit }),
        ...(op.offset ? { offset: op.offset } : {}),
        ...refresh,
      };
    }
    if (isGet(op)) return { op: "get", namespace: op.namespace, key: op.key, ...refresh };
    return namespacesRequest(op);
  }
}

function isPut(op: Operation): op is PutOperation {
  return "value" in op;
}

function isSearch(op: Operation): op is SearchOperation {
  return "namespacePrefix" in op;
}

function isGet(op: Operation): op is GetOperation {
  return "key" in op && !("value" in op);
}

/** The rules of LangGraph, with its error; the server has them, too. "langgraph" may be the first label, which `put` alone refuses. */
function checkNamespace(namespace: string[]): void {
  const wrong =
    namespace.length === 0
      ? "it is empty"
      : namespace.some((label) => typeof label !== "string" || label === "" || label.includes("."))
        ? "labels must be texts that are not empty and have no period"
        : undefined;
  if (wrong) throw new InvalidNamespaceError(`Invalid namespace: ${wrong}.`);
}

function namespacesRequest(op: ListNamespacesOperation): ItemOperation {
  const condition = (type: MatchCondition["matchType"]): string[] | undefined => {
    const given = (op.matchConditions ?? []).filter((c) => c.matchType === type);
    if (given.length > 1) {
      throw new LociError("unsupported", `a list of namespaces has ${given.length} conditions of the type ${type}`, { recovery: "Give one prefix and one suffix at most." });
    }
    return given[0]?.path;
  };
  const [prefix, suffix] = [condition("prefix"), condition("suffix")];
  return {
    op: "namespaces",
    ...(prefix ? { prefix } : {}),
    ...(suffix ? { suffix } : {}),
    ...(op.maxDepth === undefined ? {} : { max_depth: op.maxDepth }),
    limit: op.limit,
    ...(op.offset ? { offset: op.offset } : {}),
  };
}

function resultOf(op: Operation, o: ItemOutcome): undefined | GraphItem | null | SearchItem[] | string[][] {
  if (isPut(op)) return undefined;
  if (isSearch(op)) return (o.items ?? []).map((item) => (item.score === undefined ? show(item) : { ...show(item), score: item.score }));
  if (isGet(op)) return o.item ? show(o.item) : null;
  return o.namespaces ?? [];
}

function show(item: Item): GraphItem {
  return { namespace: item.namespace, key: item.key, value: item.value, createdAt: new Date(item.created_at), updatedAt: new Date(item.updated_at) };
}
