// Nothing that a server says is believed before it is checked: every method of the client meets every bad reply.
import { HumanMessage } from "@langchain/core/messages";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as listen } from "node:net";
import { join } from "node:path";
import { inspect } from "node:util";
import { ConfigurationError, LociClient, LociError, remember } from "loci-memory";
import { conversation, memoryTools } from "loci-memory/ai";
import { createManageMemoryTool, createSearchMemoryTool, fromStored, LociChatMessageHistory } from "loci-memory/langchain";
import { LociSaver, LociStore } from "loci-memory/langgraph";
import { LociSession } from "loci-memory/openai-agents";
import { startServer } from "./server.js";

const lists = ["matches", "memories", "notes", "sessions", "messages", "items", "namespaces", "results", "checkpoints", "events", "tools", "files", "versions", "agents", "revisions", "chain", "from", "links", "outside"];
const bad = {
  "a list": "[1,2]",
  null: "null",
  "an empty object": "{}",
  nothing: "",
  "a page": "<!doctype html><title>Sign in</title>",
  "a text": '"text"',
  "a number": "12",
  "half an object": '{"matches": [',
  NaN: '{"matches": NaN}',
  "no UTF-8": Buffer.from([0x7b, 0xff, 0x7d]),
  depth: "[".repeat(100_000),
  "lists of the wrong things": JSON.stringify(Object.fromEntries(lists.map((name) => [name, [7]]))),
};

let server, url;
const answer = { status: 200, body: "", drip: false };
beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(answer.status, { "Content-Type": "application/json" });
      if (!answer.drip) return response.end(answer.body);
      const timer = setInterval(() => response.write(" "), 50);
      response.on("close", () => clearInterval(timer));
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  url = `http://127.0.0.1:${server.address().port}`;
});
afterAll(() => (server.closeAllConnections(), new Promise((done) => server.close(done))));
beforeEach(() => Object.assign(answer, { status: 200, body: "", drip: false }));

const place = { namespace: ["n"], key: "k" };
const calls = {
  "": { info: [], search: ["q"], recall: ["q"], context: ["q"], events: [], allEvents: [] },
  sessions: {
    create: [], list: [], all: [], get: ["s"], update: ["s", {}], clear: ["s"], clearAll: [], append: ["s", [{}]], history: ["s"], openai: ["s"], messages: ["s"],
    export: ["s"], import: [[{}]], trim: ["s", 1], pop: ["s"], search: ["s", { query: "q" }], summarise: ["s", { context_tokens: 1000 }], retrieve: ["s", { query: "q" }],
  },
  items: { put: [{ ...place, value: {} }], get: [place], delete: [place], search: [{ namespace_prefix: [] }], namespaces: [], batch: [[{ op: "put", ...place, value: {} }]] },
  notes: { save: [{ content: "x" }], list: [], all: [], get: ["x"], update: ["x", {}], delete: ["x"] },
  memories: {
    erase: [{ all: true }], list: [], all: [], get: ["x"], delete: ["x"], confirm: ["x"], forget: ["x"], restore: ["x"], supersede: ["x", { content: "y" }], helpful: ["x"], harmful: ["x"],
    history: ["x"], provenance: ["x"], links: ["x"], link: ["x", "relates_to", "y"], review: [], namespaces: [], stats: [], export: [], import: [["{}"]],
  },
  tools: { list: [], call: ["t"] },
  files: {
    list: [], all: [], read: ["/x"], write: ["/x", "y"], append: ["/x", "y"], update: ["/x", "a", "b"], move: ["/x", "/y"], delete: ["/x"],
    versions: ["/x"], restore: ["/x", 1], search: [{ query: "q" }],
  },
  agents: { list: [], tools: ["a"], call: ["a", "t"] },
  connectors: { inject: ["a", [{}]] },
  checkpoints: { put: [{}], putWrites: [{}], get: [{ thread_id: "t" }], fetch: [{ thread_id: "t" }, []], list: [], all: [], copyThread: ["a", "b"], prune: [["a"], "delete"], deleteForRuns: [["r"]] },
};
const walk = Object.entries(calls).flatMap(([group, methods]) => Object.entries(methods).map(([name, args]) => [`${group}.${name}`, group, name, args]));
const drain = async (found) => (typeof found?.next === "function" ? Array.fromAsync(found) : found);

it("the walk meets every method", () => {
  const methods = (part) => Object.getOwnPropertyNames(Object.getPrototypeOf(part)).filter((name) => name !== "constructor");
  const client = new LociClient();
  const groups = Object.keys(client);
  expect(groups.sort()).toEqual(Object.keys(calls).filter((group) => group !== "").sort());
  expect(methods(client).filter((name) => name !== "as" && name !== "forCall").sort()).toEqual(Object.keys(calls[""]).sort());
  for (const group of groups) expect(methods(client[group]).filter((name) => name !== "tree").sort(), group).toEqual(Object.keys(calls[group]).sort());
});

it.each(walk)("%s takes no bad reply for a result", async (_, group, name, args) => {
  const client = new LociClient({ baseUrl: url, retries: 0 });
  const part = group === "" ? client : client[group];
  for (const [kind, body] of Object.entries(bad)) {
    answer.body = body;
    const error = await (async () => drain(await part[name](...args)))().then((found) => `a result: ${inspect(found)}`, (error) => error);
    expect(error, kind).toMatchObject({ name: "LociError", code: "unsupported", status: 200, message: expect.stringContaining("no Loci server"), recovery: expect.stringMatching(/./) });
  }
});

// A server in trouble: how much of an answer it sends, and how a call then ends. A server that hangs keeps the connection open.
const whole = (status, body) => `HTTP/1.1 ${status} X\r\nConnection: close\r\nRetry-After: 7\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const half = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 99\r\n\r\n{";
const trouble = {
  hangs: ["", "unavailable"],
  "hangs in the head": [half.slice(0, 20), "unavailable"],
  "hangs in the body": [half, "unavailable"],
  resets: [null, "unavailable"],
  "breaks off": [half, "unavailable"],
  "fails half way": [half.replace("200", "500"), "unavailable"],
  fails: [whole(500, '{"code":"internal","detail":"failed"}'), "internal"],
  "is asked too much": [whole(429, '{"code":"unavailable","detail":"busy"}'), "unavailable"],
  "is busy": [whole(503, '{"code":"unavailable","detail":"busy"}'), "unavailable"],
};

/** Reads each request whole, and remembers it with the call that sent it. */
async function troubled(kind) {
  const [answer] = trouble[kind];
  const asked = [];
  const left = [];
  const open = new Set();
  const server = listen((socket) => {
    open.add(socket);
    let text = "";
    let call;
    socket.on("error", () => {});
    socket.on("close", () => (open.delete(socket), call && left.push(call)));
    socket.on("data", (data) => {
      text += data.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      if (end < 0 || call) return;
      const [first, ...lines] = text.slice(0, end).split("\r\n");
      const headers = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]));
      if (text.length - end - 4 < Number(headers["content-length"] ?? 0)) return;
      call = headers["x-call"];
      const [method, target] = first.split(" ");
      asked.push([call, method, target, headers["idempotency-key"]]);
      if (answer === null) socket.resetAndDestroy();
      else if (kind.startsWith("hangs")) socket.write(answer);
      else socket.end(answer);
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const close = () => (open.forEach((socket) => socket.destroy()), new Promise((done) => server.close(done)));
  return { asked, left, close, url: `http://127.0.0.1:${server.address().port}` };
}

const { paths } = JSON.parse(readFileSync(join(import.meta.dirname, "../../../rest/testdata/openapi.json"), "utf8"));

/** What the server's description says of a request: whether it takes a key, and whether it changes anything. */
function described(method, target) {
  for (const [path, entry] of Object.entries(paths)) {
    const operation = entry[method.toLowerCase()];
    if (!operation || !new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`).test(target.split("?")[0])) continue;
    const key = (operation.parameters ?? []).some((p) => p.$ref?.endsWith("/idempotency_key"));
    return { key, changes: /scope `(write|delete)`/.test(operation.description ?? "") };
  }
  throw new Error(target);
}

/** Where a method takes its options: the place of the parameter `o`. */
function placeOfOptions(method) {
  const text = method.toString();
  const parameters = [""];
  let depth = 0;
  for (const c of text.slice(text.indexOf("(") + 1)) {
    if (c === ")" && depth === 0) break;
    depth += "([{".includes(c) ? 1 : ")]}".includes(c) ? -1 : 0;
    if (c === "," && depth === 0) parameters.push("");
    else parameters[parameters.length - 1] += c;
  }
  return parameters.findIndex((p) => /^\s*o\s*(=|$)/.test(p));
}

/** What all methods come to at once: each is a call of a client of its own. */
const outcomes = (baseUrl, settings, options) =>
  Promise.all(
    walk.map(async ([call, group, name, args]) => {
      const client = new LociClient({ baseUrl, headers: { "X-Call": call }, ...settings });
      const part = group === "" ? client : client[group];
      const given = [...args];
      given[placeOfOptions(part[name])] = options;
      return [call, await (async () => drain(await part[name](...given)))().catch((error) => error)];
    }),
  );

const later = globalThis.setTimeout;
afterEach(() => (globalThis.setTimeout = later));

it.each(Object.keys(trouble))("every method meets a server that %s: what is sent again is a read, or has the key of the first attempt", async (kind) => {
  const there = await troubled(kind);
  const waited = [];
  globalThis.setTimeout = (work, ms, ...rest) => (ms === 7000 ? (waited.push(ms), later(work, 0, ...rest)) : later(work, ms, ...rest));
  const hangs = kind.startsWith("hangs");
  let again = 0;
  for (const [call, outcome] of await outcomes(there.url, hangs ? { timeout: 1000, retries: 0 } : { timeout: 60_000, retries: 1 })) {
    expect(outcome, call).toMatchObject({ name: "LociError", code: trouble[kind][1] });
    const asked = there.asked.filter(([by]) => by === call).map(([, ...rest]) => rest);
    if (hangs) {
      expect(outcome.message, call).toBe("the server did not answer within 1000 ms");
      continue;
    }
    const { key, changes } = described(...asked[0]);
    const attempts = kind === "fails" || (changes && !key) ? 1 : 2;
    expect(asked, call).toEqual(Array(attempts).fill(asked[0]));
    expect(asked[0][2] !== undefined, call).toBe(key && call !== "items.get"); // a batch that only reads
    again += attempts - 1;
  }
  if (kind === "is asked too much" || kind === "is busy") expect(waited).toEqual(Array(again).fill(7000));
  await there.close();
});

it("every method can be given up: the request ends, and the server sees it", async () => {
  const there = await troubled("hangs");
  const reason = new Error("enough");
  const abort = new AbortController();
  const calls = outcomes(there.url, {}, { signal: abort.signal });
  await vi.waitFor(() => expect(there.asked).toHaveLength(walk.length), { timeout: 20_000 });
  abort.abort(reason);
  for (const [call, outcome] of await calls) expect(outcome, call).toBe(reason);
  await vi.waitFor(() => expect(there.left).toHaveLength(walk.length), { timeout: 20_000 });
  await there.close();
});

it("says what is wrong with a field", async () => {
  const client = new LociClient({ baseUrl: url });
  answer.body = JSON.stringify({ matches: [{ type: "fact", id: 5, passage: "x", score: 1, explain: {} }], keyword_only: false });
  await expect(client.search("x")).rejects.toThrow("the reply.matches[0].id is a number; it must be a text");
  for (const results of [[{ op: "put" }], []]) {
    answer.body = JSON.stringify({ results });
    await expect(client.items.get(place)).rejects.toThrow("not those of the operations");
    await expect(new LociStore(client).get(["n"], "k")).rejects.toThrow("not those of the operations");
  }
  answer.status = 204;
  answer.body = "";
  await expect(client.search("x")).rejects.toThrow("the reply is empty");
});

it("knows an older server from what is not there", async () => {
  const own = await startServer();
  const older = new LociClient({ baseUrl: `${own.url}/elsewhere` });
  const session = new LociSession({ client: older, sessionId: "s" });
  for (const call of [() => older.checkpoints.get({ thread_id: "t" }), () => older.items.get(place), () => session.popItem()]) {
    await expect(call()).rejects.toMatchObject({ code: "unsupported", message: expect.stringContaining("older than this client") });
  }
  await own.stop();
});

it.each(["/v1", "/mcp/"])("says that an address with the path %s has one too many", async (path) => {
  const own = await startServer();
  const client = new LociClient({ baseUrl: own.url + path });
  const want = { code: "invalid", message: expect.stringContaining("baseUrl ends in /v1 or /mcp"), recovery: expect.stringContaining("without its last part") };
  await expect(client.items.get(place)).rejects.toMatchObject(want);
  await own.stop();
});

it.each([["notes.all"], ["sessions.all"], ["checkpoints.all"], ["allEvents"], ["sessions.messages"]])("%s ends where a list goes round in circles", async (path) => {
  answer.body = JSON.stringify({ ...Object.fromEntries(lists.map((name) => [name, []])), session_id: "s", next_cursor: "same", next: 7 });
  const client = new LociClient({ baseUrl: url });
  const [group, name] = path.split(".");
  await expect(drain(name ? client[group][name](...(name === "messages" ? ["s"] : [])) : client[group]())).rejects.toThrow("does not end");
});

it("a reply that never ends is late, and can be given up", async () => {
  answer.drip = true;
  const client = new LociClient({ baseUrl: url, retries: 0 });
  await expect(client.info({ timeout: 300 })).rejects.toMatchObject({ code: "unavailable", message: "the server did not answer within 300 ms" });
  const reason = new Error("enough");
  const abort = new AbortController();
  setTimeout(() => abort.abort(reason), 100);
  await expect(client.info({ signal: abort.signal })).rejects.toBe(reason);
});

it("attempts of one call are its own", async () => {
  let asked = 0;
  const client = new LociClient({ baseUrl: url, fetch: async () => (asked++, new Response("", { status: 503 })) });
  await expect(client.info({ retries: 1 })).rejects.toMatchObject({ code: "unavailable" });
  expect(asked).toBe(2);
  await expect(client.info({ retries: 11 })).rejects.toMatchObject({ code: "invalid" });
});

describe("only a LociError means that the memory is away", () => {
  it("a bad reply costs no turn and is told", async () => {
    answer.body = "<html>";
    const heard = [];
    const onError = (error) => heard.push(error.code);
    const client = new LociClient({ baseUrl: url });
    const history = new LociChatMessageHistory({ client, sessionId: "s", onError });
    expect(await history.getMessages()).toEqual([]);
    await history.addMessages([new HumanMessage("x")]);
    const session = new LociSession({ client, sessionId: "s", onError });
    expect(await session.getItems()).toEqual([]);
    await session.addItems([{ role: "user", content: "x" }]);
    const talk = conversation({ client, sessionId: "s", onError });
    expect(await talk.load()).toEqual({ messages: [], loaded: false });
    expect([history.last.stored, session.last.stored, (await talk.save([{ role: "user", content: "x" }])).stored]).toEqual([false, false, false]);
    for (const namespace of [undefined, ["m"]]) {
      for (const [make, args] of [[createManageMemoryTool, { content: "x" }], [createSearchMemoryTool, { query: "x" }]]) {
        expect(await make({ client, namespace, onError }).invoke(args)).toBe("Error: the memory cannot be reached now. Go on without it.");
      }
    }
    expect(heard).toEqual(Array(10).fill("unsupported"));
  });

  it("a mistake of the program is thrown", async () => {
    const broken = new Proxy({ sessions: {} }, { get: () => { throw new RangeError("of the program"); } }); // prettier-ignore
    const history = new LociChatMessageHistory({ client: broken, sessionId: "s" });
    const session = new LociSession({ client: broken, sessionId: "s" });
    const talk = conversation({ client: broken, sessionId: "s" });
    const tools = await memoryTools({ tools: { list: async () => [{ name: "t", description: "", family: "f", input_schema: {} }], call: () => JSON.parse("{") } });
    for (const work of [
      () => history.getMessages(), () => history.addMessages([new HumanMessage("x")]), () => session.getItems(), () => session.addItems([{ role: "user", content: "x" }]),
      () => talk.load(), () => talk.save([{ role: "user", content: "x" }]), () => remember(() => { throw new RangeError("x"); }),
    ]) await expect(work()).rejects.toThrow(RangeError); // prettier-ignore
    await expect(tools.t.execute({}, {})).rejects.toThrow(SyntaxError);
    await expect(remember(Promise.reject(new ConfigurationError("user_id")))).rejects.toThrow("Missing key");
  });

  it("a message that LangChain cannot read is said to be one", () => {
    expect(() => fromStored([{ type: "novel", data: {} }])).toThrow(LociError);
    expect(() => fromStored([{ type: "novel", data: {} }])).toThrow("a message of the type novel is none that LangChain can read");
  });
});

it("nothing shows a secret", async () => {
  const client = new LociClient({ baseUrl: url, apiKey: "sk-very-secret", user: "someone", headers: { "X-Key": "sk-very-secret" } });
  answer.body = "[]";
  const error = await client.info().catch((error) => error);
  const parts = [client, client.sessions, client.forCall({ thread_id: "t" }), new LociSaver(client), new LociStore(client), new LociSession({ client }), error];
  const shown = parts.map((part) => inspect(part, { depth: 9, showHidden: true }) + JSON.stringify(part)).join();
  expect(shown).not.toMatch(/very-secret|someone/);
});
