import { Document, type DocumentInterface } from "@langchain/core/documents";
import { BaseRetriever, type BaseRetrieverInput } from "@langchain/core/retrievers";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { LociClient } from "../client.js";
import { optionsOf } from "../given.js";
import type { FoundMemory, SearchRequest } from "../memories.js";

/** Options of a {@link LociRetriever}. */
export interface LociRetrieverOptions extends BaseRetrieverInput {
  client: LociClient;
  /** How many documents come, 1 to 1000; default 4. */
  k?: number;
  /** Other fields of the request, such as types, tags and filter. */
  search?: Omit<SearchRequest, "query" | "limit">;
}

/**
 * Finds memories of every kind by meaning and by words:
 *
 *     await new LociRetriever({ client }).invoke("what does Ada drink?", { configurable: { user_id: "ada" } });
 *
 * Whose memory it is, each call says, as with the memory tools. What fails is thrown.
 */
export class LociRetriever extends BaseRetriever {
  static override lc_name(): string {
    return "LociRetriever";
  }
  override lc_namespace = ["loci_memory", "langchain"];
  readonly #o: LociRetrieverOptions;

  constructor(options: LociRetrieverOptions) {
    const { callbacks, tags, metadata, verbose } = optionsOf("LociRetriever", "forCall", ["k", "search", "callbacks", "tags", "metadata", "verbose"], options);
    super({ ...(callbacks && { callbacks }), ...(tags && { tags }), ...(metadata && { metadata }), ...(verbose !== undefined && { verbose }) });
    this.#o = options;
  }

  override async invoke(input: string, options?: RunnableConfig): Promise<DocumentInterface[]> {
    const client = this.#o.client.forCall(options?.configurable);
    if (client === this.#o.client) return super.invoke(input, options);
    // One of the call's own: calls at the same time are about different users.
    const { configurable: _, ...rest } = options ?? {};
    return new LociRetriever({ ...this.#o, client }).invoke(input, rest);
  }

  override async _getRelevantDocuments(query: string): Promise<DocumentInterface[]> {
    const { matches } = await this.#o.client.search({ ...this.#o.search, query, limit: this.#o.k ?? 4 });
    return matches.map(documentOf);
  }
}

function documentOf(match: FoundMemory): DocumentInterface {
  const { type, id, passage, score, item } = match;
  const record: Record<string, unknown> = { ...(match.fact ?? match.rule ?? match.episode ?? match.message ?? match.session ?? match.file ?? match.thread) };
  const shared = ["subject", "predicate", "key", "details", "tags", "metadata", "created_at"].filter((name) => record[name] !== undefined);
  return new Document({
    id,
    pageContent: typeof record.content === "string" && !match.session ? record.content : passage,
    metadata: {
      type,
      score,
      ...(item ? { namespace: item.namespace, key: item.key, value: item.value } : {}),
      ...Object.fromEntries(shared.map((name) => [name, record[name]])),
    },
  });
}
