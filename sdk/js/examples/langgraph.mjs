// A LangGraph graph whose threads outlive the program.
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { LociClient } from "loci-memory";
import { LociSaver, LociStore } from "loci-memory/langgraph";

const client = new LociClient();
const State = Annotation.Root({ count: Annotation({ reducer: (a, b) => a + b, default: () => 0 }) });
const graph = new StateGraph(State)
  .addNode("step", () => ({ count: 1 }))
  .addEdge(START, "step")
  .addEdge("step", END)
  .compile({ checkpointer: new LociSaver(client), store: new LociStore(client) });

const thread = { configurable: { thread_id: crypto.randomUUID() } };
await graph.invoke({}, thread);
console.log(`This thread took ${(await graph.invoke({}, thread)).count} steps.`);
