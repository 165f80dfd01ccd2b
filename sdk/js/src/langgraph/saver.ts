import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  getCheckpointId,
  maxChannelVersion,
  TASKS,
  WRITES_IDX_MAP,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { CheckpointWrite, FetchedCheckpoint, FetchedWrite, TypedValue } from "../checkpoints.js";
import type { LociClient } from "../client.js";
import { LociError } from "../errors.js";
import { clientOf } from "../given.js";
import type { FetchedValue } from "../parts.js";
import { Kept } from "./kept.js";
import { filterable } from "./metadata.js";

const pageSize = 100; // checkpoints of one request of a list
const emptyType = "empty"; // says that a channel holds nothing

/**
 * Keeps the checkpoints of LangGraph graphs in Loci:
 *
 *     const graph = builder.compile({ checkpointer: new LociSaver(new LociClient()) });
 *
 * A channel's value is sent and stored once for each of its versions.
 */
export class LociSaver extends BaseCheckpointSaver {
  readonly #client: LociClient;
  readonly #kept = new Kept();

  constructor(client: LociClient, serde?: SerializerProtocol) {
    super(serde);
    this.#client = clientOf("LociSaver", "checkpoints", client, "Give the client itself: new LociSaver(new LociClient()).");
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const thread = config.configurable?.thread_id;
    if (thread === undefined) return undefined;
    const id = getCheckpointId(config);
    const namespace: string = config.configurable?.checkpoint_ns ?? "";
    const known = this.#kept.known(String(thread), namespace);
    const place = { thread_id: thread, checkpoint_ns: namespace, ...(id ? { checkpoint_id: id } : {}) };
    const found = await this.#client.checkpoints.fetch(place, [...known.keys()], call(config));
    if (!found) return undefined;
    this.#kept.complete(found, known);
    return this.#tuple(found, config);
  }

  /** Lists checkpoints: those of one thread by id, the greatest first; those of all threads by when they were stored. */
  async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id } = config.configurable ?? {};
    const before = options.before && getCheckpointId(options.before);
    let left = options.limit ?? Infinity;
    let cursor: string | undefined;
    while (left > 0) {
      const page = await this.#client.checkpoints.list(
        {
          ...(thread ? { thread_id: thread } : {}),
          ...(namespace === undefined ? {} : { checkpoint_ns: namespace }),
          ...(id ? { checkpoint_id: id } : {}),
          ...(before ? { before } : {}),
          ...(options.filter ? { filter: options.filter } : {}),
          ...(cursor ? { cursor } : {}),
          limit: Math.min(left, pageSize),
        },
        call(config),
      );
      for (const found of page.checkpoints) yield this.#tuple({ ...found, channel_values: found.channel_values ?? {} }, config);
      left -= page.checkpoints.length;
      cursor = page.next_cursor;
      if (cursor === undefined) return;
    }
  }

  async put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, newVersions: ChannelVersions): Promise<RunnableConfig> {
    const thread = threadOf(config, "put a checkpoint");
    const namespace: string = config.configurable?.checkpoint_ns ?? "";
    const parent: string | undefined = config.configurable?.checkpoint_id;
    const { channel_values: values, ...rest } = checkpoint;
    const versions = { ...checkpoint.channel_versions, ...newVersions };
    // What has no version cannot be told apart from what was there before, and stays in the checkpoint.
    const loose = Object.entries(values ?? {}).filter(([channel]) => !Object.hasOwn(versions, channel));
    const fresh = Object.keys(newVersions).map(async (channel): Promise<[string, TypedValue]> => {
      const value = Object.hasOwn(values, channel) ? values[channel] : undefined;
      return [channel, value === undefined ? { type: emptyType, data: "" } : await this.#dump(value)];
    });
    const run = config.metadata?.run_id ?? config.configurable?.run_id;
    await this.#client.checkpoints.put(
      {
        thread_id: thread,
        checkpoint_ns: namespace,
        checkpoint_id: checkpoint.id,
        ...(parent ? { parent_checkpoint_id: parent } : {}),
        format: checkpoint.v,
        checkpoint: await this.#dump({ ...rest, channel_values: Object.fromEntries(loose) }),
        metadata: filterable({ ...(typeof run === "string" ? { run_id: run } : {}), ...metadata }),
        metadata_typed: await this.#dump(metadata),
        channel_versions: Object.fromEntries(Object.entries(versions).map(([channel, version]) => [channel, String(version)])),
        channel_values: Object.fromEntries(await Promise.all(fresh)),
      },
      call(config),
    );
    return { configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: checkpoint.id } };
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const thread = threadOf(config, "put writes");
    const id: string | undefined = config.configurable?.checkpoint_id;
    if (id === undefined) throw missing("checkpoint_id", "put writes");
    const stored = writes.map(
      async ([channel, value], i): Promise<CheckpointWrite> => ({ task_id: taskId, idx: WRITES_IDX_MAP[channel] ?? i, channel, value: await this.#dump(value) }),
    );
    await this.#client.checkpoints.putWrites(
      { thread_id: thread, checkpoint_ns: config.configurable?.checkpoint_ns ?? "", checkpoint_id: id, writes: await Promise.all(stored) },
      call(config),
    );
  }

  async deleteThread(threadId: string): Promise<void> {
    this.#kept.forget(threadId);
    await this.#client.checkpoints.prune([threadId], "delete");
  }

  /** Erases the checkpoints that some runs made, and returns how many. */
  deleteForRuns(runIds: string[]): Promise<number> {
    return this.#client.checkpoints.deleteForRuns(runIds);
  }

  /** Copies a thread to one without checkpoints, and returns how many it has. */
  copyThread(sourceThreadId: string, targetThreadId: string): Promise<number> {
    return this.#client.checkpoints.copyThread(sourceThreadId, targetThreadId);
  }

  /** Erases old checkpoints: all but the latest of each namespace, or all. Returns how many. */
  prune(threadIds: string[], strategy: "keep_latest" | "delete" = "keep_latest"): Promise<number> {
    return this.#client.checkpoints.prune(threadIds, strategy);
  }

  async #dump(value: unknown): Promise<TypedValue> {
    const [type, bytes] = await this.serde.dumpsTyped(value);
    return { type, data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64") };
  }

  async #load({ type, data = "" }: FetchedValue): Promise<unknown> {
    try {
      return await this.serde.loadsTyped(type, typeof data === "string" ? new Uint8Array(Buffer.from(data, "base64")) : data);
    } catch (cause) {
      throw new LociError("unsupported", `another language or another serializer wrote this thread: it holds a value of the type ${type}`, {
        cause,
        recovery: "Read it with the program that wrote it, or take another thread_id.",
      });
    }
  }

  async #tuple(found: FetchedCheckpoint, config: RunnableConfig): Promise<CheckpointTuple> {
    const { thread_id, checkpoint_ns = "", checkpoint_id, parent_checkpoint_id: parent } = found;
    const [checkpoint, metadata, pendingWrites, values] = await Promise.all([
      this.#load(found.checkpoint) as Promise<Checkpoint>,
      (found.metadata_typed ? this.#load(found.metadata_typed) : found.metadata ?? {}) as Promise<CheckpointMetadata>,
      this.#writes(found.pending_writes),
      Promise.all(Object.entries(found.channel_values ?? {}).map(async ([channel, v]): Promise<[string, unknown]> => [channel, await this.#load(v)])),
    ]);
    checkpoint.channel_values = Object.fromEntries([...Object.entries(checkpoint.channel_values ?? {}), ...values]);
    if (checkpoint.v < 4 && parent !== undefined) await this.#migrateSends(checkpoint, found, config);
    return {
      config: { configurable: { thread_id, checkpoint_ns, checkpoint_id } },
      checkpoint,
      metadata,
      pendingWrites,
      ...(parent === undefined ? {} : { parentConfig: { configurable: { thread_id, checkpoint_ns, checkpoint_id: parent } } }),
    };
  }

  #writes(writes: FetchedWrite[]): Promise<[string, string, unknown][]> {
    return Promise.all(writes.map(async (w): Promise<[string, string, unknown]> => [w.task_id, w.channel, await this.#load(w.value)]));
  }

  /** Before version 4 of the format, what a step sent to tasks was among the writes of the parent. */
  async #migrateSends(checkpoint: Checkpoint, found: FetchedCheckpoint, config: RunnableConfig): Promise<void> {
    const { thread_id, checkpoint_ns = "", parent_checkpoint_id: parent } = found;
    let sends = found.sends;
    if (!sends) {
      const { checkpoints } = await this.#client.checkpoints.list({ thread_id, checkpoint_ns, checkpoint_id: parent!, values: false, limit: 1 }, call(config));
      sends = checkpoints[0]?.pending_writes ?? [];
    }
    const sent = sends.filter((w) => w.channel === TASKS);
    checkpoint.channel_values[TASKS] = (await this.#writes(sent)).map(([, , value]) => value);
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }
}

function call(config: RunnableConfig): { signal?: AbortSignal } {
  return config.signal ? { signal: config.signal } : {};
}

function threadOf(config: RunnableConfig, what: string): string {
  const thread: unknown = config.configurable?.thread_id;
  if (thread === undefined || thread === null) throw missing("thread_id", what);
  return String(thread);
}

function missing(field: string, what: string): LociError {
  return new LociError("invalid", `cannot ${what}: the config has no configurable.${field}`, {
    recovery: `Pass it to the graph: graph.invoke(input, { configurable: { ${field}: "…" } }).`,
  });
}
