import { LociError } from "../errors.js";

/**
 * A filter without numbers that JSON cannot say, which mean the same; undefined: nothing
 * can match. A key with a period is refused: stores differ in what it means.
 */
export function finite(conditions: Record<string, unknown>): Record<string, unknown> | undefined {
  const out: Record<string, unknown> = {};
  for (const [key, wanted] of Object.entries(conditions)) {
    if (key.includes(".")) throw new LociError("invalid", `the key ${JSON.stringify(key)} of the filter has a period`, { recovery: "For a field inside an object write { outer: { inner: … } }." });
    const names = typeof wanted === "object" && wanted !== null && !Array.isArray(wanted) ? Object.keys(wanted) : [];
    const operators = names.length > 0 && names.every((name) => name.startsWith("$"));
    const left: Record<string, unknown> = {};
    for (const [name, value] of operators ? Object.entries(wanted as object) : [["$eq", wanted] as [string, unknown]]) {
      const bound = boundOf(name, value);
      if (bound === undefined) return undefined;
      Object.assign(left, bound);
    }
    if (!operators) out[key] = wanted;
    else if (Object.keys(left).length > 0) out[key] = left;
  }
  return out;
}

/** A condition in numbers that JSON can say; empty: it always holds, undefined: it never does. */
function boundOf(operator: string, value: unknown): Record<string, unknown> | undefined {
  if (operator === "$ne" && endless(value)) return {}; // nothing that is stored is such a number
  if (typeof value !== "number" || Number.isFinite(value)) return endless(value) ? undefined : { [operator]: value };
  if (value === -Infinity && /^\$gte?$/.test(operator)) return { $gte: -Number.MAX_VALUE };
  if (value === Infinity && /^\$lte?$/.test(operator)) return { $lte: Number.MAX_VALUE };
  return undefined;
}

/** Whether a value holds a number that JSON cannot say. */
function endless(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  return typeof value === "object" && value !== null && Object.values(value).some(endless);
}
