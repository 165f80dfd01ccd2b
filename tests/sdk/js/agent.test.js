// A real LangGraph agent on LociSaver and LociStore: only its model is scripted.
import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, Command, END, getStore, interrupt, MessagesAnnotation, Send, START, StateGraph } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { LociClient } from "loci-memory";
import { createManageMemoryTool, createSearchMemoryTool } from "loci-memory/langchain";
import { LociSaver, LociStore } from "loci-memory/langgraph";
import { z } from "zod";
import { ScriptedModel } from "./model.js";
import { startServer } from "./server.js";

let server, client, checkpointer;
beforeAll(async () => {
  server = await startServer();
  client = new LociClient({ baseUrl: server.url, user: "agents" });
  checkpointer = new LociSaver(client);
});
afterAll(() => server.stop());

const add = tool(({ a, b }) => String(a + b), { name: "add", description: "Adds", schema: z.object({ a: z.number(), b: z.number() }) });
const user = (text) => ({ messages: [new HumanMessage(text)] });
const texts = (state) => state.messages.map((m) => `${m.getType()}:${m.text}`);
const thread = (thread_id, rest = {}) => ({ configurable: { thread_id, ...rest } });

it.each(["SIGTERM", "SIGKILL"])("a conversation goes on after the server ended by %s", async (signal) => {
  const where = thread(`restart-${signal}`);
  const llm = new ScriptedModel((m) => (m.at(-1).getType() === "tool" ? `It is ${m.at(-1).text}` : /\d/.test(m.at(-1).text) ? [{ name: "add", args: { a: 2, b: 3 } }] : `You asked ${m.length - 1} messages ago`));
  const agent = createReactAgent({ llm, tools: [add], checkpointer });
  expect(texts(await agent.invoke(user("2 + 3?"), where))).toEqual(["human:2 + 3?", "ai:", "tool:5", "ai:It is 5"]);
  await server.restart(signal);
  const again = createReactAgent({ llm, tools: [add], checkpointer: new LociSaver(client) });
  const after = await again.invoke(user("What did I ask?"), where);
  expect(texts(after)).toEqual(["human:2 + 3?", "ai:", "tool:5", "ai:It is 5", "human:What did I ask?", "ai:You asked 4 messages ago"]);
  expect(after.messages[1].tool_calls).toMatchObject([{ name: "add", args: { a: 2, b: 3 }, id: "call-1" }]);
  expect(after.messages[3].usage_metadata).toEqual({ input_tokens: 3, output_tokens: 1, total_tokens: 4 });
});

it("keeps the state up to a limit of tool calls, dangling calls included", async () => {
  const where = thread("limit");
  const llm = new ScriptedModel(() => [{ name: "add", args: { a: 1, b: 1 } }]);
  const agent = createReactAgent({ llm, tools: [add], checkpointer });
  await expect(agent.invoke(user("Go on for ever"), { ...where, recursionLimit: 5 })).rejects.toThrow(/[Rr]ecursion limit/);
  const { values, next } = await agent.getState(where);
  expect(values.messages.at(0).text).toBe("Go on for ever");
  expect(values.messages.filter((m) => m.getType() === "ai").length).toBe(3);
  expect(next).toEqual(["tools"]); // the last calls were not made yet
  expect(values.messages.at(-1).tool_calls).toHaveLength(1);
  llm.reply = () => "Enough.";
  expect(texts(await agent.invoke(null, where)).slice(-2)).toEqual(["tool:2", "ai:Enough."]);
});

it("interrupts and resumes, in another process's saver", async () => {
  const pay = tool(({ sum }) => interrupt({ question: `Pay ${sum}?` }), { name: "pay", description: "Pays", schema: z.object({ sum: z.number() }) });
  const make = (reply) => createReactAgent({ llm: new ScriptedModel(reply), tools: [pay], checkpointer: new LociSaver(client) });
  const where = thread("interrupt");
  const asked = await make(() => [{ name: "pay", args: { sum: 7 } }]).invoke(user("Pay the bill"), where);
  expect(asked.__interrupt__).toMatchObject([{ value: { question: "Pay 7?" } }]);
  await server.restart();
  const agent = make((m) => `They said ${m.at(-1).text}`);
  expect((await agent.getState(where)).tasks[0].interrupts).toMatchObject([{ value: { question: "Pay 7?" } }]);
  expect(texts(await agent.invoke(new Command({ resume: "yes" }), where)).slice(-2)).toEqual(["tool:yes", "ai:They said yes"]);
});

it("travels in time: the past is listed, and branches", async () => {
  const Steps = Annotation.Root({ trail: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }), big: Annotation() });
  const step = (name) => () => ({ trail: [name] });
  const graph = new StateGraph(Steps)
    .addNode("one", step("one"))
    .addNode("two", step("two"))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .addEdge("two", END)
    .compile({ checkpointer });
  const where = thread("travel");
  expect((await graph.invoke({ trail: ["start"], big: { bytes: new Uint8Array([0, 255]), at: new Map([["k", new Set([1])]]) } }, where)).trail).toEqual(["start", "one", "two"]);
  const past = [];
  for await (const state of graph.getStateHistory(where)) past.push(state);
  expect(past.map((s) => s.next)).toEqual([[], ["two"], ["one"], ["__start__"]]);
  const before = past[1];
  expect(before.values).toEqual({ trail: ["start", "one"], big: { bytes: new Uint8Array([0, 255]), at: new Map([["k", new Set([1])]]) } });
  const fork = await graph.updateState(before.config, { trail: ["changed"] });
  expect((await graph.invoke(null, fork)).trail).toEqual(["start", "one", "changed", "two"]);
  expect((await graph.getState(past[0].config)).values.trail).toEqual(["start", "one", "two"]); // the first history is as it was
  const filtered = [];
  for await (const t of checkpointer.list(where, { filter: { source: "update" } })) filtered.push(t);
  expect(filtered).toHaveLength(1);
});

it("keeps subgraphs and fanned out tasks", async () => {
  const State = Annotation.Root({ done: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }), n: Annotation({ reducer: (_, b) => b }) });
  const child = new StateGraph(State)
    .addNode("work", ({ n }) => ({ done: [n * 10 + (n === 2 ? interrupt("two?") : 0)] }))
    .addEdge(START, "work")
    .addEdge("work", END)
    .compile();
  const graph = new StateGraph(State)
    .addNode("split", () => ({}))
    .addNode("child", child)
    .addEdge(START, "split")
    .addConditionalEdges("split", () => [1, 2, 3].map((n) => new Send("child", { n, done: [] })), ["child"])
    .addEdge("child", END)
    .compile({ checkpointer });
  const where = thread("fan");
  await graph.invoke({ n: 0 }, where);
  expect((await graph.getState(where, { subgraphs: true })).tasks.filter((t) => t.interrupts.length > 0)).toHaveLength(1);
  expect((await graph.invoke(new Command({ resume: 5 }), where)).done).toEqual([10, 25, 30]);
});

it("copies, prunes and deletes threads", async () => {
  const graph = new StateGraph(MessagesAnnotation).addNode("echo", (s) => ({ messages: [{ role: "assistant", content: s.messages.at(-1).text }] })).addEdge(START, "echo").addEdge("echo", END).compile({ checkpointer });
  for (const text of ["a", "b", "c"]) await graph.invoke(user(text), thread("./odd id ü"));
  expect(await checkpointer.copyThread("./odd id ü", "copy")).toBeGreaterThan(3);
  expect(await checkpointer.prune(["copy"])).toBeGreaterThan(2);
  expect(texts((await graph.getState(thread("copy"))).values)).toEqual(["human:a", "ai:a", "human:b", "ai:b", "human:c", "ai:c"]);
  await graph.invoke(user("mine"), { ...thread("runs"), metadata: { run_id: "run-1" } });
  expect(await checkpointer.deleteForRuns(["run-0"])).toBe(0);
  expect(await checkpointer.deleteForRuns(["run-1"])).toBeGreaterThan(0);
  expect(await checkpointer.getTuple(thread("runs"))).toBeUndefined();
  await checkpointer.deleteThread("./odd id ü");
  expect(await checkpointer.getTuple(thread("./odd id ü"))).toBeUndefined();
  expect(await checkpointer.getTuple(thread("copy"))).toBeDefined();
});

it("takes metadata and state that JSON does not", async () => {
  const ring = { name: "ring" };
  ring.self = ring.other = ring;
  const metadata = { source: "loop", step: 1, parents: {}, odd: "a\0b", half: "\ud800", ring, when: new Map([["k", 1]]), big: Infinity };
  const checkpoint = { v: 4, id: "1ef0", ts: "2026-01-01T00:00:00.000Z", channel_values: { __proto__x: "v", constructor: "c" }, channel_versions: { __proto__x: 1, constructor: 2 }, versions_seen: {} };
  await checkpointer.put(thread("odd"), checkpoint, metadata, checkpoint.channel_versions);
  const tuple = await checkpointer.getTuple(thread("odd"));
  expect(tuple.checkpoint).toEqual(checkpoint);
  expect(tuple.metadata).toMatchObject({ odd: "a\0b", when: new Map([["k", 1]]) });
  const emptied = { ...checkpoint, id: "1ef1", channel_values: {}, channel_versions: { constructor: 3 } };
  await checkpointer.put(tuple.config, emptied, metadata, { constructor: 3 }); // a channel that holds nothing now
  expect((await checkpointer.getTuple(thread("odd"))).checkpoint).toEqual(emptied);
  await expect(checkpointer.put({ configurable: {} }, checkpoint, metadata, {})).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining("thread_id") });
  await expect(checkpointer.putWrites(thread("odd"), [["c", 1]], "t")).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining("checkpoint_id") });
});

it("keeps the first of what a task wrote, and the last of its interrupts and errors", async () => {
  const where = thread("writes", { checkpoint_ns: "", checkpoint_id: "1ef0" });
  await checkpointer.put(thread("writes"), { v: 4, id: "1ef0", ts: "", channel_values: {}, channel_versions: {}, versions_seen: {} }, { source: "loop", step: 0, parents: {} }, {});
  for (const n of [1, 2]) await checkpointer.putWrites(where, [["out", n], ["__interrupt__", n], ["__error__", n]], "task");
  const { pendingWrites } = await checkpointer.getTuple(where);
  expect(Object.fromEntries(pendingWrites.map(([, channel, value]) => [channel, value]))).toEqual({ out: 1, __interrupt__: 2, __error__: 2 });
});

it("remembers across threads with tools and the store", async () => {
  const store = new LociStore(client);
  const options = { client, namespace: ["memories", "{user_id}"] };
  const llm = new ScriptedModel((m) => {
    const last = m.at(-1);
    if (last.getType() === "tool") return `Reply: ${last.text}`;
    return last.text.startsWith("Remember") ? [{ name: "manage_memory", args: { content: last.text.slice(9), metadata: { category: "food" } } }] : [{ name: "search_memory", args: { query: last.text } }];
  });
  const look = async (_, { configurable }) => {
    expect(await getStore().search(["memories"])).toEqual([]); // that is the client's own: the tools keep what they store with the user of the call
    return JSON.stringify((await new LociStore(client.forCall(configurable)).search(["memories"])).map((i) => i.value));
  };
  const peek = tool(look, { name: "peek", description: "", schema: z.object({}) });
  const agent = createReactAgent({ llm, tools: [createManageMemoryTool(options), createSearchMemoryTool(options), peek], checkpointer, store });
  expect(texts(await agent.invoke(user("Remember I like olives"), thread("m1", { user_id: "u1" }))).at(-1)).toMatch(/^ai:Reply: created memory [0-9a-f-]{36}$/);
  expect(texts(await agent.invoke(user("What food do I like?"), thread("m2", { user_id: "u1" }))).at(-1)).toContain("I like olives");
  expect(texts(await agent.invoke(user("What food do I like?"), thread("m3", { user_id: "u2" }))).at(-1)).toBe("ai:Reply: []");
  llm.reply = (m) => (m.at(-1).getType() === "tool" ? m.at(-1).text : [{ name: "peek", args: {} }]);
  expect(texts(await agent.invoke(user("peek"), thread("m4", { user_id: "u1" }))).at(-1)).toBe('ai:[{"category":"food","content":"I like olives"}]');
});
