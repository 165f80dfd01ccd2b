import { segment, type CallOptions, type Transport } from "./transport.js";
import { shapes } from "./reply.js";
import type { Tool, ToolReply } from "./tools.js";

/** An agent of the server's graph. */
export interface Agent {
  id: string;
  /** The names of those that the caller may use. */
  tools: string[];
  /** It has a connector. */
  connector: boolean;
}

/** The agents of the server's graph and their tools. */
export class Agents {
  readonly #t: Transport;
  constructor(t: Transport) {
    this.#t = t;
  }

  async list(o?: CallOptions): Promise<Agent[]> {
    return (await this.#t.send<{ agents: Agent[] }>({ method: "GET", path: "/v1/agents", reply: shapes.agents }, o)).agents;
  }

  /** Lists the tools of an agent. */
  async tools(agent: string, o?: CallOptions): Promise<Tool[]> {
    const request = { method: "GET", path: `/v1/agents/${segment("agent", agent)}/tools`, reply: shapes.tools } as const;
    return (await this.#t.send<{ tools: Tool[] }>(request, o)).tools;
  }

  /** Calls a tool of an agent. What it refuses is a reply with `is_error`. */
  async call(agent: string, name: string, args: Record<string, unknown> = {}, o?: CallOptions): Promise<ToolReply> {
    const path = `/v1/agents/${segment("agent", agent)}/tools/${segment("name", name)}`;
    return this.#t.send({ method: "POST", path, reply: shapes.toolReply, body: args, writes: true }, o);
  }
}

/** The connectors of the agents of the server's graph. */
export class Connectors {
  readonly #t: Transport;
  constructor(t: Transport) {
    this.#t = t;
  }

  /**
   * The messages with one more that tells of the agent's memory, where there is something to
   * tell. They have the form of OpenAI's chat or LangChain's stored form, and so has the new one.
   */
  async inject(agent: string, messages: object[], o?: CallOptions): Promise<Record<string, unknown>[]> {
    const request = { method: "POST", path: `/v1/connectors/${segment("agent", agent)}/inject`, reply: shapes.injected, body: { messages } } as const;
    return (await this.#t.send<{ messages: Record<string, unknown>[] }>(request, o)).messages;
  }
}
