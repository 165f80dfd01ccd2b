// A loci serve that trusts a real provider. As a program it gives both to a story in another
// language, which it starts: stage.mjs LOCI FOLDER COMMAND…

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { startProvider, consent, tokenFor } from "./provider.mjs";

async function listen(server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server.address().port;
}

async function freePort() {
  const server = createServer();
  const port = await listen(server);
  server.close();
  await once(server, "close");
  return port;
}

// startStage starts both. The server takes tokens for its MCP address and, from clients that
// find only the description without a path, for its origin.
export async function startStage(loci, work) {
  const provider = await startProvider();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  writeFileSync(`${work}/loci.yaml`, `
store: sqlite:${work}/memory
listen: 127.0.0.1:${port}
tools: [notes]
http: {public_url: "${url}"}
auth:
  mode: jwt
  issuers:
    - {name: provider, issuer: "${provider.issuer}", audience: ["${url}/mcp", "${url}"], tenant: {claim: tenant}, leeway: 0s}
`);
  const made = spawn(loci, ["--config", `${work}/loci.yaml`, "tenant", "create", "acme"],
    { stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, LOCI_SCOPES: "admin" } });
  await once(made, "exit");
  const server = spawn(loci, ["--config", `${work}/loci.yaml`, "serve"], { stdio: ["ignore", "pipe", "inherit"] });
  await once(server.stdout, "data");
  return { provider, url, stop: () => { server.kill(); provider.stop(); } };
}

// What a story may ask of the stage, by POST with a list of arguments and an answer in JSON.
async function control({ provider }) {
  const acts = {
    offer: provider.offer, live: provider.live, granted: provider.granted, rotate: provider.rotate, stop: provider.stop,
    consent, token: (resource, login) => tokenFor(provider.issuer, resource, login),
  };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    try {
      response.end(JSON.stringify(await acts[request.url.slice(1)](...JSON.parse(body)) ?? null));
    } catch (error) {
      response.writeHead(500).end(String(error.stack ?? error));
    }
  });
  return { address: `http://127.0.0.1:${await listen(server)}`, close: () => { server.closeAllConnections(); server.close(); } };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [loci, work, ...command] = process.argv.slice(2);
  const stage = await startStage(loci, work);
  const acts = await control(stage);
  const story = spawn(command[0], command.slice(1),
    { stdio: ["ignore", "inherit", "inherit"], env: { ...process.env, LOCI_URL: stage.url, STAGE_URL: acts.address } });
  const [code] = await once(story, "exit");
  stage.stop();
  acts.close();
  process.exit(code ?? 1);
}
