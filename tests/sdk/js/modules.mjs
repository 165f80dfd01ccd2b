// Every entry of the package loads as both kinds of modules, and has types.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const base = new URL("node_modules/loci-memory/", import.meta.url);
const { exports } = JSON.parse(readFileSync(new URL("package.json", base)));
const entries = Object.keys(exports).filter((entry) => entry !== "./package.json");
for (const entry of entries) {
  for (const kind of ["import", "require"]) {
    for (const file of Object.values(exports[entry][kind])) assert(existsSync(new URL(file, base)), `${entry}: ${file} is missing`);
  }
  const name = "loci-memory" + entry.slice(1);
  const module = await import(name);
  // The AI SDK is an ES module only, which older releases of node cannot require.
  const required = entry === "./ai" && !process.features.require_module ? module : require(name);
  assert.deepEqual(Object.keys(required).filter((k) => k !== "__esModule").sort(), Object.keys(module).sort(), name);
}
console.log(`${entries.length} entries load in node ${process.versions.node}`);
