import { LociError } from "./errors.js";
import { sizeOfText } from "./transport.js";
import type { ImportReport } from "./view.js";

// The lines of an export in parts, each as much as the server imports with one request.

/** What the lines of one request may weigh, as the server weighs them; their bytes; their number. */
export const bounds = { weight: 20_000, bytes: 24 << 20, lines: 9_000 };

const byCommand = "Import the file with `loci import`, which takes any number of lines.";

export interface Part {
  lines: string[];
  /** Of the lines in the whole, from 1. */
  numbers: number[];
  /** Some of the lines name memories of others. */
  names: boolean;
}

type Line = { type?: unknown; kind?: unknown; namespace?: unknown; sequence?: unknown; id?: unknown; slot?: unknown; body?: unknown } & Record<string, unknown>;

/** Lines that mean something only together. */
class Group {
  numbers: number[] = [];
  weight = 0;
  bytes = 0;
  records = 0;
  revisions = 0;
  links = 0;
  names = false;
  /** Of a file: how long it is; directories come before what is in them. */
  path = -1;
}

/** The imports that lines come to; one if they fit, or if the server is to say what is wrong with them. */
export function imports(lines: string[]): Part[] {
  const whole = [{ lines, numbers: lines.map((_, i) => i + 1), names: false }];
  if (!Array.isArray(lines) || lines.some((line) => typeof line !== "string")) return whole;
  const read = lines.map(parse);
  const all = new Group();
  lines.forEach((text, at) => add(all, at, read[at]!, text));
  const first = read.find((line) => line !== none);
  if (first === undefined || (all.weight <= bounds.weight && all.bytes <= bounds.bytes && lines.length <= bounds.lines)) return whole;
  const isExport = first.type === "header";
  if (isExport) checkEnd(read, all);
  const groups = grouped(read, lines).sort((a, b) => a.path - b.path);
  const parts: Group[][] = [];
  let load = { weight: 0, bytes: 0, lines: 0 }; // of the last part
  for (const group of groups) {
    if (!takes({ weight: 0, bytes: 0, lines: 0 }, group)) {
      const about = read[group.numbers[0]! - 1]!;
      throw new LociError(
        "too_large",
        `lines ${group.numbers[0]} to ${group.numbers.at(-1)} belong together (${about.kind ?? about.type}), and are more than one request imports: nothing was imported`,
        { recovery: byCommand },
      );
    }
    if (parts.length === 0 || !takes(load, group) || group.links > 0 !== parts.at(-1)![0]!.links > 0) {
      parts.push([]);
      load = { weight: 0, bytes: 0, lines: 0 };
    }
    parts.at(-1)!.push(group);
    load.weight += group.weight;
    load.bytes += group.bytes;
    load.lines += group.numbers.length;
  }
  return parts.length > 0 ? parts.map((part) => partOf(part, read, lines, isExport)) : whole;
}

/** An error of a part with the numbers of the lines that were given, and with what is stored already. */
export function inWhole(part: Part, error: unknown, done: number, parts: number): unknown {
  if (!(error instanceof LociError) || parts === 1) return error;
  const message = error.message.replace(/\bline (\d+)\b/g, (text, n) => (part.numbers[n - 1] ? `line ${part.numbers[n - 1]}` : text));
  const said = done === 0 ? message : `the first ${done} of ${parts} parts of the lines are imported, the others are not: ${message}`;
  const recovery = error.recovery + (done === 0 ? "" : " Then import all lines again: what is there is left alone.");
  return new LociError(error.code, said, { recovery, status: error.status, requestId: error.requestId, parts: error.parts, cause: error });
}

/** Refuses to go on where a part names memories by ids that they do not have here. */
export function check(parts: Part[], done: ImportReport[]): void {
  if (parts.length < 2 || !done.at(-1)!.moved || !parts.some((part) => part.names)) return;
  throw new LociError(
    "conflict",
    `some ids of these lines stand for other memories here, so that what one part says of another would be lost: ${done.length} of ${parts.length} parts are imported`,
    { recovery: byCommand },
  );
}

/** What the imports of all parts have done. */
export function together(done: ImportReport[]): ImportReport {
  const sum = (count: (one: ImportReport) => number) => done.reduce((total, one) => total + count(one), 0);
  const out = { ...done[0]!, created: sum((one) => one.created), existing: sum((one) => one.existing), conflicts: sum((one) => one.conflicts) };
  const skipped = done.flatMap((one) => one.skipped ?? []).slice(0, 20);
  const moved = sum((one) => one.moved ?? 0);
  return { ...out, ...(skipped.length > 0 ? { skipped } : {}), ...(moved > 0 ? { moved } : {}) };
}

const none: Line = {};

function parse(text: string): Line {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === "object" && read !== null && !Array.isArray(read) ? (read as Line) : none;
  } catch {
    return none;
  }
}

function checkEnd(read: Line[], all: Group): void {
  const recovery = "Export it again.";
  const end = read.findLast((line) => line !== none)!;
  if (end.type !== "end") throw new LociError("invalid", 'the file is cut short: its last line must have type "end"', { recovery });
  for (const [field, count] of Object.entries({ records: all.records, revision_lines: all.revisions, links: all.links })) {
    if ((end[field] ?? 0) !== count) throw new LociError("invalid", `${field} is ${end[field] ?? 0} but ${count} were read: the file is damaged`, { recovery });
  }
}

const size = (value: unknown) => (typeof value === "string" ? Buffer.byteLength(value) : 0);

/** How many bytes the server counts a text of an import as: a hyphen between two letters as six. */
const counted = (value: unknown) => (typeof value === "string" ? sizeOfText(value) + 5 * (value.match(/[A-Za-z]-(?=[A-Za-z])/g)?.length ?? 0) : 0);

function weightOf(line: Line, text: string, bytes: number): number {
  const weight = Math.floor(bytes / 2000);
  if (["header", "revision", "link", "end"].includes(line.type as string)) return weight + 2;
  if (line.type === "entity") {
    const more = Array.isArray(line["observations"]) ? Math.max(line["observations"].length - 1, 0) : 0;
    return weight + 5 * (more + 1) + Math.floor((counted(text) + more * (counted(line["name"]) + counted(line["entityType"]))) / 105);
  }
  return Math.min(weight + 5 + Math.floor(counted(line["text"]) / 105), bounds.weight / 2);
}

function add(group: Group, at: number, line: Line, text: string): void {
  const bytes = size(text);
  const body = (typeof line.body === "object" && line.body !== null ? line.body : {}) as Record<string, unknown>;
  group.numbers.push(at + 1);
  group.weight += weightOf(line, text, bytes);
  group.bytes += bytes;
  group.records += line.type === "record" ? 1 : 0;
  group.revisions += line.type === "revision" ? 1 : 0;
  group.links += line.type === "link" ? 1 : 0;
  group.names ||= group.links > 0 || !!body["supersedes"] || !!body["superseded_by"];
}

/** Whether a part takes one more group. The header and the end weigh something, too. */
function takes(load: typeof bounds, group: Group): boolean {
  return load.weight + group.weight <= bounds.weight - 8 && load.bytes + group.bytes <= bounds.bytes && load.lines + group.numbers.length <= bounds.lines;
}

function grouped(read: Line[], lines: string[]): Group[] {
  const groups = new Map<string, Group>();
  let last = "";
  let values: number[] = []; // of checkpoints, which come before the first that has them
  read.forEach((line, at) => {
    if (lines[at]!.trim() === "" || line.type === "header" || line.type === "end") return;
    const body = (typeof line.body === "object" && line.body !== null ? line.body : {}) as Record<string, unknown>;
    const inner = JSON.stringify(Array.isArray(line.namespace) ? line.namespace.slice(0, -1) : []);
    let key = `line ${at}`;
    if (line.kind === "checkpoint_value") return void values.push(at);
    if (line.type === "revision") key = last;
    else if (line.kind === "checkpoint" || line.kind === "checkpoint_write") key = "thread " + JSON.stringify([line.namespace, body["thread"], body["ns"] ?? ""]);
    else if (line.kind === "session") key = `session ${inner} ${slotOf(line)}`;
    else if (line.kind === "message") key = `session ${inner} ${line.sequence}`;
    else if (line.kind === "file") key = `file ${line.id}`;
    else if (line.kind === "block") key = `file ${line.sequence}`;
    let group = groups.get(key);
    if (!group) groups.set(key, (group = new Group()));
    if (line.kind === "checkpoint") {
      for (const each of values) add(group, each, read[each]!, lines[each]!);
      values = [];
    }
    add(group, at, line, lines[at]!);
    if (line.kind === "file") group.path = slotOf(line).length;
    last = key;
  });
  for (const group of groups.values()) {
    group.numbers.sort((a, b) => a - b);
    if (group.links > 0) group.path = Infinity; // after all that they join
  }
  return [...groups.values()];
}

function slotOf(line: Line): string {
  return typeof line.slot === "string" ? Buffer.from(line.slot, "base64").toString() : "";
}

function partOf(groups: Group[], read: Line[], lines: string[], isExport: boolean): Part {
  const numbers = groups.flatMap((group) => group.numbers);
  const some = (list: number[]) => list.map((number) => lines[number - 1]!);
  if (!isExport) {
    numbers.sort((a, b) => a - b);
    return { lines: some(numbers), numbers, names: false };
  }
  const sum = (count: (one: Group) => number) => groups.reduce((total, one) => total + count(one), 0);
  const end = { type: "end", records: sum((g) => g.records), revision_lines: sum((g) => g.revisions), links: sum((g) => g.links) };
  const head = read.findIndex((line) => line.type === "header");
  return { lines: [lines[head]!, ...some(numbers), JSON.stringify(end)], numbers: [head + 1, ...numbers, 0], names: groups.some((group) => group.names) };
}
