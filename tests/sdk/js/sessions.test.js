// Conversations: the client and the adapters that keep histories, against a running server.
import { AIMessage, HumanMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import { Agent, run, tool, Usage } from "@openai/agents-core";
import { generateText, stepCountIs, tool as aiTool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LociClient, LociError } from "loci-memory";
import { conversation } from "loci-memory/ai";
import { fromStored, LociChatMessageHistory, toStored } from "loci-memory/langchain";
import { LociSession } from "loci-memory/openai-agents";
import { z } from "zod";
import { startServer } from "./server.js";

const server = await startServer();
const client = new LociClient({ baseUrl: server.url, user: "talker" });
const down = new LociClient({ baseUrl: "http://127.0.0.1:9", retries: 0 });
afterAll(() => server.stop());

const all = async (id, query, c = client) => {
  const out = [];
  for await (const message of c.sessions.messages(id, query)) out.push(message);
  return out;
};
const human = (content) => ({ type: "human", data: { content } });

describe("sessions", () => {
  it("are made, read, listed, trimmed and erased", async () => {
    const c = client.as({ user: "basics" });
    const made = await c.sessions.create({ metadata: { topic: "trains" } });
    expect(made).toMatchObject({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), status: "active", metadata: { topic: "trains" } });
    const { id } = made;
    expect(await c.sessions.append(id, [human("one"), { role: "assistant", content: "platypus" }])).toMatchObject({ first_seq: 1, last_seq: 2 });
    await c.sessions.append(id, Array.from({ length: 5 }, (_, i) => human(`more ${i}`)));
    expect((await c.sessions.history(id, { last: 2 })).messages.map((m) => m.seq)).toEqual([6, 7]);
    expect((await c.sessions.history(id, { after: 1, before: 4 })).messages.map((m) => m.seq)).toEqual([2, 3]);
    expect((await all(id, { limit: 3 }, c)).map((m) => m.seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect((await all(id, { limit: 3, order: "desc" }, c)).map((m) => m.seq)).toEqual([7, 6, 5, 4, 3, 2, 1]);
    expect((await c.sessions.openai(id, { last: 1 })).messages).toMatchObject([{ role: "user", content: "more 4" }]);
    expect((await c.sessions.list()).sessions.map((s) => s.id)).toEqual([id]);
    expect(await c.sessions.get(id)).toMatchObject({ id, message_count: 7 });
    expect((await c.sessions.search(id, { query: "platypus" })).results[0]).toMatchObject({ seq: 2, passage: "platypus" });
    await c.sessions.trim(id, 3);
    expect((await all(id, {}, c)).map((m) => m.seq)).toEqual([5, 6, 7]);
    await c.sessions.clear(id);
    await expect(c.sessions.get(id)).rejects.toMatchObject({ code: "not_found" });
    await c.sessions.create({ id: "odd/id ü?#%" });
    await c.sessions.append("odd/id ü?#%", [human("x")]);
    const long = Array.from({ length: 8 }, () => human("水".repeat(100_000))); // of 2.4 MB, which count twice
    expect(await c.sessions.append("long", long)).toMatchObject({ first_seq: 1, last_seq: 8, count: 8 });
    await c.sessions.clear("long");
    expect(await all("odd/id ü?#%", {}, c)).toHaveLength(1);
    expect(await c.sessions.clearAll()).toMatchObject({ sessions: 1 });
  });

  it("are changed, summarised and searched for what a new message is about", async () => {
    const c = client.as({ user: "long" });
    await c.sessions.append("trip", Array.from({ length: 12 }, (_, i) => human(i === 1 ? "My passport number ends in 42." : `We talked about the weather, part ${i}, at some length and in no hurry.`)));
    expect(await c.sessions.update("trip", { metadata: { topic: "travel" } })).toMatchObject({ metadata: { topic: "travel" } });
    const done = await c.sessions.summarise("trip", { context_tokens: 200 });
    expect(done).toMatchObject({ done: true, summary: { by: "extractive", epoch: 1 } });
    expect(done.tokens_after).toBeLessThan(done.tokens_before);
    expect((await c.sessions.get("trip")).summary).toEqual(done.summary);
    expect(await c.sessions.summarise("trip", { context_tokens: 100_000 })).toMatchObject({ done: false });
    const found = await c.sessions.retrieve("trip", { query: "Which passport number?", recent: 2 });
    expect(found.shown).toContainEqual(expect.objectContaining({ seq: 2 }));
    expect(found.text).toContain("ends in 42");
    expect(found.tokens).toBeLessThanOrEqual(found.token_budget);
  });

  it("keep the order of many writers: 16 clients, 1,000 messages, consecutive", async () => {
    const clients = Array.from({ length: 16 }, () => client.as({ user: "crowd" }));
    const share = clients.map((_, i) => Math.floor(1000 / 16) + (i < 1000 % 16 ? 1 : 0));
    await Promise.all(
      clients.map(async (c, w) => {
        for (let i = 0; i < share[w]; i++) await c.sessions.append("crowd", [human(`${w}:${i}`)]);
      }),
    );
    const messages = await all("crowd", {}, clients[0]);
    expect(messages.map((m) => m.seq)).toEqual(Array.from({ length: 1000 }, (_, i) => i + 1));
    for (let w = 0; w < 16; w++) {
      const mine = messages.map((m) => m.data.content).filter((t) => t.startsWith(`${w}:`));
      expect(mine).toEqual(Array.from({ length: share[w] }, (_, i) => `${w}:${i}`));
    }
  });

  it("are exported and imported", async () => {
    await client.sessions.append("export", [human("a"), { role: "assistant", content: "b" }]);
    const document = await client.sessions.export("export");
    expect(document).toMatchObject({ format: "loci.session", version: 1, messages: [{ seq: 1, type: "human" }, { seq: 2, type: "ai" }] });
    const other = client.as({ user: "importer" });
    await other.sessions.import(document, { id: "copy" });
    expect((await other.sessions.export("copy")).messages).toEqual(document.messages);
    await other.sessions.import(document, { id: "copy", mode: "append" });
    expect((await all("copy", {}, other)).map((m) => m.seq)).toEqual([1, 2, 3, 4]);
    document.messages[1].data = 7;
    const long = Array.from({ length: 5001 }, (_, i) => ({ role: "user", content: `${i}` }));
    expect(await other.sessions.import(long, { id: "long" }, { idempotencyKey: "long" })).toMatchObject({ session_id: "long", imported: 5001, replaced: 0, trimmed: 0 });
    expect(await other.sessions.import(long, { id: "long", mode: "replace" })).toMatchObject({ imported: 5001, replaced: 5001 });
    expect((await other.sessions.history("long", { last: 2 })).messages.map(({ seq, data }) => [seq, data.content])).toEqual([[5000, "4999"], [5001, "5000"]]);
    await other.sessions.clear("long");
    await expect(other.sessions.import(document, { id: "bad" })).rejects.toMatchObject({ code: "invalid" });
    expect(await all("copy", {}, other)).toHaveLength(4);
  });
});

describe.each(["javascript", "python"])("messages that LangChain in %s wrote", (language) => {
  const { messages } = JSON.parse(readFileSync(join(import.meta.dirname, `../shared/${language}.json`), "utf8"));

  it("come back field by field", async () => {
    await client.sessions.append(`from-${language}`, messages);
    const back = await all(`from-${language}`);
    expect(back.map(({ type, data }) => ({ type, data }))).toEqual(messages);
  });

  it("become messages of LangChain here, with all they say", () => {
    const here = fromStored(messages);
    expect(here.map((m) => m.getType())).toEqual(["system", "human", "ai", "tool", "tool", "function", "generic", "ai", "ai", "remove"]);
    const again = toStored(here);
    for (const [i, { data }] of messages.entries()) {
      for (const field of ["content", "id", "name", "role", "tool_call_id", "status", "artifact", "usage_metadata", "invalid_tool_calls", "additional_kwargs", "response_metadata"]) {
        if (data[field] === undefined || data[field] === null) continue;
        if (field === "content" && again[i].type === "remove") continue; // has none, which each language says its own way
        expect(again[i].data[field], `message ${i}: ${field}`).toEqual(data[field]);
      }
      const plain = (calls) => calls?.map(({ name, args, id }) => ({ name, args, id })) ?? [];
      expect(plain(again[i].data.tool_calls)).toEqual(plain(data.tool_calls));
    }
  });
});

describe("LociChatMessageHistory", () => {
  it("keeps messages in their order, and forgets them", async () => {
    const history = new LociChatMessageHistory({ client, sessionId: "history" });
    expect(await history.getMessages()).toEqual([]);
    const call = new AIMessage({ content: "", id: "a", tool_calls: [{ name: "f", args: { x: 1 }, id: "c", type: "tool_call" }] });
    await history.addMessages([new HumanMessage("hello"), call, new ToolMessage({ content: "r", tool_call_id: "c" })]);
    expect(history.last).toMatchObject({ stored: true, value: { first_seq: 1, last_seq: 3 } });
    await history.addUserMessage("and?");
    await history.addAIMessage("that is all");
    const messages = await history.getMessages();
    expect(messages.map((m) => m.getType())).toEqual(["human", "ai", "tool", "human", "ai"]);
    expect(messages[1]).toBeInstanceOf(AIMessage);
    expect(messages[1].tool_calls).toEqual(call.tool_calls);
    expect((await new LociChatMessageHistory({ client, sessionId: "history", limit: 2 }).getMessages()).map((m) => m.text)).toEqual(["and?", "that is all"]);
    await history.addMessage(new RemoveMessage({ id: "a" }));
    expect((await history.getMessages()).map((m) => m.getType())).toEqual(["human", "tool", "human", "ai"]);
    await history.clear();
    await history.clear();
    expect(await history.getMessages()).toEqual([]);
  });

  it("lets the caller go on when the memory fails, unless it is strict", async () => {
    const heard = [];
    const history = new LociChatMessageHistory({ client: down, sessionId: "x", onError: (e) => heard.push(e.code) });
    expect(await history.getMessages()).toEqual([]);
    await history.addUserMessage("hello");
    expect(history.last).toMatchObject({ stored: false, error: expect.any(LociError) });
    expect(heard).toEqual(["unavailable", "unavailable"]);
    const strict = new LociChatMessageHistory({ client: down, sessionId: "x", strict: true });
    await expect(strict.getMessages()).rejects.toMatchObject({ code: "unavailable" });
    await expect(strict.addUserMessage("hello")).rejects.toMatchObject({ code: "unavailable" });
    await expect(history.clear()).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("LociSession of the OpenAI Agents SDK", () => {
  const items = [
    { type: "message", role: "user", content: [{ type: "input_text", text: "2 + 3?" }] },
    { type: "reasoning", id: "rs_1", content: [], rawContent: [{ type: "reasoning_text", text: "add" }], providerData: { encrypted: "…" } },
    { type: "function_call", id: "fc_1", callId: "c1", name: "add", arguments: '{"a":2,"b":3}', status: "completed" },
    { type: "function_call_result", callId: "c1", name: "add", status: "completed", output: { type: "text", text: "5" } },
    { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "5." }] },
  ];

  it("gives each of ten who pop at once another item", async () => {
    const clients = [client.as({ user: "pops" }), client.as({ user: "pops" })];
    const texts = Array.from({ length: 10 }, (_, n) => `item ${n}`);
    for (let round = 0; round < 5; round++) {
      const sessionId = `pops-${round}`;
      await new LociSession({ client: clients[0], sessionId, strict: true }).addItems(texts.map((content) => ({ type: "message", role: "user", content })));
      const took = await Promise.all(texts.map((_, n) => new LociSession({ client: clients[n % 2], sessionId }).popItem()));
      expect(took.map((item) => item.content).sort()).toEqual(texts);
      expect(await new LociSession({ client: clients[0], sessionId }).popItem()).toBeUndefined();
    }
  });

  it("keeps items exactly, and pops and clears them", async () => {
    const session = new LociSession({ client, sessionId: "agents" });
    expect(await session.getSessionId()).toBe("agents");
    expect(await session.getItems()).toEqual([]);
    expect(await session.popItem()).toBeUndefined();
    await session.addItems(items);
    expect(await session.getItems()).toEqual(items);
    expect(await session.getItems(2)).toEqual(items.slice(-2));
    expect(await session.getItems(0)).toEqual([]);
    expect(await session.popItem()).toEqual(items[4]);
    expect(await session.popItem()).toEqual(items[3]);
    await session.addItems([items[3]]);
    expect(await session.getItems()).toEqual(items.slice(0, 4));
    expect(await session.getItems(1)).toEqual([items[3]]);
    expect((await new LociChatMessageHistory({ client, sessionId: "agents" }).getMessages()).map((m) => `${m.getType()}:${m.text}`)).toEqual(["human:2 + 3?", "generic:", "ai:", "tool:5"]);
    await session.clearSession();
    expect(await session.getItems()).toEqual([]);
    expect(await new LociSession({ client }).getSessionId()).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("reads what LangChain wrote", async () => {
    const call = new AIMessage({ content: "Let me see", tool_calls: [{ name: "f", args: { x: 1 }, id: "c", type: "tool_call" }] });
    await new LociChatMessageHistory({ client, sessionId: "mixed" }).addMessages([new HumanMessage("hi"), call, new ToolMessage({ content: "r", tool_call_id: "c", name: "f" })]);
    expect(await new LociSession({ client, sessionId: "mixed" }).getItems()).toMatchObject([
      { role: "user", content: "hi" },
      { role: "assistant", content: [{ text: "Let me see" }] },
      { type: "function_call", callId: "c", name: "f", arguments: '{"x":1}' },
      { type: "function_call_result", callId: "c", output: { type: "text", text: "r" } },
    ]);
  });

  it("gives a real run its history, and lets it go on without", async () => {
    const inputs = [];
    const usage = new Usage({ requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 });
    const model = {
      async getResponse({ input }) {
        inputs.push(input);
        const last = input.at(-1);
        if (last.type === "function_call_result") return { usage, output: [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: `It is ${last.output.text}` }] }] };
        if (input.length === 1) return { usage, output: [{ type: "function_call", callId: "c1", name: "add", arguments: '{"a":2,"b":3}', status: "completed" }] };
        return { usage, output: [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: `Item ${input.length}` }] }] };
      },
    };
    const add = tool({ name: "add", description: "Adds", parameters: z.object({ a: z.number(), b: z.number() }), execute: async ({ a, b }) => String(a + b) });
    const agent = new Agent({ name: "Adder", instructions: "Add.", model, tools: [add] });
    const config = { session: new LociSession({ client, sessionId: "run" }) };
    expect((await run(agent, "2 + 3?", config)).finalOutput).toBe("It is 5");
    expect((await run(agent, "And again?", { session: new LociSession({ client, sessionId: "run" }) })).finalOutput).toBe("Item 5");
    expect(inputs.at(-1).map((i) => i.type ?? i.role)).toEqual(["message", "function_call", "function_call_result", "message", "message"]);
    const heard = [];
    const broken = new LociSession({ client: down, sessionId: "run", onError: (e) => heard.push(e.code) });
    expect((await run(agent, "2 + 3?", { session: broken })).finalOutput).toBe("It is 5");
    expect(broken.last).toMatchObject({ stored: false });
    expect(heard).toContain("unavailable");
    await expect(new LociSession({ client: down, sessionId: "x", strict: true }).addItems(items)).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("a conversation of the AI SDK", () => {
  const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };

  it("is loaded and saved around generateText", async () => {
    const model = new MockLanguageModelV4({
      doGenerate: async ({ prompt }) => {
        const first = prompt.length === 1;
        const content = first ? [{ type: "tool-call", toolCallId: "c1", toolName: "add", input: '{"a":2,"b":3}' }] : [{ type: "text", text: `After ${prompt.length}` }];
        return { content, finishReason: { unified: first ? "tool-calls" : "stop", raw: undefined }, usage, warnings: [] };
      },
    });
    const tools = { add: aiTool({ description: "Adds", inputSchema: z.object({ a: z.number(), b: z.number() }), execute: ({ a, b }) => a + b }) };
    const turn = async (content) => {
      const talk = conversation({ client, sessionId: "ai" });
      const { messages, loaded } = await talk.load();
      const user = { role: "user", content };
      const result = await generateText({ model, tools, messages: [...messages, user], stopWhen: stepCountIs(3) });
      const saved = await talk.save([user, ...result.responseMessages]);
      return { text: result.text, loaded, stored: saved.stored };
    };
    expect(await turn("2 + 3?")).toEqual({ text: "After 3", loaded: true, stored: true });
    expect(await turn("And?")).toEqual({ text: "After 5", loaded: true, stored: true });
    expect((await all("ai")).map((m) => [m.type, m.data.content])).toEqual([["human", "2 + 3?"], ["ai", ""], ["tool", "5"], ["ai", "After 3"], ["human", "And?"], ["ai", "After 5"]]);
  });

  it("keeps files, addresses and several results", async () => {
    const talk = conversation({ client, sessionId: "ai-files" });
    const messages = [
      { role: "user", content: [{ type: "text", text: "look" }, { type: "file", mediaType: "image/png", data: new Uint8Array([0, 255]) }, { type: "file", mediaType: "image/png", data: new URL("https://example.com/a.png") }] },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "1", toolName: "f", input: {} }, { type: "tool-call", toolCallId: "2", toolName: "g", input: { x: 1 } }] },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "1", toolName: "f", output: { type: "json", value: { ok: true } } }] },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "2", toolName: "g", output: { type: "error-text", value: "no" } }] },
    ];
    await talk.save([messages[0], messages[1], { role: "tool", content: [...messages[2].content, ...messages[3].content] }]);
    expect((await talk.load()).messages).toEqual(messages);
    expect((await conversation({ client, sessionId: "ai-files", limit: 1 }).load()).messages).toEqual(messages.slice(-1));
    expect((await all("ai-files")).slice(2).map((m) => [m.data.tool_call_id, m.data.status])).toEqual([["1", "success"], ["2", "error"]]);
  });

  it("begins again when the memory fails, and says so", async () => {
    const heard = [];
    const talk = conversation({ client: down, sessionId: "x", onError: (e) => heard.push(e.code) });
    expect(await talk.load()).toEqual({ messages: [], loaded: false });
    expect(await talk.save([{ role: "user", content: "x" }])).toMatchObject({ stored: false, error: { code: "unavailable" } });
    expect(await talk.save([])).toMatchObject({ stored: true });
    expect(heard).toEqual(["unavailable", "unavailable"]);
  });
});
