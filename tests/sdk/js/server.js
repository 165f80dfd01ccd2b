// Starts the real server: bin/loci serve on a free port.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const loci = process.env.LOCI_BINARY ?? resolve(import.meta.dirname, "../../../bin/loci");

/** A server on a store of its own. `stop` ends it, `restart` starts it again on the same store and address. */
export async function startServer({ scopes = "read,write,delete,delegate", tools = "notes,facts", env = {}, flags: more = ["--user", "alice"] } = {}) {
  const directory = mkdtempSync(join(tmpdir(), "loci-sdk-"));
  const server = { url: "", process: undefined };
  const store = ["--store", `sqlite:${join(directory, "loci.db")}`];
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("LOCI_")));
  async function start(listen) {
    const flags = ["serve", "--listen", listen, ...store, "--tools", tools, ...more];
    const child = spawn(loci, flags, {
      cwd: resolve(import.meta.dirname, "../../.."), // where the README says that a server is started
      env: { ...clean, XDG_CONFIG_HOME: directory, LOCI_AUTH_MODE: "none", LOCI_SCOPES: scopes, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface({ input: child.stdout });
    const [line] = await Promise.race([once(lines, "line"), once(child, "exit").then(([code]) => Promise.reject(new Error(`loci serve ended with ${code}`)))]);
    server.url = line.trim();
    server.process = child;
  }
  async function end(signal) {
    const exited = once(server.process, "exit");
    server.process.kill(signal);
    await exited;
  }
  await start("127.0.0.1:0");
  return Object.assign(server, {
    async restart(signal = "SIGTERM") {
      const { host } = new URL(server.url);
      await end(signal);
      await start(host);
    },
    async kill() {
      await end("SIGKILL");
    },
    /** What another command says about the same store. */
    run: (...args) => execFileSync(loci, [...store, ...args], { env: { ...clean, XDG_CONFIG_HOME: directory, LOCI_SCOPES: scopes }, stdio: "pipe", timeout: 60_000 }).toString(),
    start: () => start(new URL(server.url).host),
    async stop() {
      if (server.process.exitCode === null && server.process.signalCode === null) await end("SIGTERM");
      rmSync(directory, { recursive: true, force: true });
    },
  });
}
