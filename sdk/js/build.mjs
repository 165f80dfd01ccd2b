// Writes dist: modules of both kinds from the same sources, and their types.
//
// npm runs it as "prepare" when the package is installed from a checkout. It brings
// the compiler along then, since npm installs no development dependencies of a
// directory; a package from the registry contains dist and needs none of this.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(fileURLToPath(import.meta.url));
process.chdir(root);

if (!existsSync("node_modules/typescript")) {
  const npm = process.env.npm_execpath;
  const [command, first] = npm ? [process.execPath, [npm]] : ["npm", []];
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(config_(global|prefix|local_prefix|omit|save.*|install_links)|lifecycle.*|package.*|command)$/i.test(name)));
  execFileSync(command, [...first, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--include=dev", "--loglevel=error"], { stdio: ["ignore", 2, 2], env });
}

const { default: ts } = await import("typescript");
rmSync("dist", { recursive: true, force: true });
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.json"], { stdio: "inherit" });

mkdirSync("dist/cjs", { recursive: true });
writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
for (const name of readdirSync("src", { recursive: true })) {
  if (!name.endsWith(".ts")) continue;
  const out = join("dist/cjs", name.replace(/\.ts$/, ".js"));
  mkdirSync(dirname(out), { recursive: true });
  const { outputText } = ts.transpileModule(readFileSync(join("src", name), "utf8"), {
    fileName: name,
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS },
  });
  writeFileSync(out, outputText);
  const types = name.replace(/\.ts$/, ".d.ts");
  cpSync(join("dist/esm", types), join("dist/cjs", types));
}
