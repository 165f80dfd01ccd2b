import { NotOfShape } from "./reply.js";

/** A reply with bytes beside its JSON: four bytes with the length of the JSON, the JSON, and the parts. */
export const mediaParts = "application/vnd.loci.parts";

/** A value of a checkpoint as bytes, or in base64 from a server that sends no parts; without data one that the caller knows. */
export interface FetchedValue {
  type: string;
  data?: string | Uint8Array;
  /** What has one never changes. */
  id?: string;
}

/** A checkpoint whose values have their bytes as data. */
export function unpack(body: Buffer): unknown {
  if (body.length < 4 || body.length < 4 + body.readUInt32BE(0)) throw new NotOfShape("the reply is cut short");
  const start = 4 + body.readUInt32BE(0);
  let head: { checkpoint: Part; metadata_typed?: Part; channel_values: Record<string, Part>; pending_writes: Written[]; sends: Written[] };
  try {
    head = JSON.parse(body.toString("utf8", 4, start));
    const values = [head.checkpoint, ...Object.values(head.channel_values), ...[...head.pending_writes, ...head.sends].map((w) => w.value)];
    if (head.metadata_typed) values.push(head.metadata_typed);
    for (const value of values) {
      if (!value.part) continue;
      const [offset, size] = value.part;
      if (!(offset >= 0 && size >= 0 && start + offset + size <= body.length)) throw new NotOfShape("the reply is cut short");
      value.data = body.subarray(start + offset, start + offset + size);
    }
  } catch (cause) {
    throw cause instanceof NotOfShape ? cause : new NotOfShape("the reply has no parts where they should be", { cause });
  }
  return head;
}

type Part = FetchedValue & { part?: [number, number] };
type Written = { value: Part };
