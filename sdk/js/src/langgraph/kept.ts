import type { FetchedCheckpoint } from "../checkpoints.js";
import { LociError } from "../errors.js";
import type { FetchedValue } from "../parts.js";

const largest = 16 << 20; // bytes that are kept in all
const smallest = 1 << 10; // bytes of a value; a smaller one is sent as quickly as its id
const most = 64; // values of a thread

/**
 * The large values of the checkpoint of each thread that was read last: what has an id never
 * changes, so it need not be sent again.
 */
export class Kept {
  readonly #threads = new Map<string, Map<string, FetchedValue>>();
  #bytes = 0;

  known(thread: string, namespace: string): Map<string, FetchedValue> {
    return this.#threads.get(place(thread, namespace)) ?? new Map();
  }

  /** Gives a checkpoint the values that were not sent, and keeps its own for the next. */
  complete(found: FetchedCheckpoint, known: Map<string, FetchedValue>): void {
    for (const [channel, value] of Object.entries(found.channel_values)) {
      if (value.data !== undefined) continue;
      const have = known.get(value.id ?? "");
      if (!have) throw new LociError("unsupported", `the server sent no value of the channel ${channel}`, { recovery: "See what the baseUrl leads to." });
      found.channel_values[channel] = have;
    }
    const large = Object.values(found.channel_values).filter((v) => v.id !== undefined && size(v) >= smallest);
    large.sort((a, b) => size(b) - size(a));
    const at = place(found.thread_id, found.checkpoint_ns ?? "");
    this.#drop(at);
    const values = new Map(large.slice(0, most).map((v) => [v.id!, v]));
    const bytes = total(values);
    if (bytes > 0 && bytes <= largest) {
      this.#threads.set(at, values);
      this.#bytes += bytes;
    }
    for (const oldest of this.#threads.keys()) {
      if (this.#bytes <= largest) break;
      this.#drop(oldest);
    }
  }

  forget(thread: string): void {
    for (const at of [...this.#threads.keys()]) if (at.startsWith(place(thread, ""))) this.#drop(at);
  }

  #drop(at: string): void {
    this.#bytes -= total(this.#threads.get(at) ?? new Map());
    this.#threads.delete(at);
  }
}

function place(thread: string, namespace: string): string {
  return `${thread.length}:${thread}:${namespace}`;
}

function size(value: FetchedValue): number {
  return value.data?.length ?? 0;
}

function total(values: Map<string, FetchedValue>): number {
  let bytes = 0;
  for (const value of values.values()) bytes += size(value);
  return bytes;
}
