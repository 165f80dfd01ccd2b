// The second generation of the official TypeScript SDK: with the handshake of the
// older revisions, or pinned to revision 2026-07-28.

import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { args, command, files, story, storyOfQuestions } from "./story.mjs";

const modern = process.argv[2] === "modern";

async function connect(given = args, answer) {
  const options = modern ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {};
  if (answer) options.capabilities = { elicitation: { form: {} } };
  const client = new Client({ name: "js-client-2", version: "1" }, options);
  if (answer) client.setRequestHandler("elicitation/create", answer);
  await client.connect(new StdioClientTransport({ command, args: given, stderr: "inherit" }));
  assert.equal(client.getNegotiatedProtocolVersion(), modern ? "2026-07-28" : "2025-11-25");
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

const answers = { action: "decline", asked: [] };
const third = await connect(files, async (request) => {
  answers.asked.push(request.params.message);
  return { action: answers.action };
});
await third.names();
await storyOfQuestions(third, answers);
await third.close();
