// The examples run, and are those that the README shows.
import { execFile } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { startServer } from "./server.js";

const root = join(import.meta.dirname, "../../../sdk/js");
const readme = readFileSync(join(root, "README.md"), "utf8");
const here = join(import.meta.dirname, "node_modules/.examples"); // where the package and the frameworks are found
const expected = {
  "notes.mjs": "Ada prefers night trains to planes\n",
  "langgraph.mjs": "This thread took 2 steps.\n",
  "langchain.mjs": "human: My name is Ada.\nai: Hello Ada.\n",
  "sessions.mjs": "stored\n1 human When is the train?\n2 ai At nine.\n",
};

const [, flags] = /^ {4}LOCI_SCOPES=(\S+ loci serve .*)$/m.exec(readme);
const server = await startServer({ scopes: flags.split(" ")[0], tools: /--tools (\S+)/.exec(flags)[1] });
beforeAll(() => cpSync(join(root, "examples"), here, { recursive: true }));
afterAll(async () => {
  rmSync(here, { recursive: true, force: true });
  await server.stop();
});

it("are all the programs of the README, whose fragments are marked, and whose packages it installs", () => {
  const blocks = [...readme.matchAll(/^```js\n(.*?)^```/gms)].map(([, text]) => text);
  const programs = Object.keys(expected).map((name) => readFileSync(join(root, "examples", name), "utf8"));
  expect(blocks.filter((text) => !text.startsWith("// Fragment: ")).sort()).toEqual(programs.sort());
  const installed = new Set([...readme.matchAll(/^ {4}npm install (@?[a-z].*)$/gm)].flatMap(([, names]) => names.split(" ")));
  for (const [, name] of blocks.join("").matchAll(/from "((?:@[^/"]+\/)?[^/"]+)[^"]*"/g)) expect(name === "loci-memory" || installed.has(name), name).toBe(true);
  expect(new Set(readme.match(/thread_id: "[^"]*"|sessionId: "[^"]*"/g)?.filter((id) => !id.includes('"s1"')) ?? []).size).toBe(0); // no two share a name
});

it("are all known", () => {
  expect(readdirSync(join(root, "examples")).sort()).toEqual(Object.keys(expected).sort());
});

it.for([...Object.keys(expected), ...Object.keys(expected).reverse()].map((name, n) => [n, name]))("%i: %s", async ([, name]) => {
  expect(readme).toContain("```js\n" + readFileSync(join(root, "examples", name), "utf8") + "```");
  const { stdout } = await promisify(execFile)(process.execPath, [join(here, name)], { env: { PATH: process.env.PATH, LOCI_URL: server.url }, timeout: 20_000 });
  expect(stdout).toBe(expected[name]);
});
