// The examples run, and are those that the README shows.
import { execFile } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { LociClient } from "loci-memory";
import { startServer } from "./server.js";

const root = join(import.meta.dirname, "../../../sdk/js");
const readme = readFileSync(join(root, "README.md"), "utf8");
const here = join(import.meta.dirname, "node_modules/.examples"); // where the package and the frameworks are found
const expected = {
  "chat.mjs": "I noted it.\nYour notes say: likes olives\n",
  "notes.mjs": "Ada prefers night trains to planes\n",
  "langgraph.mjs": "This thread took 2 steps.\n",
  "langchain.mjs": "human: My name is Ada.\nai: Hello Ada.\n",
  "sessions.mjs": "stored\n1 human When is the train?\n2 ai At nine.\n",
};

const [, flags] = /^ {4}LOCI_SCOPES=(\S+ loci serve .*)$/m.exec(readme);
const server = await startServer({ scopes: flags.split(" ")[0], tools: /--tools (\S+)/.exec(flags)[1], env: { LOCI_GRAPH: /--graph (\S+)/.exec(flags)[1] } });

/** The replies of a model that notes what it hears, and looks at its notes when it is asked. */
function spoken({ messages, tools }) {
  const last = messages.at(-1);
  const calls = { "I like olives": { path: "/likes", command: "append", content: "likes olives" }, "What do I like?": { path: "/likes", command: "read" } };
  if (last.role === "user") {
    if (last.content === "What do I like?" && !messages[1].content.includes("[F] likes")) throw new Error(JSON.stringify(messages));
    const call = { name: tools[0].function.name, arguments: JSON.stringify(calls[last.content]) };
    return { role: "assistant", content: null, tool_calls: [{ id: "c", type: "function", function: call }] };
  }
  const done = JSON.parse(last.content);
  return { role: "assistant", content: done.command === "append" ? "I noted it." : `Your notes say: ${done.result.content}` };
}
const model = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  response.setHeader("Content-Type", "application/json").end(JSON.stringify({ choices: [{ message: spoken(JSON.parse(body)) }] }));
});
await new Promise((done) => model.listen(0, "127.0.0.1", done));
beforeAll(() => cpSync(join(root, "examples"), here, { recursive: true }));
afterAll(async () => {
  rmSync(here, { recursive: true, force: true });
  model.close();
  await server.stop();
});

it("are all the programs of the README, whose fragments are marked, and whose packages it installs", () => {
  const blocks = [...readme.matchAll(/^```js\n(.*?)^```/gms)].map(([, text]) => text);
  const programs = Object.keys(expected).map((name) => readFileSync(join(root, "examples", name), "utf8"));
  expect(blocks.filter((text) => !text.startsWith("// Fragment: ")).sort()).toEqual(programs.sort());
  expect([...readme.matchAll(/^\s*(```|~~~)(\S*)/gm)].map(([, , language]) => language).filter((_, n) => n % 2 === 0).every((language) => language === "js")).toBe(true);
  const installed = new Set([...readme.matchAll(/^ {4}npm install (@?[a-z].*)$/gm)].flatMap(([, names]) => names.split(" ")));
  for (const [, name] of blocks.join("").matchAll(/(?:from|import) "((?:@[^/"]+\/)?[^/"]+)[^"]*"/g)) expect(name === "loci-memory" || name.startsWith("node:") || installed.has(name), name).toBe(true);
  expect(new Set(readme.match(/thread_id: "[^"]*"|sessionId: "[^"]*"/g)?.filter((id) => !id.includes('"s1"')) ?? []).size).toBe(0); // no two share a name
});

it("are all known", () => {
  expect(readdirSync(join(root, "examples")).sort()).toEqual(Object.keys(expected).sort());
});

it.for([...Object.keys(expected), ...Object.keys(expected).reverse()].map((name, n) => [n, name]))("%i: %s", async ([, name]) => {
  expect(readme).toContain("```js\n" + readFileSync(join(root, "examples", name), "utf8") + "```");
  await new LociClient({ baseUrl: server.url }).files.tree({ memory: "M" }).delete("/");
  const url = `http://127.0.0.1:${model.address().port}/v1`;
  const env = { PATH: process.env.PATH, LOCI_URL: server.url, OPENAI_BASE_URL: url, OPENAI_API_KEY: "k", MODEL: "m" };
  const running = promisify(execFile)(process.execPath, [join(here, name)], { env, timeout: 20_000 });
  running.child.stdin.end("I like olives\nWhat do I like?\n");
  const { stdout } = await running;
  expect(stdout).toBe(expected[name]);
});
