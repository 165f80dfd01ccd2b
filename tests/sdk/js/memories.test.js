// Memories of every kind in one view, and the verbs of their lifecycle.
import { LociClient, LociError } from "loci-memory";
import { startServer } from "./server.js";

const server = await startServer({ tools: "all", env: { LOCI_AGENT: "butler" } });
afterAll(() => server.stop());
const client = new LociClient({ baseUrl: server.url });
const of = async (kind) => (await client.memories.list({ kind: [kind] })).memories[0];

beforeAll(async () => {
  await client.notes.save({ content: "Prefers window seats.", tags: ["travel"] });
  await client.tools.call("memory_store_fact", { subject: "user", predicate: "favorite_color", content: "blue *and* [green](x)" });
  await client.tools.call("memory_store_rule", { content: "Ask before booking." });
  await client.tools.call("memory_store_episode", { content: "Asked about seats.", butler: "butler" });
  await client.items.put({ namespace: ["docs"], key: "k1", value: { title: "Trip" } });
  await client.sessions.append("chat", [{ role: "user", content: "Where do I sit?" }]);
  await client.files.write("/notes/today", "Call Marta.");
});

it("lists every kind", async () => {
  const kinds = [];
  for await (const m of client.memories.all()) kinds.push(m.kind);
  expect(kinds).toEqual(["file", "session", "item", "episode", "rule", "fact", "note"]);
  const { memories } = await client.memories.list({ filter: { subject: "user" } });
  expect(memories).toMatchObject([{ kind: "fact", subject: "user", predicate: "favorite_color", state: "live" }]);
  expect((await client.memories.list({ kind: ["item"], filter: { subject: "user" } })).memories).toEqual([]);
  expect(await client.memories.get((await of("file")).id)).toMatchObject({ key: "/notes/today", content: "Call Marta." });
  expect((await client.memories.namespaces()).namespaces[1]).toEqual({ namespace: ["docs"], counts: { item: 1 }, total: 1 });
  expect((await client.memories.stats()).counts.rule).toBe(1);
  await expect(client.memories.list({ kind: ["notes"] })).rejects.toThrow("Invalid kind");
});

it("searches messages and files", async () => {
  const types = ["file", "message"];
  const { matches } = await client.search({ query: "Marta", types, mode: "keyword" });
  expect(matches).toMatchObject([{ type: "file", file: { key: "/notes/today" }, passage: "Call Marta." }]);
  const said = await client.search({ query: "sit", types, mode: "keyword" });
  expect(said.matches).toMatchObject([{ type: "message", message: { details: { session_id: "chat" } } }]);
  for (const { type } of (await client.search({ query: "Marta" })).matches) expect(types).not.toContain(type);
});

it("exports, and imports elsewhere, with digits that numbers of JavaScript do not have", async () => {
  await client.tools.call("manage_memory", { content: { digits: 1 } });
  const whole = await client.memories.export();
  expect(whole.left_out).toBe(0);
  const lines = whole.lines.map((line) => line.replace('"digits":1', '"digits":12345678901234567890'));
  const there = client.as({ user: "carol" }).memories;
  expect(await there.import(lines)).toMatchObject({ format: "loci.export", conflicts: 0 });
  expect(await there.import(lines)).toMatchObject({ created: 0, conflicts: 0 });
  expect((await there.export()).lines.join("\n")).toContain("12345678901234567890");
  expect((await client.memories.export({ kind: ["rule"], state: ["live"] })).lines).toHaveLength(3);
  await expect(there.import(lines.slice(1))).rejects.toThrow();
  for (const { id, value } of (await client.memories.list({ kind: ["note"] })).memories) if (value) await client.memories.delete(id);
});

it("exports in several requests what is more than one reply holds", async () => {
  const asked = [];
  const counting = new LociClient({ baseUrl: server.url, user: "paula", fetch: (url, o) => (asked.push(String(url)), fetch(url, o)) });
  const text = "x".repeat(200_000); // 10 MB in all; a reply has 8 MiB
  const operations = Array.from({ length: 50 }, (_, i) => ({ op: "put", namespace: ["many"], key: `k${i}`, value: { text }, index: [] }));
  await counting.items.batch(operations);
  asked.length = 0;
  const whole = await counting.memories.export();
  expect(asked).toHaveLength(2);
  expect(whole.lines).toHaveLength(52);
  expect(whole.next_cursor).toBeUndefined();
  expect(new Set(whole.lines.slice(1, -1).map((one) => JSON.parse(one).id)).size).toBe(50);
});

it("asks again for what had no room in a batch", async () => {
  const there = client.as({ user: "lara" });
  const keys = Array.from({ length: 200 }, (_, i) => `k${i}`); // 40 MB
  const of = (op, more) => keys.map((key) => ({ op, namespace: ["large"], key, ...more }));
  for (const { error } of await there.items.batch(of("put", { value: { text: "x".repeat(200_000) }, index: [] }))) expect(error).toBeUndefined();
  expect((await there.items.batch(of("get"))).map((one) => one.item?.key)).toEqual(keys);
  // What reads sees what was there before, however often it is asked.
  expect((await there.items.batch([...of("delete"), ...of("get")])).slice(200).map((one) => one.item?.key)).toEqual(keys);
  expect(await there.items.batch(of("get").slice(0, 1))).toEqual([{ op: "get" }]);
}, 120_000);

it("imports more lines than one request takes, in parts", async () => {
  const there = client.as({ user: "gina" }).memories;
  const lines = Array.from({ length: 4100 }, (_, i) => JSON.stringify({ type: "entity", name: `Ann ${i}` }));
  expect(await there.import(lines)).toEqual({ format: "mcp-memory", created: 4100, existing: 0, conflicts: 0 });
  const bad = [...lines.slice(0, 4050), '{"type":"entity"}', ...lines.slice(4050)];
  await expect(there.import(bad)).rejects.toThrow("the first 1 of 2 parts of the lines are imported, the others are not: line 4051: name of the entity");
  const large = JSON.stringify({ type: "entity", name: "Bob", observations: Array(4001).fill("x") });
  await expect(there.import([lines[0], large])).rejects.toThrow("lines 2 to 2 belong together (entity), and are more than one request imports: nothing was imported");
  const links = Array(10_000).fill('{"type":"link"}');
  await expect(there.import(['{"type":"header"}', ...links])).rejects.toThrow("the file is cut short");
});

it("weighs lines as the server does", async () => {
  let sent = 0; // lines in the last request
  const counting = (url, init) => {
    sent = JSON.parse(init.body).lines.length;
    return fetch(url, init);
  };
  const { memories } = new LociClient({ baseUrl: server.url, fetch: counting });
  const lines = [
    { type: "entity", name: "Ann".repeat(99), entityType: "person", observations: ["walks", "runs", "é".repeat(700)] },
    { type: "record", kind: "note", text: "first-class a-b-c 1-2 ".repeat(5000) },
    { type: "record", kind: "note", text: "x".repeat(5000) },
    { type: "record", kind: "note", text: "ñ".repeat(800_000) },
    { type: "record", kind: "checkpoint", body: { data: "y".repeat(90_000) } },
    { type: "revision", text: "z".repeat(9000) },
    { type: "relation", from: "a", to: "b" },
  ].map((line) => JSON.stringify(line)).concat("no JSON", "[1]", Array(1500).fill('{"type":"entity"}'));
  const of = (n) => [...lines, ...Array(n).fill('{"type":"link"}')];
  const refusal = (n) => memories.import(of(n)).catch((error) => error.code); // nothing of it can be stored
  let [one, more] = [0, 4000]; // so many links go in one request, and so many do not
  while (more - one > 1) {
    const n = Math.floor((one + more) / 2);
    expect(await refusal(n)).toBe("invalid");
    if (sent === of(n).length) one = n;
    else more = n;
  }
  expect([one > 0, more < 4000]).toEqual([true, true]);
  const raw = (n) => fetch(`${server.url}/v1/import`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ lines: of(n) }) });
  expect([(await raw(one)).status, (await raw(more)).status]).toEqual([400, 413]);
});

it("erases many memories", async () => {
  const { memories, notes } = client.as({ user: "dora" });
  for (const place of ["Rome", "Oslo"]) await notes.save({ content: `Was in ${place}.`, tags: ["trip"] });
  await notes.save({ content: "Prefers aisle seats.", metadata: { year: 2026 } });
  expect(await memories.erase({ tags: ["trip"] })).toEqual({ selected: 2, erased: 0 });
  await expect(memories.erase({ tags: ["trip"], expect: 3 })).rejects.toThrow("nothing was erased");
  for (let round = 0; round < 2; round++) {
    expect(await memories.erase({ tags: ["trip"], expect: 2 }, { idempotencyKey: "once" })).toEqual({ selected: 2, erased: 2 });
  }
  expect(await memories.erase({ kinds: ["fact"], filter: { year: 2026 } })).toEqual({ selected: 1, erased: 0 });
  expect(await memories.erase({ all: true, expect: 1 })).toMatchObject({ erased: 1 });
  expect((await memories.list()).memories).toEqual([]);
  expect(await of("note")).toBeDefined();
  await expect(memories.erase({})).rejects.toThrow("say what to erase");
});

it("erases many memories with several requests", async () => {
  const sent = [];
  let replies = [{ selected: 9, erased: 4, left: 5, next_cursor: "a" }, { selected: 5, erased: 3, left: 1, next_cursor: "b" }, { selected: 1, erased: 1 }];
  const fetch = async (_, { body, headers }) => {
    const { expect, cursor } = JSON.parse(body);
    sent.push([expect, cursor, new Headers(headers).get("idempotency-key")]);
    return Response.json(replies[sent.length - 1]);
  };
  const { memories } = new LociClient({ baseUrl: server.url, fetch });
  expect(await memories.erase({ tags: ["trip"], expect: 9 }, { idempotencyKey: "once" })).toEqual({ selected: 9, erased: 8 });
  expect(sent).toEqual([[9, undefined, "once"], [5, "a", "once:5"], [1, "b", "once:1"]]);
  sent.length = 0;
  replies = [{ selected: 9, erased: 4, left: 5, next_cursor: "a" }, { selected: 5, erased: 0, left: 5, next_cursor: "a" }];
  await expect(memories.erase({ tags: ["trip"], expect: 9 })).rejects.toThrow("does not end");
});

it("does what a large thread takes with several requests", async () => {
  const sent = [];
  let replies;
  const fetch = async (_, { body, headers }) => {
    const got = new Headers(headers);
    sent.push([JSON.parse(body).cursor, got.get("idempotency-key"), got.get("prefer")]);
    return Response.json(replies[sent.length - 1]);
  };
  const { checkpoints } = new LociClient({ baseUrl: server.url, fetch });
  for (const [count, total, call] of [
    ["erased", 9, (o) => checkpoints.prune(["t"], "keep_latest", o)],
    ["erased", 9, (o) => checkpoints.deleteForRuns(["r"], o)],
    ["copied", 2, (o) => checkpoints.copyThread("t", "u", o)],
  ]) {
    sent.length = 0;
    replies = [{ [count]: 4, next_cursor: "a" }, { [count]: 3, next_cursor: "b" }, { [count]: 2 }];
    expect(await call({ idempotencyKey: "once" })).toBe(total);
    expect(sent).toEqual([[undefined, "once", "parts"], ["a", "once:1", "parts"], ["b", "once:2", "parts"]]);
    sent.length = 0;
    replies = [{ [count]: 4, next_cursor: "a" }, { [count]: 3, next_cursor: "a" }];
    await expect(call()).rejects.toThrow("does not end");
    sent.length = 0;
    await expect(call({ idempotencyKey: "k".repeat(250) })).rejects.toThrow("idempotencyKey is 250 bytes long");
    expect(sent).toEqual([]);
  }
});

it("copies and erases a large thread", async () => {
  const { checkpoints } = client.as({ user: "greta" });
  const value = { type: "b", data: "" };
  for (const checkpoint_id of ["0", "1"]) {
    await checkpoints.put({ thread_id: "t", checkpoint_id, checkpoint: value, metadata: { run_id: "r" } });
    for (const half of [0, 5000]) {
      const writes = Array.from({ length: 5000 }, (_, i) => ({ task_id: "a", idx: half + i, channel: "x", value }));
      await checkpoints.putWrites({ thread_id: "t", checkpoint_id, writes });
    }
  }
  expect(await checkpoints.copyThread("t", "u")).toBe(2);
  expect((await checkpoints.get({ thread_id: "u" })).pending_writes.length).toBe(10_000);
  expect(await checkpoints.prune(["u"], "keep_latest")).toBe(1);
  expect(await checkpoints.deleteForRuns(["r"])).toBe(3);
});

it("erases runs of a graph that weighs as much as 20,000 checkpoints", { timeout: 120_000 }, async () => {
  const cursors = [];
  const fetching = (url, init) => {
    if (url.endsWith("/delete_for_runs")) cursors.push(JSON.parse(init.body).cursor);
    return fetch(url, init);
  };
  const { checkpoints } = new LociClient({ baseUrl: server.url, user: "gwen", fetch: fetching });
  const value = { type: "b", data: "" };
  const all = (of) => Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`c${n}`, of]));
  const count = 42; // a server that looked at all of them at once refused more than 400,000 names
  for (let at = 0; at < count; at++) {
    const put = { thread_id: "t", checkpoint_id: `${at + 10}`, checkpoint: value, metadata: { run_id: `r${at % 2}` }, channel_versions: all("1") };
    await checkpoints.put(at === 0 ? { ...put, channel_values: all(value) } : { ...put, parent_checkpoint_id: `${at + 9}` });
  }
  expect(await checkpoints.deleteForRuns(["r1"])).toBe(count / 2);
  expect(cursors.length).toBeGreaterThan(1);
  expect(new Set(cursors).size).toBe(cursors.length);
  const latest = await checkpoints.get({ thread_id: "t" });
  expect(latest.checkpoint_id).toBe(`${count + 8}`);
  expect(Object.keys(latest.channel_values).length).toBe(10_000);
  expect(await checkpoints.deleteForRuns(["r0"])).toBe(count / 2);
});

it("refuses a key without room for the keys of later parts before the first one", async () => {
  const sent = [];
  const fetch = async (url) => (sent.push(url), Response.json({ selected: 4001, erased: 4001 }));
  const { memories, sessions, items } = new LociClient({ baseUrl: server.url, fetch });
  const many = Array.from({ length: 10_001 }, () => ({ role: "user", content: "x" }));
  const operations = Array.from({ length: 251 }, (_, i) => ({ op: "delete", namespace: ["a"], key: `${i}` }));
  const long = { idempotencyKey: "k".repeat(255) };
  await expect(memories.erase({ all: true, expect: 4001 }, long)).rejects.toThrow("a later part, which ends in :4001");
  await expect(sessions.append("s", many, long)).rejects.toThrow("idempotencyKey is 255 bytes long");
  await expect(sessions.import(many, {}, long)).rejects.toThrow("idempotencyKey is 255 bytes long");
  await expect(items.batch(operations, long)).rejects.toThrow("idempotencyKey is 255 bytes long");
  expect(sent).toEqual([]);
  expect(await memories.erase({ all: true, expect: 4000 }, long)).toMatchObject({ erased: 4001 });
});

it("has the verbs of their lifecycle", async () => {
  const [note, rule] = [(await of("note")).id, (await of("rule")).id];
  expect((await client.memories.confirm(note)).state).toBe("live");
  expect((await client.memories.forget(note)).state).toBe("forgotten");
  expect((await client.memories.list({ state: ["forgotten"] })).memories).toHaveLength(1);
  expect((await client.memories.restore(note)).content).toBe("Prefers window seats.");
  const newer = await client.memories.supersede(note, { content: "Prefers aisle seats." });
  expect(newer.supersedes).toBe(note);
  expect((await client.memories.history(note)).chain.map((m) => m.state)).toEqual(["superseded", "live"]);
  expect((await client.memories.restore(note)).supersedes).toBe(newer.id);
  expect((await client.memories.provenance(newer.id)).from[0].id).toBe(note);
  expect((await client.memories.helpful(rule)).details).toMatchObject({ success_count: 1 });
  expect((await client.memories.harmful(rule, { reason: "It asked twice." })).details).toMatchObject({ harmful_reasons: ["It asked twice."] });
  expect((await client.memories.review()).memories.map((m) => m.kind)).toEqual(["episode", "rule"]);
  expect(await client.memories.link(newer.id, "supports", rule)).toContainEqual(expect.objectContaining({ type: "supports", to: rule }));
  expect(await client.memories.links(rule)).toHaveLength(1);
  const refused = await client.memories.confirm((await of("file")).id).catch((e) => e);
  expect(refused).toBeInstanceOf(LociError);
  expect(refused.recovery).toContain("Write the file");
});

it("deletes by any id", async () => {
  for (const kind of ["file", "message", "session", "item", "episode", "rule"]) {
    const { id } = await of(kind);
    await client.memories.delete(id);
    await expect(client.memories.get(id)).rejects.toThrow("no memory");
  }
});
