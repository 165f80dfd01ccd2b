// Checkpoints as bytes: what did not change is not sent again, and a server that knows JSON alone is read, too.
import { emptyCheckpoint, TASKS } from "@langchain/langgraph-checkpoint";
import { LociClient } from "loci-memory";
import { LociSaver } from "loci-memory/langgraph";
import { startServer } from "./server.js";

const server = await startServer();
afterAll(() => server.stop());

it.for([false, true])("an old server: %s", async (old) => {
  const came = [];
  const watching = async (url, init) => {
    if (old) init.headers.set("Accept", "application/json");
    const response = await fetch(url, init);
    if (url.endsWith("/checkpoints/get")) came.push([response.headers.get("Content-Type"), (await response.clone().arrayBuffer()).byteLength]);
    return response;
  };
  const user = `user-${old}`;
  const saver = new LociSaver(new LociClient({ baseUrl: server.url, user, fetch: watching }));
  const plain = new LociSaver(new LociClient({ baseUrl: server.url, user }));
  let config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
  const latest = { configurable: { thread_id: "t" } };
  for (let step = 0; step < 3; step++) {
    const versions = { large: 1, step: step + 1 };
    const checkpoint = { ...emptyCheckpoint(), v: 2, id: `0${step}`, channel_values: { large: "x".repeat(100_000), step }, channel_versions: versions };
    config = await saver.put(config, checkpoint, { source: "loop", step, parents: {} }, step === 0 ? versions : { step: step + 1 });
    await saver.putWrites(config, [[TASKS, `sent ${step}`]], "task");
    for (let again = 0; again < 2; again++) {
      const found = await saver.getTuple(latest);
      expect(found).toEqual(await plain.getTuple(latest));
      expect(found.checkpoint.channel_values.large.length).toBe(100_000);
      if (step > 0) expect(found.checkpoint.channel_values[TASKS]).toEqual([`sent ${step - 1}`]);
    }
  }
  const kinds = new Set(came.map(([kind]) => kind));
  expect([...kinds]).toEqual([old ? "application/json" : "application/vnd.loci.parts"]);
  if (!old) expect(Math.max(...came.slice(1).map(([, length]) => length))).toBeLessThan(3_000);
  await saver.deleteThread("t");
  expect(await saver.getTuple(latest)).toBeUndefined();
});

it.for(["", "\0\0", "\0\0\0\x02{}", "\0\0\0c{}", "\0\0\0\x02[]", "\0\0\0\x02{x"])("half a reply is an error: %j", async (body) => {
  const answer = async () => new Response(body, { headers: { "Content-Type": "application/vnd.loci.parts" } });
  const saver = new LociSaver(new LociClient({ baseUrl: server.url, fetch: answer }));
  await expect(saver.getTuple({ configurable: { thread_id: "t" } })).rejects.toMatchObject({ code: "unsupported" });
});
