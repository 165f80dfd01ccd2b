import { ConfigurationError, LociError } from "./errors.js";
import type { Identity } from "./transport.js";

/** The variables of LangChain's `configurable` that say whose memory a call is about. */
const names = { org_id: "org", agent_id: "agent", user_id: "user", thread_id: "thread" } as const;

/** From broad to narrow. A butler says who acts and not whose memory it is. */
const breadth = { org: 0, agent: 1, user: 2, thread: 3, session: 3 } as const;

/** The identity that `configurable` names. One that is empty is refused: it must not mean someone else. */
export function identityOf(configurable: Record<string, unknown>): Identity {
  const named = Object.entries(names).filter(([key]) => Object.hasOwn(configurable, key));
  return Object.fromEntries(named.map(([key, name]) => [name, variable(configurable, key)]));
}

/** The value of a variable, as a text. */
export function variable(configurable: Record<string, unknown>, key: string): string {
  const value = Object.hasOwn(configurable, key) ? configurable[key] : undefined;
  if (value === undefined || value === null || value === "") throw new ConfigurationError(key, Object.keys(configurable));
  if (typeof value === "string" || typeof value === "bigint" || Number.isSafeInteger(value)) return String(value);
  throw new LociError("invalid", `${key} of configurable is no text`, { recovery: "Pass the id alone." });
}

/**
 * Options about whom an identity names, and about nobody whom they add: as on the
 * server, what is narrower than the broadest name goes unless it is named, too.
 */
export function acting<O extends Identity>(options: O, identity: Identity): O {
  const broadest = Math.min(...Object.entries(breadth).flatMap(([name, b]) => (Object.hasOwn(identity, name) ? [b] : [])));
  const narrower = Object.entries(breadth).filter(([, b]) => b > broadest);
  return { ...options, ...Object.fromEntries(narrower.map(([name]) => [name, undefined])), ...identity };
}
