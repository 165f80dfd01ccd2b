// Files, connectors and the agents of a graph.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LociClient } from "loci-memory";
import { startServer } from "./server.js";

// A graph with an agent that has a tool that only reads and one that writes, and an agent without tools.
const tools = {
  T1: { name: "memory_readonly", description: "Read-only memory tool", title: "Mem Read", commands: ["read", "list"] },
  T2: { name: "memory_write", description: "Write memory tool", title: "Mem Write" },
};
const wire = (source, sourceHandle, target, targetHandle) => ({ source, sourceHandle, target, targetHandle });
const graph = {
  nodes: [
    { id: "M", data: { template: "memory", config: { scope: "global" } } },
    { id: "A", data: { template: "agent", config: {} } },
    { id: "B", data: { template: "agent" } },
    ...Object.entries(tools).map(([id, config]) => ({ id, data: { template: "memoryTool", config } })),
    { id: "C", data: { template: "memoryConnector", config: { content: "full" } } },
  ],
  edges: [
    wire("A", "tools", "T1", "$self"),
    wire("A", "tools", "T2", "$self"),
    ...["T1", "T2", "C"].map((to) => wire("M", "$self", to, "$memory")),
    wire("C", "$self", "A", "setMemoryConnector"),
  ],
};
const directory = mkdtempSync(join(tmpdir(), "loci-graph-"));
writeFileSync(join(directory, "graph.json"), JSON.stringify(graph));
const server = await startServer({ env: { LOCI_GRAPH: join(directory, "graph.json") } });
afterAll(async () => {
  await server.stop();
  rmSync(directory, { recursive: true });
});
let users = 0;
const someone = (o = {}) => new LociClient({ baseUrl: server.url, user: `user-${++users}`, ...o });

it("keeps files", async () => {
  const client = someone({ thread: "t" });
  const { files } = client;
  expect(await files.write("/notes/today", "Met Ann.")).toMatchObject({ version: 1, kind: "file" });
  expect((await files.write("/notes/today", "Met Ann.")).unchanged).toBe(true);
  expect((await files.append("/notes/today", "Met Bob.")).lines).toBe(2);
  expect(await files.update("/notes/today", "Met", "Saw")).toBe(2);
  expect((await files.read("/notes/today")).content).toBe("Saw Ann.\nSaw Bob.");
  expect(await files.read("/none")).toBeUndefined();
  expect((await files.read("/notes/today", { version: 1 })).content).toBe("Met Ann.");
  expect((await files.versions("/notes/today")).map((v) => v.current)).toEqual([true, false, false]);
  expect((await files.search({ query: "Bob", path: "/notes", limit: 1 })).matches[0].file.path).toBe("/notes/today");
  await files.move("/notes", "/diary");
  expect((await files.restore("/diary/today", 1)).version).toBeGreaterThan(3);
  expect((await files.read("/diary/today")).content).toBe("Met Ann.");
  const paths = [];
  for await (const file of files.all({ recursive: true })) if (file.kind === "file") paths.push(file.path);
  expect(paths).toEqual(["/diary/today"]);
  expect((await files.list({ limit: 1 })).files[0]).toMatchObject({ path: "/diary", kind: "dir" });
  await expect(files.write("/diary/today", "x", { create: true })).rejects.toMatchObject({ code: "conflict" });
  await expect(files.write("/diary/today", "x", { if_version: 1 })).rejects.toMatchObject({ code: "conflict" });
  await files.tree({ memory: "plans", scope: "perThread" }).write("/a", "b");
  expect((await files.tree({ memory: "plans" }).list()).files).toEqual([]);
  expect(await files.delete("/")).toEqual({ files: 1, dirs: 1 });
});

it("has the agents of a graph, with their tools and connectors", async () => {
  const client = someone();
  const [a, b] = await client.agents.list();
  expect([a, b.connector]).toEqual([{ id: "A", tools: ["memory_readonly", "memory_write"], connector: true }, false]);
  const [reads, writes] = await client.agents.tools("A");
  expect(reads.input_schema.properties.command.enum).toEqual(["read", "list"]);
  expect(reads.annotations.readOnlyHint).toBe(true);
  expect(writes.input_schema.properties.command.enum).toContain("delete");
  expect((await client.agents.call("A", "memory_write", { path: "/notes", command: "append", content: "Met Ann." })).is_error).toBe(false);
  const refused = await client.agents.call("A", "memory_readonly", { path: "/notes", command: "delete" });
  expect([refused.is_error, refused.structured.error]).toEqual([true, { message: "unknown command: delete", code: "EINVAL" }]);
  expect((await client.files.tree({ memory: "M" }).read("/notes")).content).toBe("Met Ann.");
  const messages = await client.connectors.inject("A", [{ role: "system", content: "Be brief." }, { role: "user", content: "Hi." }]);
  expect(messages[1]).toEqual({ role: "system", content: 'Memory\n/notes: "Met Ann."' });
  expect(await someone().connectors.inject("A", [{ role: "user", content: "Hi." }])).toEqual([{ role: "user", content: "Hi." }]);
  for (const wrong of [() => client.agents.tools("Z"), () => client.agents.call("A", "none"), () => client.connectors.inject("B", [])])
    await expect(wrong()).rejects.toMatchObject({ code: "not_found" });
});
