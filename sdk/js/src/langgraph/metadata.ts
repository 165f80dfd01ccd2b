const deepest = 32; // levels; the server takes 64 in a whole request

/**
 * What filters can match of a checkpoint's metadata: plain JSON. What JSON or the
 * server cannot take is left out; the metadata themselves are stored beside this,
 * as the serializer wrote them.
 */
export function filterable(metadata: object): Record<string, unknown> {
  return plain(metadata, 0, new Set()) as Record<string, unknown>;
}

function plain(value: unknown, depth: number, above: Set<object>): unknown {
  switch (typeof value) {
    case "string":
      return value.includes("\0") ? undefined : value.toWellFormed();
    case "number":
      return Number.isFinite(value) ? value : undefined;
    case "boolean":
      return value;
    case "object":
      break;
    default:
      return undefined;
  }
  if (value === null) return null;
  if (depth >= deepest || above.has(value)) return undefined;
  above.add(value);
  try {
    const given: unknown = "toJSON" in value && typeof value.toJSON === "function" ? value.toJSON() : value;
    if (typeof given !== "object" || given === null) return plain(given, depth, above);
    if (Array.isArray(given)) return given.map((v) => plain(v, depth + 1, above) ?? null);
    const fields = Object.entries(given).map(([name, v]): [string, unknown] => [name, plain(v, depth + 1, above)]);
    return Object.fromEntries(fields.filter(([name, v]) => v !== undefined && !name.includes("\0")));
  } finally {
    above.delete(value);
  }
}
