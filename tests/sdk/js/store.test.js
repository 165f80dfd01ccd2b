// What LangGraph's stores promise, against LociStore and a running server.
import { InvalidNamespaceError } from "@langchain/langgraph-checkpoint";
import { LociClient } from "loci-memory";
import { LociSaver, LociStore } from "loci-memory/langgraph";
import { startServer } from "./server.js";

let server, store;
let users = 0;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());
beforeEach(() => {
  store = new LociStore(new LociClient({ baseUrl: server.url, user: `user-${++users}` }));
});

it("puts, gets, overwrites and deletes", async () => {
  expect(await store.get(["docs"], "a")).toBeNull();
  await store.put(["docs"], "a", { title: "first", deep: { n: [1, null, "ü"] } });
  const first = await store.get(["docs"], "a");
  expect(first).toEqual({ namespace: ["docs"], key: "a", value: { title: "first", deep: { n: [1, null, "ü"] } }, createdAt: expect.any(Date), updatedAt: expect.any(Date) });
  await store.put(["docs"], "a", { title: "second" });
  const second = await store.get(["docs"], "a");
  expect(second.value).toEqual({ title: "second" });
  expect(second.createdAt).toEqual(first.createdAt);
  expect(second.updatedAt.getTime()).toBeGreaterThanOrEqual(first.updatedAt.getTime());
  await store.delete(["docs"], "a");
  expect(await store.get(["docs"], "a")).toBeNull();
  await store.delete(["docs"], "a");
});

it("puts in a batch where put may not, as LangGraph's own stores do", async () => {
  await expect(store.put(["langgraph", "x"], "k", { a: 1 })).rejects.toBeInstanceOf(InvalidNamespaceError);
  await store.batch([{ namespace: ["langgraph", "x"], key: "k", value: { a: 1 } }]);
  expect(await store.get(["langgraph", "x"], "k")).toMatchObject({ value: { a: 1 } });
  await store.delete(["langgraph", "x"], "k");
  expect(await store.search(["langgraph"])).toEqual([]);
});

it.each([[[]], [[""]], [["a.b"]], [[1]]])("refuses the namespace %j", async (namespace) => {
  await expect(store.put(namespace, "k", { a: 1 })).rejects.toBeInstanceOf(InvalidNamespaceError);
  await expect(store.batch([{ namespace, key: "k", value: { a: 1 } }])).rejects.toBeInstanceOf(InvalidNamespaceError);
});

it("answers a batch in its order, reads before writes", async () => {
  await store.put(["b"], "old", { n: 1 });
  const results = await store.batch([
    { namespace: ["b"], key: "new", value: { n: 2 } },
    { namespace: ["b"], key: "old" },
    { namespace: ["b"], key: "new" },
    { namespacePrefix: ["b"], limit: 10 },
    { namespace: ["b"], key: "old", value: null },
    { matchConditions: undefined, limit: 10, offset: 0 },
  ]);
  expect(results).toEqual([undefined, expect.objectContaining({ value: { n: 1 } }), null, [expect.objectContaining({ key: "old" })], undefined, [["b"]]]);
  expect(await store.get(["b"], "old")).toBeNull();
  expect(await store.get(["b"], "new")).toMatchObject({ value: { n: 2 } });
  expect(await store.batch([])).toEqual([]);
  const many = await store.batch(Array.from({ length: 100 }, (_, i) => ({ namespacePrefix: ["a"], query: `n ${i}` }))); // more than one request takes
  expect(many.every((found) => Array.isArray(found))).toBe(true);
});

it("takes more operations than one request holds", async () => {
  await store.batch(Array.from({ length: 1200 }, (_, i) => ({ namespace: ["many"], key: `k${i}`, value: { n: i }, index: false })));
  const got = await store.batch(Array.from({ length: 1200 }, (_, i) => ({ namespace: ["many"], key: `k${i}` })));
  expect(got.map((item) => item?.value.n)).toEqual(Array.from({ length: 1200 }, (_, i) => i));
});

it("searches by prefix on whole labels, with limits and filters", async () => {
  await store.put(["docs", "en"], "1", { kind: "note", stars: 1, author: { name: "Ada" } });
  await store.put(["docs", "en"], "2", { kind: "note", stars: 4 });
  await store.put(["docs", "de"], "3", { kind: "page", stars: 5 });
  await store.put(["docsx"], "4", { kind: "note", stars: 5 });
  const keys = async (prefix, options) => (await store.search(prefix, options)).map((i) => i.key).sort();
  expect(await keys(["docs"])).toEqual(["1", "2", "3"]);
  expect(await keys([])).toEqual(["1", "2", "3", "4"]);
  expect(await keys(["docs"], { filter: { kind: "note" } })).toEqual(["1", "2"]);
  expect(await keys(["docs"], { filter: { kind: "note", stars: { $gt: 2 } } })).toEqual(["2"]);
  expect(await keys(["docs"], { filter: { kind: { $ne: "note" } } })).toEqual(["3"]);
  expect(await keys(["docs"], { filter: { author: { name: "Ada" } } })).toEqual(["1"]);
  expect(await keys(["docs"], { limit: 2 })).toHaveLength(2);
  const pages = [await keys(["docs"], { limit: 2 }), await keys(["docs"], { limit: 2, offset: 2 })].flat();
  expect(pages.sort()).toEqual(["1", "2", "3"]);
});

it("searches by meaning, and only what is indexed", async () => {
  await store.put(["m"], "cat", { text: "The cat sleeps on the sofa", aside: "quantum chromodynamics" }, ["text"]);
  await store.put(["m"], "tax", { text: "Taxes are due in April" });
  await store.put(["m"], "hidden", { text: "A kitten naps on the couch" }, false);
  const found = await store.search(["m"], { query: "where does the cat sleep?" });
  expect(found[0]).toMatchObject({ key: "cat", score: expect.any(Number) });
  expect(found[0].score).toBeGreaterThan(0);
  const hidden = (await store.search(["m"], { query: "quantum chromodynamics" })).find((i) => i.key === "cat");
  expect(hidden?.score ?? 0).toBeLessThan(found[0].score);
});

it("lists namespaces", async () => {
  for (const namespace of [["a", "b", "c"], ["a", "b", "d"], ["a", "x", "c"], ["z"]]) await store.put(namespace, "k", { v: 1 });
  expect(await store.listNamespaces()).toEqual([["a", "b", "c"], ["a", "b", "d"], ["a", "x", "c"], ["z"]]);
  expect(await store.listNamespaces({ prefix: ["a", "*"], suffix: ["c"] })).toEqual([["a", "b", "c"], ["a", "x", "c"]]);
  expect(await store.listNamespaces({ prefix: ["a"], maxDepth: 2 })).toEqual([["a", "b"], ["a", "x"]]);
  expect(await store.listNamespaces({ limit: 1, offset: 1 })).toEqual([["a", "b", "d"]]);
  const twice = [{ matchType: "prefix", path: ["a"] }, { matchType: "prefix", path: ["*", "b"] }];
  await expect(store.batch([{ matchConditions: twice, limit: 10, offset: 0 }])).rejects.toMatchObject({ code: "unsupported" });
});

it("lets items expire", async () => {
  const brief = new LociStore(new LociClient({ baseUrl: server.url, user: "brief" }), { ttl: 0.3 / 60, refreshOnRead: false });
  await brief.put(["t"], "k", { v: 1 });
  expect(await brief.get(["t"], "k")).not.toBeNull();
  await expect.poll(() => brief.get(["t"], "k"), { timeout: 10_000, interval: 100 }).toBeNull();
});

it("keeps users apart", async () => {
  await store.put(["same"], "k", { secret: "of one" });
  const other = new LociStore(new LociClient({ baseUrl: server.url, user: "other" }));
  expect(await other.get(["same"], "k")).toBeNull();
  expect(await other.search([], { query: "secret of one" })).toEqual([]);
  expect(await other.listNamespaces()).toEqual([]);
});

it("fails as a whole call when one operation of a batch fails", async () => {
  await expect(store.batch([{ namespace: ["f"], key: "x".repeat(2000), value: { a: 1 } }])).rejects.toMatchObject({ name: "LociError", code: expect.stringMatching(/invalid|too_large/) });
});

it.each([
  [{ $gt: -Infinity }, ["neg", "pos"]],
  [{ $gte: -Infinity, $lt: 0 }, ["neg"]],
  [{ $lt: Infinity }, ["neg", "pos"]],
  [{ $lt: -Infinity }, []],
  [{ $gt: NaN }, []],
  [{ $ne: NaN }, ["neg", "none", "pos"]],
  [{ $eq: Infinity }, []],
  [NaN, []],
  [[Infinity], []],
  [{ in: NaN }, []],
])("answers a filter by %o, which JSON cannot say", async (condition, keys) => {
  for (const [key, n] of [["neg", -1e308], ["pos", 2], ["none", null]]) await store.put(["n"], key, { n });
  expect((await store.search(["n"], { filter: { n: condition } })).map(({ key }) => key).sort()).toEqual(keys);
  const [before, found, after] = await store.batch([{ namespace: ["n"], key: "pos" }, { namespacePrefix: ["n"], filter: { n: condition } }, { namespace: ["n"], key: "neg" }]);
  expect([before.key, found.map(({ key }) => key).sort(), after.key]).toEqual(["pos", keys, "neg"]);
});

it("refuses a key of a filter with a period, and searches the fields of its index", async () => {
  await store.put(["n"], "k", { a: { b: 1 }, "a.b": 1 });
  await expect(store.search(["n"], { filter: { "a.b": 1 } })).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining("has a period") });
  expect(await store.search(["n"], { filter: { a: { b: 1 } } })).toHaveLength(1);
  const indexed = new LociStore(new LociClient({ baseUrl: server.url, user: `user-${++users}` }), { index: { fields: ["title"], dims: 3, embeddings: {} } });
  await indexed.put(["n"], "one", { title: "zebra", aside: "walrus" });
  await indexed.put(["n"], "two", { title: "lion", aside: "walrus" }, ["aside"]);
  expect((await indexed.search(["n"], { query: "zebra" }))[0].key).toBe("one");
  expect((await indexed.search(["n"], { query: "walrus" }))[0].key).toBe("two");
});

it("a thread of another language is refused with a sentence", async () => {
  const client = new LociClient({ baseUrl: server.url, user: `user-${++users}` });
  await client.checkpoints.put({ thread_id: "py", checkpoint_id: "1", format: 4, checkpoint: { type: "msgpack", data: "gA==" } });
  await expect(new LociSaver(client).getTuple({ configurable: { thread_id: "py" } })).rejects.toMatchObject({
    code: "unsupported",
    message: "another language or another serializer wrote this thread: it holds a value of the type msgpack",
  });
});
