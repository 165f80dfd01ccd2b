// Clients of a server that asks for keys.
import { inspect } from "node:util";
import { LociClient, LociError } from "loci-memory";
import { startServer } from "./server.js";

let server;
beforeAll(async () => {
  server = await startServer({ scopes: "admin", tools: "notes", flags: ["--auth", "keys"] });
});
afterAll(() => server.stop());
afterEach(() => vi.unstubAllEnvs());

const keyOf = (...flags) => {
  const { token, key } = JSON.parse(server.run("--json", "key", "create", ...flags));
  return { token, id: key.id };
};
const client = (options) => new LociClient({ baseUrl: server.url, ...options });
const found = async (memory) => (await memory.search("olives")).matches.map(({ passage }) => passage);

async function refused(memory, code, ...hidden) {
  const error = await memory.notes.save({ content: "I like olives" }).catch((err) => err);
  expect(LociError.is(error)).toBe(true);
  expect(error.code).toBe(code);
  for (const secret of hidden) expect(`${inspect(error)} ${JSON.stringify(error)} ${inspect(memory)}`).not.toContain(secret);
}

it("a key says whose memory it is", async () => {
  const { token: alice } = keyOf("--user", "alice");
  const { token: bob } = keyOf("--user", "bob");
  await client({ apiKey: alice }).notes.save({ content: "I like olives" });
  expect(await found(client({ apiKey: alice }))).toEqual(["I like olives"]);
  expect(await found(client({ apiKey: alice }).as({ thread: "t" }))).toEqual(["I like olives"]);
  expect(await found(client({ apiKey: bob }))).toEqual([]);
  vi.stubEnv("LOCI_API_KEY", alice);
  expect(await found(client())).toEqual(["I like olives"]);
  expect(await found(client({ apiKey: bob }))).toEqual([]); // what the program says counts more than its environment
});

it("keys that are no good are refused, and shown nowhere", async () => {
  const { token, id } = keyOf("--user", "dora");
  await refused(client(), "unauthenticated");
  const wrong = token.slice(0, -1) + (token.endsWith("a") ? "b" : "a");
  await refused(client({ apiKey: wrong }), "unauthenticated", wrong);
  await refused(client({ apiKey: token, user: "alice" }), "forbidden", token);
  const { token: reading } = keyOf("--user", "dora", "--scope", "read");
  expect(await found(client({ apiKey: reading }))).toEqual([]);
  await refused(client({ apiKey: reading }), "forbidden", reading);
  const memory = client({ apiKey: token });
  await memory.notes.save({ content: "I like tea" });
  server.run("key", "revoke", id);
  await vi.waitFor(() => expect(memory.search("tea")).rejects.toMatchObject({ code: "unauthenticated" }), { timeout: 20_000, interval: 200 }); // it ends within 5 s
}, 40_000);
