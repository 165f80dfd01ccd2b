// A conversation, as any program reads it.
import { LociClient, remember } from "loci-memory";

const client = new LociClient();
const { id: trip } = await client.sessions.create();
const { stored } = await remember(
  client.sessions.append(trip, [
    { role: "user", content: "When is the train?" },
    { role: "assistant", content: "At nine." },
  ]),
);
console.log(stored ? "stored" : "not stored, and the agent goes on");
for await (const { seq, type, data } of client.sessions.messages(trip)) console.log(seq, type, data.content);
await client.sessions.clear(trip);
