// What a user of the types writes, as an ES module.
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph-checkpoint";
import type { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import type { Session as AgentSession } from "@openai/agents-core";
import type { ModelMessage, ToolSet } from "ai";
import { LociClient, LociError, remember, type SearchReply, type Session } from "loci-memory";
import { conversation, memoryTools } from "loci-memory/ai";
import { createManageMemoryTool, LociChatMessageHistory } from "loci-memory/langchain";
import { LociSaver, LociStore } from "loci-memory/langgraph";
import { LociSession } from "loci-memory/openai-agents";

const client = new LociClient({ user: "alice", timeout: 1000 });
export const saver: BaseCheckpointSaver = new LociSaver(client);
export const store: BaseStore = new LociStore(client, { ttl: 60 });
export const history: BaseListChatMessageHistory = new LociChatMessageHistory({ client, sessionId: "s" });
export const session: AgentSession = new LociSession({ client });
export const tool: { name: string; invoke(input: object, config?: RunnableConfig): Promise<unknown> } = createManageMemoryTool({ client });

export async function use(): Promise<void> {
  const tools: ToolSet = await memoryTools(client);
  const { messages }: { messages: ModelMessage[] } = await conversation({ client, sessionId: "s" }).load();
  const found: SearchReply = await client.search({ query: "x", types: ["fact"] });
  const made: Session = await client.sessions.create();
  const result = await remember(client.notes.save({ content: "x" }));
  const id: string = result.stored ? result.value.id : result.error.code;
  // @ts-expect-error a mode that does not exist
  await client.search({ query: "x", mode: "fuzzy" });
  // @ts-expect-error an option that does not exist
  new LociClient({ users: "alice" });
  try {
    void [tools, messages, found, made, id];
  } catch (error) {
    if (LociError.is(error)) console.error(error.code, error.recovery);
  }
}
