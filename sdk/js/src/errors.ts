/** The kinds of errors of a Loci server, and of what stands between it and this client. */
export type ErrorCode =
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "too_large"
  | "unsupported"
  | "unavailable"
  | "internal";

/** One thing that is wrong with a request. */
export interface ErrorPart {
  location: string;
  message: string;
}

/** What a {@link LociError} is made of. */
export interface ErrorFields {
  /** What to do next, for a person or a model. */
  recovery?: string | undefined;
  /** The HTTP status; absent: no response came. */
  status?: number | undefined;
  /** The request's id, as in the server's log. */
  requestId?: string | undefined;
  /** The parts of the request that are wrong. */
  parts?: ErrorPart[] | undefined;
  cause?: unknown;
}

/**
 * What every call of this package throws, apart from the reason of an
 * `AbortSignal` of the caller's. Tell errors apart by {@link code}.
 */
export class LociError extends Error {
  readonly code: ErrorCode;
  readonly recovery: string;
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  readonly parts: ErrorPart[];

  constructor(code: ErrorCode, message: string, fields: ErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = "LociError";
    this.code = code;
    this.recovery = fields.recovery ?? "";
    this.status = fields.status;
    this.requestId = fields.requestId;
    this.parts = fields.parts ?? [];
  }

  /** Whether an error is one of these, also of another copy of this package. */
  static is(error: unknown): error is LociError {
    return error instanceof LociError || (error instanceof Error && /^(Loci|Configuration)Error$/.test(error.name) && "code" in error && "recovery" in error);
  }
}

/**
 * A call that does not say whose memory it means, or where: a variable of its configuration
 * is missing. It is a mistake of the program, so nothing goes on without the memory, and no
 * model is told.
 */
export class ConfigurationError extends LociError {
  /** The variable that is missing. */
  readonly key: string;

  constructor(key: string, available: Iterable<string> = [], message?: string) {
    const names = [...available].filter((name) => !name.startsWith("__")).map((name) => `'${name}'`); // those are LangGraph's own
    super("invalid", message ?? `Missing key in 'configurable' field: ${key}. Available keys: [${names.join(", ")}]`, {
      recovery: 'Pass it with the call: { configurable: { "…": "…" } }.',
    });
    this.key = key;
    this.name = "ConfigurationError";
  }

  /** Whether an error is one of these, also of another copy of this package. */
  static override is(error: unknown): error is ConfigurationError {
    return error instanceof ConfigurationError || (error instanceof Error && error.name === "ConfigurationError" && "code" in error && "recovery" in error);
  }
}

const codes: readonly string[] = ["invalid", "unauthenticated", "forbidden", "not_found", "conflict", "too_large", "unsupported", "unavailable", "internal"];

/** The error in a problem document (RFC 9457) as Loci sends it; undefined: it is none. */
export function errorOfProblem(problem: unknown, status?: number): LociError | undefined {
  if (typeof problem !== "object" || problem === null) return undefined;
  const p = problem as Record<string, unknown>;
  if (typeof p.code !== "string" || !codes.includes(p.code)) return undefined;
  const text = (v: unknown): string | undefined => (typeof v === "string" ? v : undefined);
  if (status === 404 && text(p.detail)?.startsWith("there is nothing at ")) {
    // It must not read as "there is no such thing".
    if (/\/(v1|mcp)\/v1\//.test(text(p.detail) ?? "")) {
      const recovery = "Give the address without its last part, such as http://127.0.0.1:7437.";
      return new LociError("invalid", `baseUrl ends in /v1 or /mcp, and the client adds the path itself: ${text(p.detail)}`, { status, requestId: text(p.request_id), recovery });
    }
    return new LociError("unsupported", `the server is older than this client: ${text(p.detail)}`, { status, requestId: text(p.request_id), recovery: "Update the server." });
  }
  const [, missing, key] = /^ConfigurationError: (Missing key in 'configurable' field: (\w+)\..*)$/s.exec(text(p.detail) ?? "") ?? [];
  if (missing !== undefined && key !== undefined) return new ConfigurationError(key, [], missing);
  return new LociError(p.code as ErrorCode, text(p.detail) ?? text(p.title) ?? p.code, {
    recovery: text(p.recovery),
    status,
    requestId: text(p.request_id),
    parts: Array.isArray(p.errors) ? p.errors.filter((part): part is ErrorPart => typeof part === "object" && part !== null) : undefined,
  });
}

/** The error of a response that is not of Loci's making: a proxy's, or another server's. */
export function errorOfStatus(status: number, requestId?: string): LociError {
  const fields = { status, requestId };
  switch (true) {
    case status === 401:
      return new LociError("unauthenticated", "the server asks for authentication", { ...fields, recovery: "Give the client an apiKey." });
    case status === 403:
      return new LociError("forbidden", "the server refuses the request", fields);
    case status === 413:
      return new LociError("too_large", "the server or a proxy in front of it takes no request of this size", { ...fields, recovery: "Send less at once." });
    case status === 408 || status === 429 || status >= 500:
      return new LociError("unavailable", `the server answered ${status}`, { ...fields, recovery: "Try again later." });
  }
  return new LociError("unsupported", `what answered (${status}) is no Loci server, or one of another version`, {
    ...fields,
    recovery: "Check the client's baseUrl: GET /v1/info there says what the server is.",
  });
}
