// LangChain's retrievers and key-value stores: what its standard suites for Python ask for; none is published for JavaScript.
import { BaseRetriever } from "@langchain/core/retrievers";
import { BaseStore } from "@langchain/core/stores";
import { LociClient } from "loci-memory";
import { LociByteStore, LociKeyValueStore, LociRetriever } from "loci-memory/langchain";
import { startServer } from "./server.js";

let server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());
const client = (user = crypto.randomUUID()) => new LociClient({ baseUrl: server.url, user });
const down = new LociClient({ baseUrl: "http://127.0.0.1:9", retries: 0 });
const bytes = (...of) => Uint8Array.from(of);

describe.each([
  ["LociByteStore", LociByteStore, [bytes(1, 2), bytes(0, 255), bytes()]],
  ["LociKeyValueStore", LociKeyValueStore, [{ a: [1, null] }, "text", 1.5]],
])("%s", (_, Kind, [a, b, c]) => {
  let store;
  beforeEach(() => {
    store = new Kind({ client: client() });
  });
  const keys = async (prefix) => (await Array.fromAsync(store.yieldKeys(prefix))).sort();

  it("is empty at first", async () => {
    expect(store).toBeInstanceOf(BaseStore);
    expect(await store.mget(["foo", "bar"])).toEqual([undefined, undefined]);
    expect(await store.mget([])).toEqual([]);
    await store.mset([]);
    expect(await keys()).toEqual([]);
  });

  it("sets, gets, overwrites and deletes", async () => {
    await store.mset([["foo", a], ["bar", b]]);
    expect(await store.mget(["foo", "none", "bar"])).toEqual([a, undefined, b]);
    await store.mset([["foo", b], ["foo", c]]);
    await store.mset([["foo", c]]);
    expect(await store.mget(["foo"])).toEqual([c]);
    await store.mdelete(["foo", "none"]);
    expect(await store.mget(["foo", "bar"])).toEqual([undefined, b]);
  });

  it("yields keys, by prefix", async () => {
    await store.mset([["foo", a], ["foobar", b], ["other/ü", c]]);
    expect(await keys()).toEqual(["foo", "foobar", "other/ü"]);
    expect(await keys("foo")).toEqual(["foo", "foobar"]);
    expect(await keys("none")).toEqual([]);
  });

  it("throws what fails", async () => {
    const gone = new Kind({ client: down });
    for (const work of [() => gone.mget(["a"]), () => gone.mset([["a", a]]), () => gone.mdelete(["a"]), () => gone.yieldKeys().next()]) {
      await expect(work()).rejects.toMatchObject({ code: "unavailable" });
    }
    await expect(store.mset([["", a]])).rejects.toMatchObject({ code: "invalid" });
  });
});

it("a store keeps more than one request takes, apart from other namespaces", async () => {
  const of = client();
  const store = new LociByteStore({ client: of, namespace: ["many"] });
  const large = Array.from({ length: 20 }, (_, n) => [`large ${n}`, new Uint8Array(190_000).fill(n)]);
  await store.mset([...large, ...Array.from({ length: 1100 }, (_, n) => [`k${n}`, bytes(1)])]);
  const got = await store.mget(large.map(([key]) => key));
  expect(got.map((value, n) => Buffer.compare(value, large[n][1]))).toEqual(large.map(() => 0));
  await new LociKeyValueStore({ client: of, namespace: ["many", "below"] }).mset([["deep", 1]]);
  expect(await Array.fromAsync(store.yieldKeys())).toHaveLength(1120);
  await new LociKeyValueStore({ client: of, namespace: ["many"] }).mset([["no bytes", { a: 1 }]]);
  await expect(store.mget(["no bytes"])).rejects.toThrow("none that this store wrote");
});

describe("LociRetriever", () => {
  it("finds memories, k of them", async () => {
    const own = client();
    for (let n = 0; n < 6; n++) await own.notes.save({ content: `Ada drinks tea number ${n}`, tags: ["tea"] });
    await own.items.put({ namespace: ["docs"], key: "k", value: { text: "Bob likes ferries" } });
    const retriever = new LociRetriever({ client: own, search: { types: ["fact"] } });
    expect(retriever).toBeInstanceOf(BaseRetriever);
    const found = await retriever.invoke("what does Ada drink?");
    expect(found).toHaveLength(4);
    expect(found[0]).toMatchObject({ id: expect.any(String), pageContent: expect.stringMatching(/^Ada drinks tea number \d$/), metadata: { type: "fact", tags: ["tea"] } });
    for (const k of [1, 3]) expect(await new LociRetriever({ client: own, k }).invoke("tea")).toHaveLength(k);
    const [ferry] = await new LociRetriever({ client: own, k: 1, search: { types: ["item"] } }).invoke("ferries");
    expect(ferry.metadata).toMatchObject({ key: "k", value: { text: "Bob likes ferries" } });
  });

  it("finds for the user of the call", async () => {
    const users = [crypto.randomUUID(), crypto.randomUUID()];
    for (const user of users) await client(user).notes.save({ content: `a secret of ${user}` });
    const retriever = new LociRetriever({ client: new LociClient({ baseUrl: server.url }), k: 10 });
    const found = await Promise.all(users.map((user_id) => retriever.invoke("secret", { configurable: { user_id } })));
    expect(found.map((documents) => documents.map((document) => document.pageContent))).toEqual(users.map((user) => [`a secret of ${user}`]));
    await expect(retriever.invoke("secret", { configurable: { user_id: "" } })).rejects.toMatchObject({ name: "ConfigurationError" });
    await expect(new LociRetriever({ client: down }).invoke("x")).rejects.toMatchObject({ code: "unavailable" });
  });
});
