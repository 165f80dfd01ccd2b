// The tools that models get: LangChain's and the AI SDK's, over the server's own.
import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { LociClient } from "loci-memory";
import { memoryTools } from "loci-memory/ai";
import { createManageMemoryTool, createSearchMemoryTool } from "loci-memory/langchain";
import { startServer } from "./server.js";

let server;
const down = new LociClient({ baseUrl: "http://127.0.0.1:9", retries: 0 });
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

describe.each([
  ["the family facts", undefined],
  ["items", ["memories", "{user_id}"]],
])("manage_memory and search_memory over %s", (name, namespace) => {
  let client, manage, search;
  const config = { configurable: { user_id: "u1" } };
  const call = (tool, args) => tool.invoke(args, config);
  beforeAll(() => {
    client = new LociClient({ baseUrl: server.url, user: name.replaceAll(" ", "-") });
    manage = createManageMemoryTool({ client, namespace });
    search = createSearchMemoryTool({ client, namespace });
  });

  it("have the names and arguments of LangMem's", () => {
    expect(manage.name).toBe("manage_memory");
    expect(manage.description).toMatch(/^Create, update, or delete a memory to persist across conversations\./);
    expect(Object.keys(manage.schema.properties)).toEqual(expect.arrayContaining(["content", "action", "id"]));
    expect(search.name).toBe("search_memory");
    expect(Object.keys(search.schema.properties)).toEqual(["query", "limit", "offset", "filter"]);
  });

  it("create, find, update and delete", async () => {
    const created = await call(manage, { content: "The user takes oat milk", metadata: { category: "drink" } });
    const id = /^created memory ([0-9a-f-]{36})$/.exec(created)?.[1];
    expect(id).toBeDefined();
    const [found] = JSON.parse(await call(search, { query: "which milk?", filter: { category: "drink" } }));
    expect(found).toMatchObject({ key: id, value: { content: "The user takes oat milk", category: "drink" } });
    expect(JSON.parse(await call(search, { query: "which milk?", filter: { category: "food" } }))).toEqual([]);
    expect(await call(manage, { action: "update", id, content: "The user takes soy milk" })).toBe(`updated memory ${id}`);
    expect(await call(search, { query: "milk" })).toContain("soy milk");
    expect(await call(manage, { action: "delete", id })).toBe(`Deleted memory ${id}`);
    expect(JSON.parse(await call(search, { query: "milk" }))).toEqual([]);
    expect(await call(manage, { action: "update", id, content: "x" })).toMatch(/^Error: /);
  });

  it("tell the model what it did wrong", async () => {
    expect(await call(manage, { content: "x", id: "1" })).toBe("Error: You cannot provide a MEMORY ID when creating a MEMORY. Please try again, omitting the id argument.");
    expect(await call(manage, { action: "delete" })).toBe("Error: You must provide a MEMORY ID when deleting or updating a MEMORY.");
    const limited = createManageMemoryTool({ client, namespace, actionsPermitted: ["create", "update"] });
    expect(limited.schema.properties.action.enum).toEqual(["create", "update"]);
    expect(limited.description).toMatch(/^Create or update a memory/);
    expect(() => createManageMemoryTool({ client, actionsPermitted: [] })).toThrow("actions_permitted cannot be empty");
  });

  it("let the model go on when the memory fails", async () => {
    const heard = [];
    const onError = (e) => heard.push(e.code);
    const gone = "Error: the memory cannot be reached now. Go on without it.";
    expect(await call(createManageMemoryTool({ client: down, namespace, onError }), { content: "x" })).toBe(gone);
    expect(await call(createSearchMemoryTool({ client: down, namespace, onError }), { query: "x" })).toBe(gone);
    expect(heard).toEqual(["unavailable", "unavailable"]);
  });

  it("give the objects, too, when asked", async () => {
    await call(manage, { content: "The door is green" });
    const both = createSearchMemoryTool({ client, namespace, responseFormat: "content_and_artifact" });
    const message = await both.invoke({ type: "tool_call", id: "c1", name: "search_memory", args: { query: "door" } }, config);
    expect(message.artifact).toMatchObject([{ value: { content: "The door is green" } }]);
    expect(JSON.parse(message.content)).toEqual(message.artifact);
  });
});

it("a namespace with a variable that is missing ends the call", async () => {
  const tool = createSearchMemoryTool({ client: down, namespace: ["memories", "{user_id}"] });
  await expect(tool.invoke({ query: "x" }, { configurable: { thread_id: "t" } })).rejects.toThrow("Missing key in 'configurable' field: user_id. Available keys: ['thread_id']");
});

const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
/** A model of the AI SDK that calls one tool and then repeats its result. */
const calling = (toolName, input) =>
  new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const result = prompt.at(-1).role === "tool" ? prompt.at(-1).content[0].output : undefined;
      const content = result ? [{ type: "text", text: String(result.value) }] : [{ type: "tool-call", toolCallId: "c1", toolName, input: JSON.stringify(input) }];
      return { content, finishReason: { unified: result ? "stop" : "tool-calls", raw: undefined }, usage, warnings: [] };
    },
  });

describe("tools of the AI SDK", () => {
  it("are those of the server, and work in generateText", async () => {
    const client = new LociClient({ baseUrl: server.url, user: "ai-tools" });
    const tools = await memoryTools(client, { families: ["notes"] });
    expect(Object.keys(tools).sort()).toEqual(["memory_delete", "memory_save", "memory_search", "memory_update"]);
    expect(Object.keys(await memoryTools(client))).toEqual(expect.arrayContaining(["manage_memory", "memory_save"]));
    const saved = await generateText({ model: calling("memory_save", { content: "The cat is called Tom" }), tools, prompt: "Remember", stopWhen: stepCountIs(3) });
    expect(saved.text).toContain("Note saved successfully.");
    const found = await generateText({ model: calling("memory_search", { query: "cat" }), tools, prompt: "Who is the cat?", stopWhen: stepCountIs(3) });
    expect(found.text).toContain("The cat is called Tom");
    const refused = await generateText({ model: calling("memory_save", { content: "" }), tools, prompt: "Remember", stopWhen: stepCountIs(3) });
    expect(refused.text).toContain("content must not be empty");
  });

  it("let the model go on when the memory fails", async () => {
    const broken = await startServer();
    const heard = [];
    const tools = await memoryTools(new LociClient({ baseUrl: broken.url, retries: 0 }), { onError: (e) => heard.push(e.code) });
    await broken.stop();
    const reason = new Error("the user left");
    await expect(tools.memory_save.execute({ content: "x" }, { abortSignal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const { text } = await generateText({ model: calling("memory_save", { content: "x" }), tools, prompt: "Remember", stopWhen: stepCountIs(3) });
    expect(text).toBe("Error: the memory cannot be reached now. Go on without it.");
    expect(heard).toEqual(["unavailable"]);
  });
});
