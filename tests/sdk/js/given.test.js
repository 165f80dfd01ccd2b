// What adapters are made with: a mistake of the program is told where it is made, and not by the first
// call that needs what is missing.
import { LociClient } from "loci-memory";
import { conversation, memoryTools } from "loci-memory/ai";
import { createManageMemoryTool, createSearchMemoryTool, LociByteStore, LociChatMessageHistory, LociKeyValueStore, LociRetriever } from "loci-memory/langchain";
import { LociSaver, LociStore } from "loci-memory/langgraph";
import { LociSession } from "loci-memory/openai-agents";

const client = new LociClient({ baseUrl: "http://127.0.0.1:1" });
const invalid = (text) => expect.objectContaining({ code: "invalid", message: expect.stringContaining(text), recovery: expect.stringMatching(/./) });

describe("a client in options", () => {
  it.each([
    ["LociSaver", (given) => new LociSaver(given)],
    ["LociStore", (given) => new LociStore(given)],
  ])("is refused by %s, which takes it by itself", (name, make) => {
    make(client);
    for (const given of [{ client }, undefined, null, "http://127.0.0.1:7437", { baseUrl: "http://127.0.0.1:7437" }]) {
      expect(() => make(given)).toThrow(invalid(`${name} needs a LociClient`));
    }
  });
});

const made = [
  ["LociSession", (o) => new LociSession(o), {}],
  ["LociChatMessageHistory", (o) => new LociChatMessageHistory(o), { sessionId: "s" }],
  ["LociRetriever", (o) => new LociRetriever(o), {}],
  ["LociByteStore", (o) => new LociByteStore(o), {}],
  ["LociKeyValueStore", (o) => new LociKeyValueStore(o), {}],
  ["createManageMemoryTool", (o) => createManageMemoryTool(o), {}],
  ["createSearchMemoryTool", (o) => createSearchMemoryTool(o), {}],
  ["conversation", (o) => conversation(o), { sessionId: "s" }],
];

describe.each(made)("%s", (name, make, more) => {
  it("takes its client as an option", () => {
    make({ client, ...more });
    for (const given of [client, undefined, null, {}, { ...more, client: {} }, { ...more, client: undefined }, { ...more, client: { client } }]) {
      expect(() => make(given)).toThrow(invalid(`${name} needs a LociClient`));
    }
  });

  it("refuses what it would ignore", () => {
    expect(() => make({ client, ...more, session_id: "s" })).toThrow(invalid("session_id is no option of"));
    make({ client, ...more, onSomething: undefined });
  });
});

it("a conversation has a session", () => {
  for (const make of [(o) => new LociChatMessageHistory(o), (o) => conversation(o)]) {
    for (const sessionId of [undefined, null, "", 7]) expect(() => make({ client, sessionId })).toThrow(invalid("sessionId must be a text"));
  }
  for (const sessionId of [null, "", 7]) expect(() => new LociSession({ client, sessionId })).toThrow(invalid("sessionId must be a text"));
});

it("options of stores and tools that are ignored are refused", async () => {
  expect(() => new LociStore(client, { ttlMinutes: 5 })).toThrow(invalid("ttlMinutes is no option of"));
  await expect(memoryTools(client, { family: "notes" })).rejects.toThrow(invalid("family is no option of"));
  await expect(memoryTools({ client })).rejects.toThrow(invalid("memoryTools needs a LociClient"));
});
