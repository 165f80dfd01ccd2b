// Compares the results of the suite with lists of what does not apply.
// node evaluate.mjs LIST[,LIST] DIRECTORY...: one directory of results for each revision.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [lists, ...directories] = process.argv.slice(2);
const excuses = lists.split(",").flatMap((list) => readFileSync(new URL(list, import.meta.url), "utf8")
  .split("\n").map((line) => line.trim()).filter((line) => line && !line.startsWith("#"))
  .map((pattern) => ({ list, pattern, used: false })));

function excused(scenario, check) {
  for (const excuse of excuses) {
    const [wanted, only] = excuse.pattern.split("/");
    const fits = wanted.endsWith("*") ? scenario.startsWith(wanted.slice(0, -1)) : scenario === wanted;
    if (fits && (only === undefined || only === check)) {
      excuse.used = true;
      return true;
    }
  }
  return false;
}

let passed = 0, failed = 0, left = 0;
for (const directory of directories) {
  let scenarios = 0;
  for (const entry of readdirSync(directory).sort()) {
    const scenario = entry.replace(/^server-/, "").replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, "");
    scenarios++;
    for (const check of JSON.parse(readFileSync(join(directory, entry, "checks.json"), "utf8"))) {
      if (check.status === "SUCCESS") passed++;
      if (check.status !== "FAILURE") continue;
      if (excused(scenario, check.id)) {
        left++;
      } else {
        failed++;
        console.log(`FAIL ${scenario}/${check.id}: ${(check.errorMessage ?? check.description).split("\n")[0]}`);
      }
    }
  }
  if (scenarios === 0) {
    failed++;
    console.log(`FAIL ${directory}: the suite ran nothing`);
  }
}
for (const excuse of excuses) {
  if (!excuse.used) {
    failed++;
    console.log(`FAIL ${excuse.list}: nothing fails for ${excuse.pattern}: remove the line`);
  }
}
console.log(`${passed} passed, ${failed} failed, ${left} not applicable`);
process.exitCode = failed === 0 ? 0 : 1;
