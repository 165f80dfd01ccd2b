// The first generation of the official TypeScript SDK.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { args, command, story } from "./story.mjs";

async function connect() {
  const client = new Client({ name: "js-sdk-1", version: "1" });
  await client.connect(new StdioClientTransport({ command, args, stderr: "inherit" }));
  return {
    names: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: (name, given) => client.callTool({ name, arguments: given }),
    close: () => client.close(),
  };
}

const first = await connect();
const second = await connect();
await second.names(); // the client checks results against schemas it has listed
await story(first, second);
await first.close();
await second.close();
