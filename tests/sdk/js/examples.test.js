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

const server = await startServer();
beforeAll(() => cpSync(join(root, "examples"), here, { recursive: true }));
afterAll(async () => {
  rmSync(here, { recursive: true, force: true });
  await server.stop();
});

it("are all known", () => {
  expect(readdirSync(join(root, "examples")).sort()).toEqual(Object.keys(expected).sort());
});

it.for(Object.keys(expected))("%s", async (name) => {
  expect(readme).toContain("```js\n" + readFileSync(join(root, "examples", name), "utf8") + "```");
  const { stdout } = await promisify(execFile)(process.execPath, [join(here, name)], { env: { PATH: process.env.PATH, LOCI_URL: server.url }, timeout: 20_000 });
  expect(stdout).toBe(expected[name]);
});
