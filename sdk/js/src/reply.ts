/**
 * What a reply must be: nothing that a server says is believed before it is checked.
 * A list has one shape of what is in it; a name that ends in "?" may be absent; "list?" may
 * be null, which stands for an empty one, and so may "message?". Fields that no shape knows are let through.
 */
export type Shape = "string" | "number" | "boolean" | "object" | "any" | "list?" | "message?" | readonly [Shape] | { readonly [field: string]: Shape };

/** Says what is wrong with a reply. */
export class NotOfShape extends Error {}

/** Refuses a value that has another shape. */
export function check(value: unknown, shape: Shape, where = "the reply"): void {
  if (shape === "any") return;
  if (Array.isArray(shape)) {
    const list = of(value, "list", where) as unknown[];
    list.forEach((one, at) => check(one, shape[0], `${where}[${at}]`));
  } else if (typeof shape === "object") {
    const fields = of(value, "object", where) as Record<string, unknown>;
    for (const [name, inner] of Object.entries(shape)) checkField(fields, name, inner as Shape, where);
  } else {
    of(value, shape as string, where);
  }
}

function checkField(fields: Record<string, unknown>, given: string, shape: Shape, where: string): void {
  const name = given.replace(/\?$/, "");
  if (!Object.hasOwn(fields, name)) {
    if (given === name) throw new NotOfShape(`${where} has no ${name}`);
  } else if (shape === "message?") {
    if (fields[name] !== null) check(fields[name], message, `${where}.${name}`);
  } else if (shape === "list?") {
    fields[name] ??= [];
    of(fields[name], "list", `${where}.${name}`);
  } else {
    check(fields[name], shape, `${where}.${name}`);
  }
}

function of(value: unknown, kind: string, where: string): unknown {
  const is = value === null ? "null" : Array.isArray(value) ? "list" : typeof value;
  if (is !== kind) throw new NotOfShape(`${where} is ${article(is)}; it must be ${article(kind)}`);
  return value;
}

function article(kind: string): string {
  return { string: "a text", number: "a number", boolean: "true or false", object: "an object", list: "a list" }[kind] ?? kind;
}

// The shapes of replies, with the fields that the interface promises.

const memory = { type: "string", id: "string", passage: "string", score: "number", explain: "object" } as const;
const message = { seq: "number", created_at: "string", type: "string", data: "object" } as const;
const typed = { type: "string", data: "string" } as const;

export const item = { namespace: ["string"], key: "string", value: "object", created_at: "string", updated_at: "string", "score?": "number" } as const;

export const note = {
  id: "string",
  content: "string",
  tags: ["string"],
  validity: "string",
  version: "number",
  created_at: "string",
  updated_at: "string",
  confirmed_at: "string",
} as const;

export const file = {
  path: "string",
  name: "string",
  kind: "string",
  version: "number",
  bytes: "number",
  lines: "number",
  created_at: "string",
  updated_at: "string",
} as const;

export const fileContent = { ...file, content: "string" } as const;

export const entry = {
  id: "string",
  kind: "string",
  state: "string",
  namespace: ["string"],
  tags: ["string"],
  version: "number",
  created_at: "string",
  updated_at: "string",
} as const;

const place = { namespace: ["string"], counts: "object", total: "number" } as const;

export const session = { id: "string", status: "string", created_at: "string", updated_at: "string", message_count: "number", last_seq: "number" } as const;

export const checkpoint = {
  thread_id: "string",
  checkpoint_ns: "string",
  checkpoint_id: "string",
  "parent_checkpoint_id?": "string",
  checkpoint: typed,
  metadata: "object",
  "metadata_typed?": typed,
  channel_values: "object",
  pending_writes: [{ task_id: "string", channel: "string", value: typed }],
  created_at: "string",
} as const;

const fetchedWrite = { task_id: "string", channel: "string", value: { type: "string" } } as const;

/** A checkpoint with bytes as they are, or in base64 from a server that sends no parts. */
export const fetchedCheckpoint = {
  ...checkpoint,
  checkpoint: { type: "string" },
  "metadata_typed?": { type: "string" },
  pending_writes: [fetchedWrite],
  "sends?": [fetchedWrite],
} as const;

export const shapes = {
  info: { name: "string", version: "string", api: "number", families: ["string"], tools: ["string"] },
  found: { matches: [memory], keyword_only: "boolean" },
  recalled: { memories: [{ ...memory, confidence: "number" }], weights: "object", keyword_only: "boolean", at: "string" },
  context: { text: "string", tokens: "number", token_budget: "number", tokenizer: "string", shown: "list?", omitted: "list?", at: "string" },
  events: { events: [{ id: "string", seq: "number", event_type: "string", entity_type: "string", entity_id: "string", occurred_at: "string", actor: "string" }], "next_cursor?": "string" },
  tools: { tools: [{ name: "string", title: "string", description: "string", family: "string", input_schema: "object", annotations: "object" }] },
  toolReply: { text: "string", is_error: "boolean", "structured?": "object" },
  saved: { id: "string", outcome: "string", "related_to?": "string", "possible_update_of?": "string" },
  notes: { notes: [note], "next_cursor?": "string" },
  memories: { memories: [entry], "next_cursor?": "string" },
  past: { revisions: ["object"], chain: [entry] },
  origin: { source: "object", from: [entry], missing: "number", events: ["object"] },
  links: { links: [{ from: "string", type: "string", to: "string", created_at: "string" }] },
  places: { namespaces: [place], outside: [place], "next_cursor?": "string" },
  stats: { counts: "object", total: "number", states: "object" },
  exported: { lines: ["string"], left_out: "number", "next_cursor?": "string" },
  erasedMemories: { selected: "number", erased: "number", "left?": "number", "next_cursor?": "string" },
  importReport: { format: "string", created: "number", existing: "number", conflicts: "number" },
  sessions: { sessions: [session], "next_cursor?": "string" },
  cleared: { sessions: "number", messages: "number" },
  appended: { session_id: "string", first_seq: "number", last_seq: "number", count: "number" },
  history: { session_id: "string", messages: [message], "next?": "number" },
  openai: { session_id: "string", messages: ["object"], "next?": "number" },
  document: { format: "string", version: "number", session: "object", messages: ["object"] },
  imported: { session_id: "string", imported: "number", replaced: "number", trimmed: "number" },
  trimmed: { erased: "number", message_count: "number" },
  popped: { session_id: "string", message: "message?", message_count: "number" },
  hits: { results: "list?", keyword_only: "boolean" },
  summarised: { session_id: "string", done: "boolean", tokens_before: "number", tokens_after: "number" },
  retrieved: { text: "string", tokens: "number", token_budget: "number", tokenizer: "string", shown: "list?" },
  items: { items: [item] },
  namespaces: { namespaces: [["string"]] },
  results: { results: [{ op: "string", "item?": item, "items?": [item], "namespaces?": [["string"]], "error?": "object" }] },
  checkpoints: { checkpoints: [checkpoint], "next_cursor?": "string" },
  files: { files: [file], "next_cursor?": "string" },
  fileCounts: { files: "number", dirs: "number" },
  replaced: { replaced: "number" },
  fileVersions: { versions: [{ version: "number", current: "boolean", bytes: "number", lines: "number", written_at: "string" }] },
  fileMatches: { matches: [{ file, first_line: "number", last_line: "number", passage: "string", score: "number" }], keyword_only: "boolean" },
  injected: { messages: ["object"] },
  agents: { agents: [{ id: "string", tools: ["string"], connector: "boolean" }] },
  copied: { copied: "number", "next_cursor?": "string" },
  erased: { erased: "number", "next_cursor?": "string" },
} as const;
