// A chat with the agent A of the graph, and a model that speaks OpenAI's chat completions.
import { createInterface } from "node:readline";
import { LociClient } from "loci-memory";

const client = new LociClient();
const { OPENAI_BASE_URL: url, OPENAI_API_KEY: key, MODEL: model } = process.env;
const headers = { "Content-Type": "application/json", Authorization: `Bearer ${key}` };
const described = ({ name, description, input_schema: parameters }) => ({ type: "function", function: { name, description, parameters } });
const tools = (await client.agents.tools("A")).map(described);
const { id: talk } = await client.sessions.create();
for await (const said of createInterface({ input: process.stdin })) {
  const { messages: before } = await client.sessions.openai(talk, { last: 50 });
  const turn = [{ role: "user", content: said }];
  while (turn.at(-1).role !== "assistant" || turn.at(-1).tool_calls?.length) {
    const messages = await client.connectors.inject("A", [{ role: "system", content: "Note what matters." }, ...before, ...turn]);
    const reply = await fetch(`${url}/chat/completions`, { method: "POST", headers, body: JSON.stringify({ model, messages, tools }) });
    turn.push((await reply.json()).choices[0].message);
    for (const { id, function: asked } of turn.at(-1).tool_calls ?? []) {
      const { text } = await client.agents.call("A", asked.name, JSON.parse(asked.arguments));
      turn.push({ role: "tool", tool_call_id: id, content: text });
    }
  }
  console.log(turn.at(-1).content);
  await client.sessions.append(talk, turn);
}
