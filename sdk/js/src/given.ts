import type { LociClient } from "./client.js";
import { LociError } from "./errors.js";
import { known } from "./transport.js";

/**
 * The client that an adapter is given. Anything else is refused where the adapter is made: a program
 * without types would hear of it from the first call, and not what is wrong. What counts is the part
 * that the adapter uses, since a program may have two copies of this package, or one of its own for tests.
 */
export function clientOf(name: string, part: keyof LociClient, given: unknown, remedy: string): LociClient {
  const client = given as LociClient | null | undefined;
  if (client && part in Object(client)) return client;
  throw new LociError("invalid", `${name} needs a LociClient`, { recovery: remedy });
}

/** The options of an adapter that takes its client as one of them. One that it does not know would be ignored. */
export function optionsOf<O extends { client: LociClient }>(name: string, part: keyof LociClient, names: readonly string[], given: O): O {
  const remedy = `Give it as the option client: { client: new LociClient() }.`;
  clientOf(name, part, (given as O | undefined)?.client, remedy);
  known(name, ["client", ...names], given, "See its documentation for what it takes.");
  return given;
}

/** Refuses a session that is none: the conversation of somebody else could have that name. */
export function sessionOf(id: unknown): void {
  if (typeof id !== "string" || id === "") throw new LociError("invalid", "sessionId must be a text, and not empty", { recovery: "Name the conversation." });
}
