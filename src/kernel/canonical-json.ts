/** One text for one value: keys sorted, no spaces, so that equal payloads have equal hashes in every process. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

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
  let text = "";
  for (const key of keys) {
    const inner = write(object[key]);
    if (inner !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${inner}`;
  }
  return `{${text}}`;
};

export const canonicalJson = (value: unknown): string => write(value) ?? "null";
