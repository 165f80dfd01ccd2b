import { ConfigurationError, LociError } from "./errors.js";

/** What became of something that should be stored. */
export type Remembered<T> = { stored: true; value: T; error?: undefined } | { stored: false; error: LociError };

/** Hears of an error that was not thrown. */
export type OnError = (error: LociError) => void;

/**
 * Does something with the memory, and goes on when that is away. What could not be stored,
 * for a {@link LociError}, is reported, in the result and to `onError`, by default
 * as a warning on the console that says nothing of any content.
 *
 *     const { stored } = await remember(client.sessions.append("s1", messages));
 */
export async function remember<T>(work: PromiseLike<T> | (() => PromiseLike<T> | T), onError: OnError = warn): Promise<Remembered<T>> {
  try {
    return { stored: true, value: await (typeof work === "function" ? work() : work) };
  } catch (cause) {
    return { stored: false, error: report(cause, onError) };
  }
}

/** Tells what went wrong with the memory. Only a {@link LociError} is that: a mistake of the program is thrown again. */
export function report(error: unknown, onError: OnError = warn): LociError {
  if (!LociError.is(error) || ConfigurationError.is(error)) throw error;
  try {
    onError(error);
  } catch {
    warn(error); // whoever listens must not break what it listens to
  }
  return error;
}

/** Warns with the code, the status and the request's id: messages of errors may quote what was sent. */
export function warn(error: LociError): void {
  const where = [error.status, error.requestId && `request ${error.requestId}`].filter(Boolean).join(", ");
  console.warn(`loci: the memory failed: ${error.code}${where ? ` (${where})` : ""}`);
}
