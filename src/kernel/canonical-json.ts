/** One text for one value: keys sorted, no spaces, so that equal payloads have equal hashes in every process. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const NINE = "9".charCodeAt(0);

const isPlain = (value: unknown): boolean =>
  value === null || (typeof value !== "object" && typeof value !== "bigint" && typeof value !== "function");

/**
 * An object of plain values is copied in the order of its keys and left to the engine, which writes it in half the time.
 * Keys that an object does not keep where they are put (numbers, `__proto__`) are not for this way.
 */
const writeFlat = (object: Record<string, unknown>, sortedKeys: readonly string[]): string | undefined => {
  const copy: Record<string, unknown> = {};
  for (const key of sortedKeys) {
    const value = object[key];
    if (!isPlain(value) || key.charCodeAt(0) <= NINE || key === "__proto__") return undefined;
    copy[key] = value;
  }
  return JSON.stringify(copy);
};

const write = (value: unknown): string | undefined => {
  if (value === null) return "null";
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
      return Number.isFinite(value) ? String(Object.is(value, -0) ? 0 : value) : "null";
    case "boolean":
      return value ? "true" : "false";
    case "object":
      break;
    default:
      return undefined;
  }
  const object = value as { toJSON?: () => unknown } & Record<string, unknown>;
  if (typeof object.toJSON === "function") return write(object.toJSON());
  if (Array.isArray(value)) {
    let text = "[";
    for (let i = 0; i < value.length; i += 1) text += `${i === 0 ? "" : ","}${write(value[i]) ?? "null"}`;
    return `${text}]`;
  }
  const keys = Object.keys(object).sort();
  const flat = writeFlat(object, keys);
  if (flat !== undefined) return flat;
  let text = "";
  for (const key of keys) {
    const inner = write(object[key]);
    if (inner !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${inner}`;
  }
  return `{${text}}`;
};

export const canonicalJson = (value: unknown): string => write(value) ?? "null";
