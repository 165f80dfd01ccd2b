// Clients of a server that asks for keys.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

it("the token of this machine is found, and stays here", async () => {
  const data = mkdtempSync(join(tmpdir(), "loci-token-"));
  vi.stubEnv("XDG_DATA_HOME", data);
  const own = await startServer({ tools: "notes", env: { LOCI_AUTH_MODE: "token", XDG_DATA_HOME: data } });
  try {
    await new LociClient({ baseUrl: own.url }).notes.save({ content: "I like olives" });
    await refused(new LociClient({ baseUrl: own.url, apiKey: "loci_wrong" }), "unauthenticated");
    const sent = [];
    const asks = (baseUrl, headers) =>
      new LociClient({
        baseUrl,
        headers,
        retries: 0,
        fetch: async (_, { headers }) => {
          sent.push(new Headers(headers).get("authorization"));
          return new Response("{}", { status: 400 });
        },
      })
        .search("olives")
        .catch(() => undefined);
    for (const host of ["memory.example.com", "127.0.0.1.example.com", "10.0.0.1"]) await asks(`http://${host}:7437`);
    await asks(own.url, { authorization: "Bearer mine" });
    await asks("http://localhost:7437");
    expect(sent.slice(0, 4)).toEqual([null, null, null, "Bearer mine"]);
    expect(sent[4]).toMatch(/^Bearer loci_local_[a-z2-7]{52}$/);
    vi.stubEnv("XDG_DATA_HOME", join(data, "elsewhere"));
    await refused(new LociClient({ baseUrl: own.url }), "unauthenticated");
  } finally {
    await own.stop();
    rmSync(data, { recursive: true, force: true });
  }
});
