// A conversation, as any program reads it.
import { LociClient, remember } from "loci-memory";

const client = new LociClient();
const { stored } = await remember(
  client.sessions.append("sessions-example", [
    { role: "user", content: "When is the train?" },
    { role: "assistant", content: "At nine." },
  ]),
);
console.log(stored ? "stored" : "not stored, and the agent goes on");
for await (const { seq, type, data } of client.sessions.messages("sessions-example")) console.log(seq, type, data.content);
await client.sessions.clear("sessions-example");
