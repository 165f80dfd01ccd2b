import { segment, type CallOptions, type Transport } from "./transport.js";
import { shapes } from "./reply.js";

/** A tool of the server, with the names of the Model Context Protocol in its annotations. */
export interface Tool {
  name: string;
  title: string;
  /** For the model. */
  description: string;
  family: string;
  /** JSON Schema of the arguments. */
  input_schema: Record<string, unknown>;
  output_schema?: Record<string, unknown>;
  annotations: Record<string, unknown>;
}

/** What a call came to, as over the Model Context Protocol. */
export interface ToolReply {
  /** For the model. */
  text: string;
  /** The same for programs. */
  structured?: Record<string, unknown>;
  /** The tool refused the call; the text says why. */
  is_error: boolean;
}

/** The server's tools for models. */
export class Tools {
  readonly #t: Transport;
  constructor(t: Transport) {
    this.#t = t;
  }

  async list(o?: CallOptions): Promise<Tool[]> {
    return (await this.#t.send<{ tools: Tool[] }>({ method: "GET", path: "/v1/tools", reply: shapes.tools }, o)).tools;
  }

  /** Calls a tool. What the tool refuses is a reply with `is_error`; only what no model could mend is thrown. */
  async call(name: string, args: Record<string, unknown> = {}, o?: CallOptions): Promise<ToolReply> {
    return this.#t.send({ method: "POST", path: `/v1/tools/${segment("name", name)}`, reply: shapes.toolReply, body: args, writes: true }, o);
  }
}
