import type { RunnableConfig } from "@langchain/core/runnables";
import { DynamicStructuredTool } from "@langchain/core/tools";
import type { LociClient } from "../client.js";
import { LociError } from "../errors.js";
import type { Item } from "../items.js";
import { report, type OnError } from "../remember.js";

/** What a model may do with memories. */
export type MemoryAction = "create" | "update" | "delete";

/** Options of both tools. */
export interface MemoryToolOptions {
  client: LociClient;
  /** What the model calls the tool. */
  name?: string;
  /**
   * Items of this namespace, relative to the client's own, such as
   * `["memories", "{user_id}"]`: a label in braces is taken from `configurable` when
   * the tool is called. Absent: the server's own tool of the family facts.
   */
  namespace?: string[];
  /** For the model: when to call the tool. */
  instructions?: string;
  /** Hears of failures that the model goes on without; default: a warning on the console. */
  onError?: OnError;
}

export interface ManageMemoryToolOptions extends MemoryToolOptions {
  /** Default: all three. */
  actionsPermitted?: MemoryAction[];
}

export interface SearchMemoryToolOptions extends MemoryToolOptions {
  /** content: text for the model; content_and_artifact: also the objects, in the message's artifact. Default content. */
  responseFormat?: "content" | "content_and_artifact";
}

const memoryActions: MemoryAction[] = ["create", "update", "delete"];

const manageInstructions = `Call this tool whenever the user states a preference or a decision, asks you to remember or to forget something, \
or a stored memory turns out to be wrong. Never store passwords, keys or other secrets.`;

/** A tool to create, update and delete memories, with the names, arguments and replies of LangMem's. */
export function createManageMemoryTool(o: ManageMemoryToolOptions): DynamicStructuredTool {
  const actions = o.actionsPermitted ?? memoryActions;
  if (actions.length === 0) throw new LociError("invalid", "actions_permitted cannot be empty");
  const preset = actions.includes("create") ? "create" : actions[0]!;
  const verbs = actions.length < 3 ? actions.join(" or ") : "create, update, or delete";
  return new DynamicStructuredTool({
    name: o.name ?? "manage_memory",
    description: `${verbs[0]!.toUpperCase()}${verbs.slice(1)} a memory to persist across conversations.\n\n\
Omit id when you create a memory; to update or delete one, pass its id from a search or an earlier reply.\n\n${o.instructions ?? manageInstructions}`,
    schema: {
      type: "object",
      properties: {
        content: { anyOf: [{ type: "string" }, { type: "object" }], description: "What to remember: one self-contained statement, or a JSON object" },
        action: { type: "string", enum: actions, default: preset },
        id: { type: "string", description: "UUID of the memory to update or delete" },
        metadata: { type: "object", description: 'Labels for filters, such as {"category":"preference"}' },
      },
      additionalProperties: false,
    },
    func: async (given: ManageArguments, _run, config) => {
      const input = { ...given, action: given.action ?? preset };
      const namespace = o.namespace && resolve(o.namespace, config);
      return attempt(o, async () => {
        check(actions, input);
        if (namespace) return manageItem(o.client, namespace, input, config);
        return refusing(await o.client.tools.call("manage_memory", { ...input }, signalOf(config)));
      });
    },
  }) as DynamicStructuredTool;
}

/** A tool to search memories, with the names, arguments and replies of LangMem's. */
export function createSearchMemoryTool(o: SearchMemoryToolOptions): DynamicStructuredTool {
  const format = o.responseFormat ?? "content";
  return new DynamicStructuredTool({
    name: o.name ?? "search_memory",
    description: `Search your long-term memories for information relevant to the current context.${o.instructions ? `\n\n${o.instructions}` : ""}`,
    responseFormat: format,
    schema: {
      type: "object",
      properties: {
        query: { type: "string", description: "What to look for, in plain words" },
        limit: { type: "integer", minimum: 1, maximum: 100, default: 10 },
        offset: { type: "integer", minimum: 0, default: 0 },
        filter: { type: "object", description: 'Conditions on memories, such as {"category":"preference"}' },
      },
      required: ["query"],
      additionalProperties: false,
    },
    func: async (input: SearchArguments, _run, config) => {
      const namespace = o.namespace && resolve(o.namespace, config);
      let found: unknown[] = [];
      const text = await attempt(o, async () => {
        if (namespace) {
          const items = await o.client.items.search({ namespace_prefix: namespace, limit: 10, offset: 0, ...input }, signalOf(config));
          found = items.map(showItem);
          return JSON.stringify(found);
        }
        const reply = await o.client.tools.call("search_memory", { ...input }, signalOf(config));
        const text = refusing(reply);
        found = JSON.parse(text) as unknown[];
        return text;
      });
      return format === "content" ? text : [text, found];
    },
  }) as DynamicStructuredTool;
}

interface ManageArguments {
  content?: string | Record<string, unknown>;
  action?: MemoryAction;
  id?: string;
  metadata?: Record<string, unknown>;
}

interface SearchArguments {
  query: string;
  limit?: number;
  offset?: number;
  filter?: Record<string, unknown>;
}

/** What the model can mend; the text of the reply says so. */
class Refusal extends Error {}

/** Errors of the server that are about what the model asked for. */
const mendable: readonly string[] = ["invalid", "not_found", "too_large"];

/** Answers the model in any case: a memory that fails must not end its turn. */
async function attempt(o: MemoryToolOptions, work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal || (LociError.is(error) && mendable.includes(error.code))) return `Error: ${error.message}`;
    report(error, o.onError);
    return "Error: the memory cannot be reached now. Go on without it.";
  }
}

function refusing(reply: { text: string; is_error: boolean }): string {
  if (reply.is_error) throw new Refusal(reply.text);
  return reply.text;
}

function check(actions: MemoryAction[], { action, id }: ManageArguments): void {
  if (!actions.includes(action!)) throw new Refusal(`Invalid action ${action}. Must be one of (${actions.map((a) => `'${a}'`).join(", ")}${actions.length === 1 ? "," : ""}).`);
  if (action === "create" && id) throw new Refusal("You cannot provide a MEMORY ID when creating a MEMORY. Please try again, omitting the id argument.");
  if (action !== "create" && !id) throw new Refusal("You must provide a MEMORY ID when deleting or updating a MEMORY.");
}

async function manageItem(client: LociClient, namespace: string[], input: ManageArguments, config?: RunnableConfig): Promise<string> {
  const { action, content, metadata, id } = input;
  const o = signalOf(config);
  const key = id ?? crypto.randomUUID();
  if (action !== "create" && (await client.items.get({ namespace, key }, o)) === undefined) {
    throw new Refusal(`There is no memory with the id ${key}.`);
  }
  if (action === "delete") {
    await client.items.delete({ namespace, key }, o);
    return `Deleted memory ${key}`;
  }
  if (content === undefined || content === "") throw new Refusal("content must not be empty");
  await client.items.put({ namespace, key, value: { ...metadata, content } }, o);
  return `${action === "create" ? "created" : "updated"} memory ${key}`;
}

function showItem({ namespace, key, value, created_at, updated_at, score }: Item): unknown {
  return { namespace, key, value, created_at, updated_at, score: score ?? null };
}

/** Fills the labels in braces. What is missing aborts: it is a mistake of the program, not of the model. */
function resolve(template: string[], config?: RunnableConfig): string[] {
  const given: Record<string, unknown> = config?.configurable ?? {};
  return template.map((label) => {
    const name = /^\{(\w+)\}$/.exec(label)?.[1];
    if (name === undefined) return label;
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined || value === null || value === "") {
      throw new LociError("invalid", `Missing key in 'configurable' field: ${name}. Available keys: [${Object.keys(given).map((k) => `'${k}'`).join(", ")}]`);
    }
    return String(value);
  });
}

function signalOf(config?: RunnableConfig): { signal?: AbortSignal } {
  return config?.signal ? { signal: config.signal } : {};
}
