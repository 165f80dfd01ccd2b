#!/usr/bin/env node
// Starts the program that npm installed beside this package for this platform.
"use strict";

const name = `@loci-memory/cli-${process.platform}-${process.arch}`;
const known = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64", "win32-arm64", "freebsd-x64"];

function program() {
  const file = process.platform === "win32" ? "loci.exe" : "loci";
  try {
    return require.resolve(`${name}/bin/${file}`);
  } catch {
    const why = known.includes(`${process.platform}-${process.arch}`)
      ? `The package ${name} is missing. npm installs it by itself, unless optional dependencies are left out\n` +
        `(--omit=optional, --no-optional) or node_modules was copied from another machine.\n` +
        `Install again without that option, or by itself: npm install ${name}`
      : `There is no program for ${process.platform} on ${process.arch}. There is one for ${known.join(", ")}.\n` +
        `Build it from source: go install github.com/loci-memory/loci/cmd/loci@latest`;
    end(why);
  }
}

function end(why) {
  process.stderr.write(`loci: ${why}\n`);
  process.exit(6);
}

function refused(err) {
  const remedy = err.code === "EACCES" || err.code === "EPERM"
    ? "Allow this user to execute it. If its volume is mounted noexec, install on another one."
    : `Install it again: npm install ${name}`;
  end(`${path} cannot be started: ${err.code}\n${remedy}`);
}

const path = program();
const args = process.argv.slice(2);
if (process.execve && process.platform !== "win32") {
  // Node ends with a trace of its own where it may not execute the program.
  const { accessSync, constants } = require("node:fs");
  try {
    accessSync(path, constants.X_OK);
  } catch (err) {
    refused(err);
  }
  // The program takes this process over: streams, signals and exit code are its own. Node
  // calls that experimental, on standard error, where the program's own words belong.
  process.emitWarning = () => {};
  process.execve(path, [path, ...args], process.env);
}
const child = require("node:child_process").spawn(path, args, { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", refused);
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
