import { createServer, request as forward } from "node:http";
import { inspect } from "node:util";
import { LociClient, LociError, remember } from "loci-memory";
import { startServer } from "./server.js";

let server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const client = (o = {}) => new LociClient({ baseUrl: server.url, ...o });
const code = (c) => expect.objectContaining({ name: "LociError", code: c });

/** A proxy in front of the server whose `meddle(n, request, response)` may answer the n-th request itself, or say "lose" to drop the server's answer. */
async function proxy(meddle) {
  let n = 0;
  const seen = [];
  const p = createServer((request, response) => {
    const what = meddle(++n, request, response);
    seen.push(request.headers);
    if (what === "answered") return;
    const { hostname, port } = new URL(server.url);
    const onward = forward({ hostname, port, path: request.url, method: request.method, headers: { ...request.headers, host: `${hostname}:${port}` } }, (reply) => {
      if (what === "lose") {
        reply.resume().on("end", () => request.socket.destroy());
        return;
      }
      response.writeHead(reply.statusCode, reply.headers);
      reply.pipe(response);
    });
    request.pipe(onward);
  });
  await new Promise((done) => p.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${p.address().port}`, seen, count: () => n, close: () => (p.closeAllConnections(), new Promise((done) => p.close(done))) };
}

describe("requests", () => {
  it("do what they say", async () => {
    const c = client({ user: "basics" });
    expect(await c.info()).toMatchObject({ name: "loci", api: 1, families: expect.arrayContaining(["facts", "notes"]) });
    const { id, outcome } = await c.notes.save({ content: "Ada prefers trains to planes", tags: ["travel"] });
    expect(outcome).toBe("created");
    expect((await c.notes.list({ tag: ["travel"] })).notes).toMatchObject([{ id, content: "Ada prefers trains to planes" }]);
    expect(await c.notes.update(id, { content: "Ada prefers night trains", if_version: 1 })).toMatchObject({ version: 2 });
    await expect(c.notes.update(id, { content: "x", if_version: 1 })).rejects.toEqual(code("conflict"));
    expect((await c.search("how does Ada travel?")).matches[0]).toMatchObject({ type: "fact", fact: { content: "Ada prefers night trains" } });
    expect((await c.recall({ topic: "trains", touch: true })).memories).toHaveLength(1);
    expect((await c.as({ agent: "guide" }).context("plan a journey for Ada by train")).text).toContain("night trains");
    const { events } = await c.events({ entity: id.slice(5), type: ["created", "updated"] });
    expect(events.map((e) => e.event_type)).toEqual(["updated", "created"]);
    await c.notes.delete(id);
    await expect(c.notes.get(id)).rejects.toEqual(code("not_found"));
  });

  it("are refused where something else would be stored", async () => {
    const c = client({ user: "odd" });
    for (const a of [NaN, Infinity, -Infinity]) {
      await expect(c.items.put({ namespace: ["n"], key: "k", value: { list: [{ a }] } })).rejects.toMatchObject({ code: "invalid", message: `a is ${a}, which JSON cannot hold`, recovery: expect.stringMatching(/./) });
    }
    for (const [a, name] of [[new Map([["x", 1]]), "a Map"], [new Set([1]), "a Set"], [new Date(NaN), "no date"]]) {
      await expect(c.items.put({ namespace: ["n"], key: "k", value: { list: [{ a }] } })).rejects.toMatchObject({ code: "invalid", message: `a is ${name}, which JSON cannot hold`, recovery: expect.stringMatching(/./) });
    }
    expect(await c.items.get({ namespace: ["n"], key: "k" })).toBeUndefined();
    await c.items.put({ namespace: ["n"], key: "date", value: { a: new Date(0) } });
    expect((await c.items.get({ namespace: ["n"], key: "date" })).value).toEqual({ a: "1970-01-01T00:00:00.000Z" });
    for (const [id, name] of [[undefined, "undefined"], [null, "null"], [5, "number"]]) {
      await expect(c.sessions.get(id)).rejects.toMatchObject({ code: "invalid", message: `session id must be a text, not ${name}`, recovery: expect.stringMatching(/./) });
    }
    await expect(c.sessions.append("s", { role: "user", content: "x" })).rejects.toMatchObject({ code: "invalid", message: "messages must be a list" });
    await expect(c.items.batch("x")).rejects.toMatchObject({ code: "invalid", message: "operations must be a list" });
  });

  it("refuse an option that is none of a call, which belongs into the request", async () => {
    await expect(client().search("trains", { limit: 3 })).rejects.toMatchObject({ code: "invalid", message: expect.stringMatching(/^limit is no option of a call/), recovery: expect.stringContaining("search({ query, limit })") });
    expect(await client().search("trains", { signal: undefined, timeout: 5000, limit: undefined })).toHaveProperty("matches");
  });

  it("refuse an option that is none of a client, which would use another memory", () => {
    for (const wrong of [{ url: server.url }, { userId: "bob" }, { namespace: ["x"] }]) {
      const refused = expect.objectContaining({ code: "invalid", message: expect.stringMatching(/^\w+ is no option of a client, which are baseUrl, .*tenant$/), recovery: expect.stringMatching(/./) });
      expect(() => new LociClient(wrong)).toThrow(refused);
      expect(() => client().as(wrong)).toThrow(refused);
    }
    expect(client().as({ user: undefined, thread: "t" })).toBeInstanceOf(LociClient);
  });

  it("are errors with a code and a way out", async () => {
    const error = await client().search({ limit: 0 }).catch((e) => e);
    expect(error).toBeInstanceOf(LociError);
    expect(error).toMatchObject({ code: "invalid", status: 400, recovery: expect.stringMatching(/./), requestId: expect.stringMatching(/./) });
    expect(LociError.is(error)).toBe(true);
  });

  it("call tools; what a tool refuses is a reply", async () => {
    const c = client({ user: "tools" });
    expect((await c.tools.list()).map((t) => t.name)).toContain("memory_save");
    const saved = await c.tools.call("memory_save", { content: "The kettle is blue" });
    expect(saved).toMatchObject({ is_error: false, structured: { note_id: expect.stringMatching(/^note-/) } });
    expect(await c.tools.call("memory_save", { content: " " })).toMatchObject({ is_error: true, text: expect.stringContaining("content must not be empty") });
    await expect(c.tools.call("no_such_tool")).rejects.toEqual(code("not_found"));
  });
});

describe("identity", () => {
  it("keeps users apart, whatever their names are", async () => {
    const names = ["zoë", "user/1", "用户", "a:b", "a", "😀"];
    for (const name of names) await client().as({ user: name }).notes.save({ content: `secret of ${name}` });
    for (const name of names) {
      const { notes } = await client({ user: name }).notes.list();
      expect(notes.map((n) => n.content)).toEqual([`secret of ${name}`]);
    }
  });

  it.each(["", " a", "a ", "a\nb", "\ud800", "a\0"])("refuses %j, which would be another name on the way", (user) => {
    expect(() => client({ user })).toThrow(code("invalid"));
  });

  it("needs the scope delegate", async () => {
    const own = await startServer({ scopes: "read,write" });
    await expect(new LociClient({ baseUrl: own.url, user: "bob" }).notes.list()).rejects.toEqual(code("forbidden"));
    await own.stop();
  });
});

describe("attempts", () => {
  it("store once what was stored when the answer was lost", async () => {
    const p = await proxy((n) => (n <= 2 ? "lose" : ""));
    const c = client({ baseUrl: p.url, user: "lost" });
    expect(await c.notes.save({ content: "The answer got lost" })).toMatchObject({ outcome: "created" });
    expect(p.count()).toBe(3);
    expect(new Set(p.seen.map((h) => h["idempotency-key"])).size).toBe(1);
    expect((await c.notes.list()).notes).toHaveLength(1);
    await p.close();
  });

  it("wait as long as the server says, and end", async () => {
    const times = [];
    const p = await proxy((_, __, response) => {
      times.push(performance.now());
      response.writeHead(503, { "Retry-After": "1" }).end();
      return "answered";
    });
    await expect(client({ baseUrl: p.url, retries: 1 }).info()).rejects.toEqual(code("unavailable"));
    expect(times).toHaveLength(2);
    expect(times[1] - times[0]).toBeGreaterThan(950);
    await p.close();
  });

  it("do not wait for a server that wants an hour", async () => {
    const p = await proxy((_, __, response) => (response.writeHead(429, { "Retry-After": "3600" }).end(), "answered"));
    await expect(client({ baseUrl: p.url }).info({ signal: AbortSignal.timeout(5000) })).rejects.toEqual(code("unavailable"));
    expect(p.count()).toBe(1);
    await p.close();
  });

  it.each([
    [400, "unsupported"],
    [404, "unsupported"],
    [401, "unauthenticated"],
    [413, "too_large"],
    [500, "unavailable"],
  ])("are not repeated after %d, which is %s when it is not of Loci's making", async (status, expected) => {
    const p = await proxy((_, __, response) => (response.writeHead(status, { "Content-Type": "text/html" }).end("<p>no"), "answered"));
    await expect(client({ baseUrl: p.url }).info()).rejects.toEqual(code(expected));
    expect(p.count()).toBe(1);
    await p.close();
  });

  it("go nowhere else: a redirect is no answer", async () => {
    const p = await proxy((_, __, response) => (response.writeHead(307, { Location: server.url + "/v1/info" }).end(), "answered"));
    await expect(client({ baseUrl: p.url, retries: 0 }).info()).rejects.toEqual(code("unsupported"));
    await p.close();
  });

  it("end in time, and when the caller says so", async () => {
    const p = await proxy(() => "answered"); // never
    await expect(client({ baseUrl: p.url, timeout: 1000, retries: 1 }).info()).rejects.toEqual(code("unavailable"));
    expect(p.count()).toBe(2);
    const reason = new Error("no more");
    await expect(client({ baseUrl: p.url }).info({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const abort = new AbortController();
    const pending = client({ baseUrl: p.url }).info({ signal: abort.signal });
    setTimeout(() => abort.abort(reason), 20);
    await expect(pending).rejects.toBe(reason);
    await p.close();
    await expect(client({ baseUrl: p.url, retries: 0 }).info()).rejects.toEqual(code("unavailable"));
  });
});

describe("options", () => {
  it.each([
    [{ baseUrl: "loci" }],
    [{ baseUrl: "ftp://x" }],
    [{ baseUrl: "http://user:key@x" }],
    [{ timeout: 0 }],
    [{ timeout: 1.5 }],
    [{ retries: 11 }],
    [{ apiKey: "a\nb" }],
    [{ apiKey: "" }],
  ])("%j is refused", (o) => {
    expect(() => client(o)).toThrow(code("invalid"));
  });

  it("show no key", () => {
    const c = client({ apiKey: "sk-very-secret", user: "someone" });
    expect(inspect(c, { depth: 9, showHidden: true }) + JSON.stringify(c)).not.toMatch(/secret|someone/);
  });

  it("send the key, and headers", async () => {
    const p = await proxy(() => "");
    await client({ baseUrl: p.url + "/", apiKey: "k", headers: { "X-Request-Id": "mine" } }).info();
    expect(p.seen[0]).toMatchObject({ authorization: "Bearer k", "x-request-id": "mine" });
    await p.close();
  });

  it("refuse what no address and no JSON can say", async () => {
    const c = client();
    for (const id of ["", ".", "..", "\udc00"]) await expect(c.notes.get(id)).rejects.toEqual(code("invalid"));
    const ring = {};
    ring.ring = ring;
    await expect(c.notes.save(ring)).rejects.toEqual(code("invalid"));
    await expect(c.info({ timeout: -1 })).rejects.toEqual(code("invalid"));
  });
});

describe("remember", () => {
  const down = new LociClient({ baseUrl: "http://127.0.0.1:9", retries: 0 });

  it("goes on when the memory is away, and says what happened", async () => {
    const heard = [];
    expect(await remember(client({ user: "r" }).notes.save({ content: "It works" }))).toMatchObject({ stored: true, value: { outcome: "created" } });
    expect(await remember(() => down.notes.save({ content: "lost" }), (e) => heard.push(e))).toMatchObject({ stored: false, error: code("unavailable") });
    expect(heard).toHaveLength(1);
    await expect(
      remember(() => {
        throw new RangeError("of the program");
      }),
    ).rejects.toThrow(RangeError);
    const unheard = () => {
      throw new Error("of the listener");
    };
    expect(await remember(() => down.notes.save({ content: "lost" }), unheard)).toMatchObject({ stored: false, error: code("unavailable") });
  });

  it("warns without any content", async () => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
    await remember(down.notes.save({ content: "private" }));
    expect(warned.mock.calls).toEqual([["loci: the memory failed: unavailable"]]);
    warned.mockRestore();
  });
});
