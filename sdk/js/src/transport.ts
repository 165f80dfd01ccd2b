import { NotOfShape, check, type Shape } from "./reply.js";
import { mediaParts, unpack } from "./parts.js";
import { errorOfProblem, errorOfStatus, LociError } from "./errors.js";

/** Whose memory a client's calls are about, as far as its credential lets it choose. */
export interface Identity {
  /** Needs the scope delegate, unless it is the credential's own; so do {@link org}, {@link agent} and {@link butler}. */
  user?: string;
  org?: string;
  agent?: string;
  butler?: string;
  thread?: string;
  session?: string;
  /** Needs the scopes admin and elevate; each call is recorded in both tenants. */
  tenant?: string;
}

/** Options of a client. All are optional. */
export interface ClientOptions extends Identity {
  /** Default: the environment variable LOCI_URL, else http://127.0.0.1:7437. */
  baseUrl?: string;
  /** Sent as a bearer token. Default: the environment variable LOCI_API_KEY, else the token that `loci serve` on this machine keeps in a file. */
  apiKey?: string;
  /** Headers of every request. */
  headers?: Record<string, string>;
  /** Milliseconds of one attempt, 1 to 2147483647. Default 60000. */
  timeout?: number;
  /** Attempts after the first, 0 to 10. Default 3. */
  retries?: number;
  /** Default: the global fetch. */
  fetch?: typeof fetch;
}

/** Options of one call. */
export interface CallOptions {
  signal?: AbortSignal;
  /** Milliseconds of one attempt; default: the client's. */
  timeout?: number;
  /** Attempts after the first, 0 to 10; default: the client's. */
  retries?: number;
  /**
   * Of a call that writes, 1 to 256 characters of ASCII: the server does it once,
   * however often the same request comes within 24 hours. Default: a new one for
   * each call, so that its retries double nothing.
   */
  idempotencyKey?: string;
}

/** A request as the resources make it. */
export interface Request {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Record<string, string | number | boolean | readonly string[] | undefined>;
  body?: unknown;
  /** Of the reply; nothing: it has no body. */
  reply: Shape | "nothing";
  /** It changes something, and gets an idempotency key. */
  writes?: boolean;
  /** It changes something, for which the server takes no key: it is sent once. */
  fragile?: boolean;
  /** A server that knows how sends bytes as they are, except those of values with these ids. */
  parts?: { known: string[] };
  /** It may be done by a part: the reply then says where it goes on. */
  on?: boolean;
}

const identityHeaders: Record<keyof Identity, string> = {
  user: "Loci-User",
  org: "Loci-Org",
  agent: "Loci-Agent",
  butler: "Loci-Butler",
  thread: "Loci-Thread",
  session: "Loci-Session",
  tenant: "Loci-Tenant",
};

const longestWait = 30_000; // milliseconds; a server that wants more is not waited for
const bodyLimit = 256 << 20; // bytes of a response

/** Sends requests: headers, time limits, retries, errors. Its fields are private, so that no key ends in a log. */
export class Transport {
  readonly #base: string;
  readonly #headers: Headers;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;

  constructor(o: ClientOptions) {
    known("a client", clientOptions, o, "Name the server as baseUrl, and whose memory it is as user, org or agent.");
    this.#base = baseOf(o.baseUrl ?? process.env.LOCI_URL ?? "http://127.0.0.1:7437");
    this.#timeout = bounded("timeout", o.timeout ?? 60_000, 1, 2147483647);
    this.#retries = bounded("retries", o.retries ?? 3, 0, 10);
    this.#fetch = o.fetch ?? ((...given) => fetch(...given));
    this.#headers = new Headers(o.headers);
    // An empty one that the program gives is refused below: it would let another credential through, or none.
    const key = o.apiKey ?? (process.env.LOCI_API_KEY || undefined) ?? (this.#headers.has("Authorization") ? undefined : localToken(this.#base));
    if (key !== undefined) this.#headers.set("Authorization", `Bearer ${headerValue("apiKey", key)}`);
    for (const [field, header] of Object.entries(identityHeaders)) {
      const value = o[field as keyof Identity];
      if (value !== undefined) this.#headers.set(header, headerValue(field, value));
    }
    if (!this.#headers.has("User-Agent")) this.#headers.set("User-Agent", "loci-memory-js");
  }

  /** Sends a request, again where that is safe, and returns the body of the response, checked; undefined: it has none. */
  async send<T>(r: Request, o: CallOptions = {}): Promise<T> {
    known("a call", callOptions, o, "Put what a request says into its first argument, as in search({ query, limit }).");
    const url = this.#base + r.path + queryOf(r.query);
    const headers = new Headers(this.#headers);
    headers.set("Accept", r.parts ? `${mediaParts}, application/json` : "application/json");
    if (r.parts && r.parts.known.length > 0) headers.set("If-None-Match", r.parts.known.map((id) => `"${id}"`).join(", "));
    if (r.on) headers.set("Prefer", "parts");
    if (r.writes) headers.set("Idempotency-Key", o.idempotencyKey === undefined ? crypto.randomUUID() : headerValue("idempotencyKey", o.idempotencyKey));
    let body: string | null = null;
    if (r.body !== undefined) {
      headers.set("Content-Type", "application/json");
      body = encode(r.body);
    }
    const timeout = o.timeout === undefined ? this.#timeout : bounded("timeout", o.timeout, 1, 2147483647);
    const retries = r.fragile ? 0 : o.retries === undefined ? this.#retries : bounded("retries", o.retries, 0, 10);
    for (let attempt = 0; ; attempt++) {
      o.signal?.throwIfAborted();
      const { result, error, wait } = await this.#attempt<T>(r, url, { method: r.method, headers, body, redirect: "manual" }, timeout, o.signal);
      if (error === undefined) return result as T;
      if (wait === undefined || attempt >= retries || wait > longestWait) throw error;
      await sleep(Math.max(wait, Math.random() * Math.min(5000, 100 * 2 ** attempt)), o.signal);
    }
  }

  /** Sends a request once. `wait` says that another attempt may succeed, and after how many milliseconds at least. */
  async #attempt<T>(r: Request, url: string, init: RequestInit, timeout: number, signal?: AbortSignal): Promise<{ result?: T; error?: LociError; wait?: number }> {
    const late = AbortSignal.timeout(timeout);
    let response: Response;
    let bytes: Buffer;
    try {
      response = await this.#fetch(url, { ...init, signal: signal ? AbortSignal.any([signal, late]) : late });
      bytes = await readBytes(response);
    } catch (cause) {
      signal?.throwIfAborted();
      if (LociError.is(cause)) return { error: cause };
      const message = late.aborted ? `the server did not answer within ${timeout} ms` : "the server cannot be reached";
      return { error: new LociError("unavailable", message, { cause, recovery: "See whether `loci serve` runs at the client's baseUrl." }), wait: 0 };
    }
    const { status } = response;
    const id = response.headers.get("X-Request-Id") ?? undefined;
    if (response.ok) return accept<T>(r, response, bytes, id);
    const value = parse(textOf(bytes));
    const error = errorOfProblem(value, status) ?? errorOfStatus(status, id);
    const again = status === 408 || status === 429 || status === 502 || status === 503 || status === 504;
    return again ? { error, wait: retryAfter(response.headers.get("Retry-After")) } : { error };
  }
}

/** What a response says, if it has the shape that the request asks for. */
function accept<T>(r: Request, { status, headers }: Response, bytes: Buffer, requestId: string | undefined): { result?: T; error?: LociError } {
  try {
    if (r.parts && headers.get("Content-Type") === mediaParts) {
      const value = unpack(bytes);
      check(value, r.reply as Shape);
      return { result: value as T };
    }
    const text = textOf(bytes);
    if (r.reply === "nothing") {
      if (status !== 204 || text !== "") throw new NotOfShape("the reply must be empty, with the status 204");
      return { result: undefined as T };
    }
    if (text === "") throw new NotOfShape("the reply is empty");
    const value = parse(text);
    if (value === undefined) throw new NotOfShape("the reply is not JSON");
    check(value, r.reply);
    return { result: value as T };
  } catch (cause) {
    if (!(cause instanceof NotOfShape)) throw cause;
    const error = new LociError("unsupported", `what answered ${r.method} ${r.path} (${status}) is no Loci server, or one of another version: ${cause.message}`, {
      cause,
      status,
      requestId,
      recovery: "Check the client's baseUrl: GET /v1/info there says what the server is.",
    });
    return { error };
  }
}

/** Where a list goes on, which must be elsewhere than before: no list goes round in circles. */
export function on<C>(before: C | undefined, after: C, what: string): C {
  if (before !== after) return after;
  throw new LociError("unsupported", `the server's list of ${what} does not end: it goes on where it went on before`, { recovery: "See what the baseUrl leads to." });
}

/** The options of a later part of what takes several requests: its idempotency key begins with that of the first. */
export function forPart(o: CallOptions | undefined, part: number): CallOptions | undefined {
  if (o?.idempotencyKey === undefined || part === 0) return o;
  const key = `${o.idempotencyKey}:${part}`;
  if (key.length > 256) {
    const text = `idempotencyKey is ${o.idempotencyKey.length} bytes long, and that of a later part, which ends in :${part}, may have 256`;
    throw new LociError("invalid", text, { recovery: "Choose a key of up to 240 bytes." });
  }
  return { ...o, idempotencyKey: key };
}

const callOptions = ["signal", "timeout", "retries", "idempotencyKey"];
const clientOptions = ["baseUrl", "apiKey", "headers", "timeout", "retries", "fetch", ...Object.keys(identityHeaders)];

/**
 * Refuses options that would be ignored. A program without types may take a call's for parts of the
 * request; and a client that ignored `url` or `userId` would use the memory of another server, or of somebody else.
 */
export function known(what: string, names: string[], given: object, recovery: string): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || names.includes(name)) continue;
    throw new LociError("invalid", `${name} is no option of ${what}, which are ${names.join(", ")}`, { recovery });
  }
}

/** Refuses what only looks like a list to a program without types. */
export function listed(field: string, value: unknown): void {
  if (!Array.isArray(value)) throw new LociError("invalid", `${field} must be a list`, { recovery: "Put it in an array." });
}

/** A part of a path. Throws for what no address can hold. */
export function segment(field: string, value: string): string {
  if (value === "" || value === "." || value === "..") {
    throw new LociError("invalid", `${field} must not be ${value === "" ? "empty" : `"${value}"`}`, { recovery: "Choose another one." });
  }
  return encodeURIComponent(wellFormed(field, value));
}

/** A header's value in UTF-8. Headers lose white space at their ends, so there may be none. */
function headerValue(field: string, value: string): string {
  if (typeof value !== "string" || value === "" || /[\u0000-\u001f\u007f]/.test(value) || value.trim() !== value) {
    throw new LociError("invalid", `${field} must be a text that is not empty, without control characters and white space at its ends`);
  }
  return String.fromCharCode(...new TextEncoder().encode(wellFormed(field, value)));
}

/** Refuses half a surrogate pair, which would silently become another text. */
function wellFormed(field: string, value: string): string {
  if (typeof value !== "string") throw new LociError("invalid", `${field} must be a text, not ${value === null ? "null" : typeof value}`, { recovery: "Give a string." });
  if (/\p{Surrogate}/u.test(value)) throw new LociError("invalid", `${field} is not well-formed Unicode`, { recovery: "Leave out halves of surrogate pairs." });
  return value;
}

function baseOf(given: string): string {
  let url: URL;
  try {
    url = new URL(given);
  } catch (cause) {
    throw new LociError("invalid", "baseUrl is no URL", { cause, recovery: "Give one such as http://127.0.0.1:7437." });
  }
  if ((url.protocol !== "http:" && url.protocol !== "https:") || url.username || url.password || url.search || url.hash) {
    throw new LociError("invalid", "baseUrl must be http or https, without a user, a query and a fragment", { recovery: "Give credentials as apiKey." });
  }
  return url.href.replace(/\/+$/, "");
}

/** The token that `loci serve` keeps for programs of its user, if the server is on this machine; elsewhere it is no business of anybody. */
function localToken(base: string): string | undefined {
  if (!/^(localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/.test(new URL(base).hostname)) return undefined;
  const { env, platform } = process;
  const home = (platform === "win32" ? env.USERPROFILE : env.HOME) ?? "";
  const data =
    env.XDG_DATA_HOME || (platform === "win32" ? env.LOCALAPPDATA || `${home}/AppData/Local` : platform === "darwin" ? `${home}/Library/Application Support` : `${home}/.local/share`);
  try {
    return process.getBuiltinModule("node:fs").readFileSync(env.LOCI_AUTH_TOKEN_FILE || `${data}/loci/token`, "utf8").trim() || undefined;
  } catch {
    return undefined; // there is none, or this runtime has no files
  }
}

function bounded(field: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most) throw new LociError("invalid", `${field} is ${value}; it must be an integer from ${least} to ${most}`);
  return value;
}

/** Refuses values of which JSON silently makes others: null, and objects without anything in them. */
function held(this: Record<string, unknown>, name: string, value: unknown): unknown {
  const given = this[name]; // a date is a text in value
  const what =
    typeof value === "number" && !Number.isFinite(value) ? String(value)
    : given instanceof Map ? "a Map"
    : given instanceof Set ? "a Set"
    : given instanceof Date && value === null ? "no date"
    : undefined;
  if (what !== undefined) throw new LociError("invalid", `${name} is ${what}, which JSON cannot hold`, { recovery: "Leave it out, or send a text, a list or an object." });
  return value;
}

function encode(body: unknown): string {
  try {
    return JSON.stringify(body, held);
  } catch (cause) {
    if (LociError.is(cause)) throw cause;
    throw new LociError("invalid", "the request cannot be written as JSON", { cause, recovery: "Leave out cycles and BigInt values." });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // whoever asked says what that means
  }
}

/** The bytes of a response. One that never ends is left. */
async function readBytes(response: Response): Promise<Buffer> {
  if (!response.body) return Buffer.alloc(0);
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
    length += part.length;
    if (length > bodyLimit) throw new LociError("too_large", `the response is longer than ${bodyLimit} bytes`, { recovery: "Ask for less at once." });
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** A text in UTF-8. */
function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return "\ufffd"; // which is no JSON
  }
}

function queryOf(query: Request["query"]): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) q.append(name, String(one));
  }
  return q.size > 0 ? `?${q}` : "";
}

/** Milliseconds that a Retry-After header asks for: seconds or a date. */
function retryAfter(header: string | null): number {
  if (header === null) return 0;
  const seconds = Number(header);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(wait) ? Math.max(0, wait) : 0;
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** How many bytes the server counts a text as where it makes words of it: those that are not ASCII twice. */
export function sizeOfText(text: string): number {
  let ascii = 0;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) < 128) ascii++;
  return 2 * Buffer.byteLength(text) - ascii;
}

/** Cuts values for several requests, so many of them and so many bytes of their JSON, each as what it is counted: where each part begins and ends. */
export function parts<T>(values: T[], most: number, mostBytes: number, counted: (value: T, text: string) => number = (_, text) => Buffer.byteLength(text)): [number, number][] {
  const out: [number, number][] = [];
  let bytes = 0;
  values.forEach((value, i) => {
    const size = counted(value, JSON.stringify(value) ?? "");
    const last = out.at(-1);
    if (last === undefined || i - last[0] >= most || bytes + size > mostBytes) {
      out.push([i, i + 1]);
      bytes = size;
    } else {
      last[1] = i + 1;
      bytes += size;
    }
  });
  return out;
}
