// The published validation suite of LangGraph against LociSaver and a running server.
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { LociClient } from "loci-memory";
import { LociSaver } from "loci-memory/langgraph";
import { startServer } from "./server.js";

let server;
let users = 0;

// Each set of validations is a user of its own: nothing of one shows in another.
const initializer = {
  checkpointerName: "LociSaver",
  async beforeAll() {
    server = await startServer();
  },
  beforeAllTimeout: 120_000,
  async afterAll() {
    await server.stop();
  },
  createCheckpointer: () => new LociSaver(new LociClient({ baseUrl: server.url, user: `user-${++users}` })),
};

validate(initializer);
deltaChannelHistoryTests(initializer);
