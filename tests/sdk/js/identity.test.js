// Whose memory the tools of a model are about: each call says, for itself.
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ConfigurationError, LociClient, LociError } from "loci-memory";
import { createManageMemoryTool, createSearchMemoryTool } from "loci-memory/langchain";
import { LociStore } from "loci-memory/langgraph";
import { ScriptedModel } from "./model.js";
import { startServer } from "./server.js";

let server, client;
beforeAll(async () => {
  server = await startServer();
  client = new LociClient({ baseUrl: server.url });
});
afterAll(() => server.stop());

const config = (user) => ({ configurable: { user_id: user, langgraph_user_id: user } });
const texts = (reply) => JSON.parse(reply).map((found) => found.value.content).sort();
const code = (c) => expect.objectContaining({ code: c });
const places = [[undefined], [["memories"]], [["memories", "{user_id}"]], [["memories", "{langgraph_user_id}"]]];

describe.each(places)("tools over %j", (namespace) => {
  const tools = (c = client) => [createManageMemoryTool({ client: c, namespace }), createSearchMemoryTool({ client: c, namespace })];

  it("keep two users apart", async () => {
    const [manage, search] = tools();
    const users = ["ada", "bob"].map((name) => `${name}-${crypto.randomUUID()}`);
    const made = {};
    for (const user of users) made[user] = (await manage.invoke({ content: `of ${user}` }, config(user))).replace("created memory ", "");
    for (const [user, other] of [users, [...users].reverse()]) {
      expect(texts(await search.invoke({ query: "of" }, config(user)))).toEqual([`of ${user}`]);
      expect(await manage.invoke({ action: "update", id: made[other], content: "stolen" }, config(user))).toMatch(/^Error: /);
      expect(await manage.invoke({ action: "delete", id: made[other] }, config(user))).toMatch(/^Error: /);
      expect(texts(await search.invoke({ query: "of" }, config(other)))).toEqual([`of ${other}`]);
    }
    expect((await client.search({ query: "of", limit: 1000 })).matches.filter(({ passage }) => users.some((user) => passage.includes(user)))).toEqual([]);
  });

  it("keep the users of calls at the same time apart", async () => {
    const [manage, search] = tools();
    const users = Array.from({ length: 8 }, () => crypto.randomUUID());
    const found = await Promise.all(
      users.map(async (user) => {
        await manage.invoke({ content: `of ${user}` }, config(user));
        return texts(await search.invoke({ query: "of" }, config(user)));
      }),
    );
    expect(found).toEqual(users.map((user) => [`of ${user}`]));
  });

  it("throw what the server refuses, and go to no other place", async () => {
    const alone = await startServer({ scopes: "read,write,delete" });
    const heard = [];
    const own = new LociClient({ baseUrl: alone.url });
    const given = { client: own, namespace, onError: (error) => heard.push(error) };
    for (const configurable of [{ user_id: "bob" }, { user_id: "alice", org_id: "o" }, { user_id: "alice", agent_id: "a" }]) {
      const call = { configurable: { langgraph_user_id: "x", ...configurable } };
      await expect(createManageMemoryTool(given).invoke({ content: "for bob" }, call)).rejects.toEqual(code("forbidden"));
      await expect(createSearchMemoryTool(given).invoke({ query: "bob" }, call)).rejects.toEqual(code("forbidden"));
    }
    expect(heard).toEqual([]);
    expect((await own.search("bob")).matches).toEqual([]);
    await alone.stop();
    const reads = await startServer({ scopes: "read" });
    await expect(tools(new LociClient({ baseUrl: reads.url }))[0].invoke({ content: "x" }, config("alice"))).rejects.toEqual(code("forbidden"));
    await reads.stop();
  });

  it.each([[""], [null], [" x"], ["a\nb"], [{}], [true]])("refuse the user %j", async (user) => {
    for (const [tool, args] of [[tools()[0], { content: "x" }], [tools()[1], { query: "x" }]]) {
      await expect(tool.invoke(args, { configurable: { user_id: user, langgraph_user_id: "x" } })).rejects.toEqual(code("invalid"));
    }
  });
});

it.each([[{}], [{ thread_id: "t" }], [{ thread_id: "t", user_id: null }], [{ thread_id: "t", user_id: "" }]])("a missing key aborts the call: %j", async (configurable) => {
  const given = { client, namespace: ["memories", "{user_id}"] };
  for (const call of [createManageMemoryTool(given).invoke({ content: "x" }, { configurable }), createSearchMemoryTool(given).invoke({ query: "x" }, { configurable })]) {
    const missing = await call.catch((error) => error);
    expect(missing).toBeInstanceOf(ConfigurationError);
    expect(missing).toBeInstanceOf(LociError);
    const keys = Object.keys(configurable).map((key) => `'${key}'`).join(", ");
    expect(missing).toMatchObject({ key: "user_id", message: `Missing key in 'configurable' field: user_id. Available keys: [${keys}]` });
    expect(LociError.is(missing) && ConfigurationError.is(missing)).toBe(true);
  }
});

it("the server's own configuration error is one here", async () => {
  const missing = await createSearchMemoryTool({ client }).invoke({ query: "x" }, { configurable: { agent_id: "a" } }).catch((error) => error);
  expect(missing).toBeInstanceOf(ConfigurationError);
  expect(missing.message).toMatch(/^Missing key in 'configurable' field: user_id\. Available keys: \[/);
});

it.each([[["m", "{user_id}"], "ada@example.com"], [["{user_id}"], "langgraph"], [["m", ""], "a"], [[], "a"]])("%j of %j is an error of the program", async (namespace, user) => {
  await expect(createManageMemoryTool({ client, namespace }).invoke({ content: "x" }, config(user))).rejects.toThrow("is no namespace");
});

it("a mistake of the program is no empty memory", async () => {
  const search = createSearchMemoryTool({ client: { forCall: () => ({ tools: {} }) } });
  await expect(search.invoke({ query: "x" }, config("u"))).rejects.toThrow(TypeError);
});

it("what a call names replaces what the client has", async () => {
  const seen = [];
  const fetch = async (_, { headers }) => (seen.push(Object.fromEntries([...headers].filter(([name]) => name.startsWith("loci-")))), Response.error());
  const whole = new LociClient({ baseUrl: server.url, retries: 0, fetch, org: "o", agent: "a", user: "u", thread: "t", session: "s" });
  const of = async (configurable) => (await whole.forCall(configurable).info().catch(() => {}), seen.at(-1));
  const own = { "loci-org": "o", "loci-agent": "a", "loci-user": "u", "loci-thread": "t", "loci-session": "s" };
  expect(await of({ other: 1 })).toEqual(own);
  expect(await of({ thread_id: "x" })).toEqual({ ...own, "loci-thread": "x" });
  expect(await of({ user_id: 7 })).toEqual({ "loci-org": "o", "loci-agent": "a", "loci-user": "7" });
  expect(await of({ agent_id: "x" })).toEqual({ "loci-org": "o", "loci-agent": "x" });
  expect(await of({ org_id: "x", user_id: "y" })).toEqual({ "loci-org": "x", "loci-user": "y" });
});

// How LangMem's guides use its tools, with two users; only the model and the language are others.
describe.each(places)("LangMem's published usage over %j", (namespace) => {
  it("keeps two users apart", async () => {
    const store = new LociStore(client);
    const agent = createReactAgent({
      llm: new ScriptedModel((messages) => {
        const { type, _getType, content } = messages.at(-1);
        if ((type ?? _getType()) === "tool") return content;
        return content.startsWith("Remember") ? [{ name: "manage_memory", args: { content } }] : [{ name: "search_memory", args: { query: content } }];
      }),
      tools: [createManageMemoryTool({ client, namespace }), createSearchMemoryTool({ client, namespace })],
      store,
    });
    const say = async (content, user) => (await agent.invoke({ messages: [{ role: "user", content }] }, config(user))).messages.at(-1).content;
    const [a, b] = [crypto.randomUUID(), crypto.randomUUID()];
    expect(await say("Remember my favorite color is blue", a)).toContain("created memory ");
    expect(await say("Remember I prefer dark mode", b)).toContain("created memory ");
    expect(texts(await say("What are my preferences?", a))).toEqual(["Remember my favorite color is blue"]);
    expect(texts(await say("What are my preferences?", b))).toEqual(["Remember I prefer dark mode"]);
  });
});
