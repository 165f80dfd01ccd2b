import { LociError } from "./errors.js";
import { forPart, on, type CallOptions, type Transport } from "./transport.js";
import type { FetchedValue } from "./parts.js";
import { checkpoint, fetchedCheckpoint, shapes } from "./reply.js";

/** A value as a serializer of LangGraph wrote it. */
export interface TypedValue {
  type: string;
  /** Bytes in base64, at most 16 MiB of them. */
  data: string;
}

export interface CheckpointWrite {
  task_id: string;
  task_path?: string;
  /** The place among the writes of the task; below zero: written again each time. */
  idx: number;
  channel: string;
  value: TypedValue;
}

/** A checkpoint to store. */
export interface NewCheckpoint {
  thread_id: string;
  checkpoint_ns?: string;
  /** Those of later checkpoints compare greater. */
  checkpoint_id: string;
  parent_checkpoint_id?: string;
  /** The version of the checkpoint's own format. */
  format?: number;
  /** The checkpoint without the values of its channels. */
  checkpoint: TypedValue;
  /** What filters match. */
  metadata?: Record<string, unknown>;
  metadata_typed?: TypedValue;
  /** Of every channel. */
  channel_versions?: Record<string, string>;
  /** Those that are new; of others the value of the same version stays. */
  channel_values?: Record<string, TypedValue>;
}

/** A checkpoint as it was read, with all values that are not empty. */
export interface StoredCheckpoint extends NewCheckpoint {
  /** In order of task path, task and idx. */
  pending_writes: CheckpointWrite[];
  created_at: string;
}

/** What a task wrote, with its bytes or base64. */
export interface FetchedWrite extends Omit<CheckpointWrite, "value"> {
  value: FetchedValue;
}

/** A checkpoint with bytes or base64; a value that the caller knows has only its id. */
export interface FetchedCheckpoint extends Omit<StoredCheckpoint, "checkpoint" | "metadata_typed" | "channel_values" | "pending_writes"> {
  checkpoint: FetchedValue;
  metadata_typed?: FetchedValue;
  channel_values: Record<string, FetchedValue>;
  pending_writes: FetchedWrite[];
  /** Of the parent, to its tasks; absent from a server that sends no parts. */
  sends?: FetchedWrite[];
}

export interface ListCheckpoints {
  /** Absent: every thread. */
  thread_id?: string;
  /** Empty: of the root graph; absent: of every graph. */
  checkpoint_ns?: string;
  checkpoint_id?: string;
  /** Only ids below this one. */
  before?: string;
  filter?: Record<string, unknown>;
  limit?: number;
  cursor?: string;
  /** Whether channel_values come with them; default yes. */
  values?: boolean;
}

/** Parts of what takes several requests: more than there can be. */
const mostParts = 1e9;

/** Checkpoints of LangGraph graphs. Most programs use `LociSaver` of loci-memory/langgraph. */
export class Checkpoints {
  readonly #t: Transport;
  constructor(t: Transport) {
    this.#t = t;
  }

  put(given: NewCheckpoint, o?: CallOptions): Promise<void> {
    return this.#t.send({ method: "PUT", path: "/v1/checkpoints", reply: "nothing", body: given, writes: true }, o);
  }

  putWrites(place: { thread_id: string; checkpoint_ns?: string; checkpoint_id: string; writes: CheckpointWrite[] }, o?: CallOptions): Promise<void> {
    return this.#t.send({ method: "POST", path: "/v1/checkpoints/writes", reply: "nothing", body: place, writes: true }, o);
  }

  /** Reads a checkpoint, by default the latest of a thread; undefined: there is none. */
  async get(place: { thread_id: string; checkpoint_ns?: string; checkpoint_id?: string }, o?: CallOptions): Promise<StoredCheckpoint | undefined> {
    try {
      return await this.#t.send<StoredCheckpoint>({ method: "POST", path: "/v1/checkpoints/get", reply: checkpoint, body: place }, o);
    } catch (error) {
      if (LociError.is(error) && error.code === "not_found") return undefined;
      throw error;
    }
  }

  /** What {@link get} reads, with bytes as they are where the server knows how; those of values with these ids are not sent. For LociSaver. */
  async fetch(place: { thread_id: string; checkpoint_ns?: string; checkpoint_id?: string }, known: string[], o?: CallOptions): Promise<FetchedCheckpoint | undefined> {
    try {
      const request = { method: "POST", path: "/v1/checkpoints/get", reply: fetchedCheckpoint, body: place, parts: { known } } as const;
      return await this.#t.send<FetchedCheckpoint>(request, o);
    } catch (error) {
      if (LociError.is(error) && error.code === "not_found") return undefined;
      throw error;
    }
  }

  /** A page of checkpoints; of one thread the greatest id comes first. */
  list(query: ListCheckpoints = {}, o?: CallOptions): Promise<{ checkpoints: StoredCheckpoint[]; next_cursor?: string }> {
    return this.#t.send({ method: "POST", path: "/v1/checkpoints/list", reply: shapes.checkpoints, body: query }, o);
  }

  /** Goes through checkpoints page by page. */
  async *all(query: ListCheckpoints = {}, o?: CallOptions): AsyncGenerator<StoredCheckpoint, void, undefined> {
    for (let q = query; ; ) {
      const page = await this.list(q, o);
      yield* page.checkpoints;
      if (!page.next_cursor) return;
      q = { ...q, cursor: on(q.cursor, page.next_cursor, "checkpoints") };
    }
  }

  /**
   * Copies the checkpoints of a thread to one that has none, and returns how many. A large thread takes several requests; until the last one the target
   * cannot be read. If they stop, copy again.
   */
  copyThread(from: string, to: string, o?: CallOptions): Promise<number> {
    return this.#parts("/v1/checkpoints/copy", shapes.copied, { thread_id: from, target_thread_id: to }, o);
  }

  /** Erases old checkpoints of threads, or all of them ("delete"), and returns how many. Large threads take several requests. */
  prune(threads: string[], strategy: "keep_latest" | "delete", o?: CallOptions): Promise<number> {
    return this.#parts("/v1/checkpoints/prune", shapes.erased, { thread_ids: threads, strategy }, o);
  }

  /** Erases the checkpoints whose metadata name one of the runs as run_id, and returns how many. Many take several requests. */
  deleteForRuns(runs: string[], o?: CallOptions): Promise<number> {
    return this.#parts("/v1/checkpoints/delete_for_runs", shapes.erased, { run_ids: runs }, o);
  }

  /** Makes a request after the other, each of which does a part and says where the next one goes on. */
  async #parts(path: string, reply: typeof shapes.copied | typeof shapes.erased, body: object, o?: CallOptions): Promise<number> {
    forPart(o, mostParts); // a key without room for the others is refused before anything is done
    let [count, cursor]: [number, string | undefined] = [0, undefined];
    for (let part = 0; ; part++) {
      const request = { method: "POST", path, reply, body: cursor === undefined ? body : { ...body, cursor }, writes: true, on: true } as const;
      const done: { copied?: number; erased?: number; next_cursor?: string } = await this.#t.send(request, forPart(o, part));
      count = done.copied ?? count + (done.erased ?? 0);
      if (done.next_cursor === undefined) return count;
      cursor = on(cursor, done.next_cursor, "what it did");
    }
  }
}
