// A history of LangChain messages.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { LociClient } from "loci-memory";
import { LociChatMessageHistory } from "loci-memory/langchain";

const history = new LociChatMessageHistory({ client: new LociClient(), sessionId: crypto.randomUUID() });
await history.addMessages([new HumanMessage("My name is Ada."), new AIMessage("Hello Ada.")]);
for (const message of await history.getMessages()) console.log(`${message.getType()}: ${message.text}`);
