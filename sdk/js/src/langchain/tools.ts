import type { RunnableConfig } from "@langchain/core/runnables";
import { DynamicStructuredTool } from "@langchain/core/tools";
import type { LociClient } from "../client.js";
import { ConfigurationError, LociError, type ErrorCode } from "../errors.js";
import { variable } from "../identity.js";
import { optionsOf } from "../given.js";
import type { Item } from "../items.js";
import { report, type OnError } from "../remember.js";
import type { ToolReply } from "../tools.js";

/** What a model may do with memories. */
export type MemoryAction = "create" | "update" | "delete";

/**
 * Options of both tools. Whose memory it is, each call says: `user_id`, `org_id`, `agent_id`
 * and `thread_id` of its `configurable` take the place of the client's own, which needs a
 * server that allows the choice (scope delegate). A model is told what it did wrong, and to
 * go on when the memory fails. What the program did wrong is thrown: a variable that is
 * missing ({@link ConfigurationError}), an identity that the server refuses.
 */
export interface MemoryToolOptions {
  client: LociClient;
  /** What the model calls the tool. */
  name?: string;
  /**
   * Items of this namespace, in the memory of the call's user, such as
   * `["memories", "{langgraph_user_id}"]`: a label in braces is taken from
   * `configurable`. Absent: the server's own tool of the family facts.
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

const toolOptions = ["name", "namespace", "instructions", "onError"];
const memoryActions: MemoryAction[] = ["create", "update", "delete"];

const manageInstructions = `Call this tool whenever the user states a preference or a decision, asks you to remember or to forget something, \
or a stored memory turns out to be wrong. Never store passwords, keys or other secrets.`;

/** A tool to create, update and delete memories, with the names, arguments and replies of LangMem's. */
export function createManageMemoryTool(o: ManageMemoryToolOptions): DynamicStructuredTool {
  optionsOf("createManageMemoryTool", "forCall", [...toolOptions, "actionsPermitted"], o);
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
      const { client, namespace } = placeOf(o, config);
      return attempt(o, async () => {
        check(actions, input);
        if (namespace) return manageItem(client, namespace, input, config);
        return refusing(await client.tools.call("manage_memory", { ...input }, signalOf(config)));
      }, config);
    },
  }) as DynamicStructuredTool;
}

/** A tool to search memories, with the names, arguments and replies of LangMem's. */
export function createSearchMemoryTool(o: SearchMemoryToolOptions): DynamicStructuredTool {
  optionsOf("createSearchMemoryTool", "forCall", [...toolOptions, "responseFormat"], o);
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
      const { client, namespace } = placeOf(o, config);
      let found: unknown[] = [];
      const text = await attempt(o, async () => {
        if (namespace) {
          const items = await client.items.search({ namespace_prefix: namespace, limit: 10, offset: 0, ...input }, signalOf(config));
          found = items.map(showItem);
          return JSON.stringify(found);
        }
        const reply = await client.tools.call("search_memory", { ...input }, signalOf(config));
        const text = refusing(reply);
        found = listOf(text);
        return text;
      }, config);
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

/** Errors of the server that are about whom the program asks for. */
const refused: readonly string[] = ["unauthenticated", "forbidden"];

/** Answers the model: a memory that fails must not end its turn. What the program did wrong does. */
async function attempt(o: MemoryToolOptions, work: () => Promise<string>, config?: RunnableConfig): Promise<string> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) return `Error: ${error.message}`;
    if (!LociError.is(error) || ConfigurationError.is(error) || refused.includes(error.code)) throw error;
    // What a tool of the server refuses is a reply: an error is not about what the model asked for.
    if (mendable.includes(error.code)) {
      if (o.namespace === undefined && error.code !== "too_large") throw error;
      return `Error: ${error.message}`;
    }
    config?.signal?.throwIfAborted();
    report(error, o.onError);
    return "Error: the memory cannot be reached now. Go on without it.";
  }
}

function refusing(reply: ToolReply): string {
  if (!reply.is_error) return reply.text;
  const { code, error, recovery } = reply.structured ?? {};
  if (typeof code === "string" && refused.includes(code)) throw new LociError(code as ErrorCode, String(error ?? reply.text), { recovery: String(recovery ?? "") });
  throw new Refusal(reply.text);
}

/** The memories that the server's tool found. */
function listOf(text: string): unknown[] {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    // told below, as what is no list
  }
  if (!Array.isArray(found)) throw new LociError("unsupported", "search_memory of the server answered no list", { recovery: "See which version the server is." });
  return found;
}

/** Whose memory a call is about, and where in it. What is missing aborts: it is a mistake of the program, not of the model. */
function placeOf(o: MemoryToolOptions, config?: RunnableConfig): { client: LociClient; namespace: string[] | undefined } {
  const given: Record<string, unknown> = config?.configurable ?? {};
  return { client: o.client.forCall(given), namespace: o.namespace && resolve(o.namespace, given) };
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

/** Fills the labels in braces. */
function resolve(template: string[], given: Record<string, unknown>): string[] {
  const labels = template.map((label) => {
    const name = /^\{(\w+)\}$/.exec(label)?.[1];
    return name === undefined ? label : variable(given, name);
  });
  if (labels.length === 0 || labels[0] === "langgraph" || labels.some((label) => label === "" || label.includes("."))) {
    throw new LociError("invalid", `${JSON.stringify(labels)} is no namespace: labels must not be empty nor have a period, and the first must not be langgraph`, {
      recovery: "Take ids without a period for its variables.",
    });
  }
  return labels;
}

function signalOf(config?: RunnableConfig): { signal?: AbortSignal } {
  return config?.signal ? { signal: config.signal } : {};
}
