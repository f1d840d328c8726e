import { OperatingError } from "../kernel/index.ts";

/** Everything is bounded: what one event may carry. */
export const PAYLOAD_BYTES_MAX = 1_048_576;
export const PAYLOAD_DEPTH_MAX = 64;

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

type Verdict = "ok" | "no-json" | "too-deep" | "too-large";

/**
 * Walks with its own stack: a hostile payload must not be able to overflow ours. Every value takes at least one byte of
 * text, so counting them ends the walk through a structure that shares its parts endlessly; a cycle ends at the depth.
 */
function judge(whole: unknown): Verdict {
  const open: { value: unknown; depth: number }[] = [{ value: whole, depth: 0 }];
  let seen = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value } = next;
    seen += 1;
    if (seen > PAYLOAD_BYTES_MAX) return "too-large";
    if (value === null || typeof value === "string" || typeof value === "boolean") continue;
    if (typeof value === "number") {
      if (!Number.isFinite(value)) return "no-json";
      continue;
    }
    if (typeof value !== "object") return "no-json";
    const depth = next.depth + 1;
    if (depth > PAYLOAD_DEPTH_MAX) return "too-deep";
    if (!Array.isArray(value) && !isPlain(value)) return "no-json";
    const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    // An undefined member is how an optional field is left out; in a list it would be a hole.
    for (const part of inner) if (part !== undefined || Array.isArray(value)) open.push({ value: part, depth });
  }
  return "ok";
}

/** Whether a value survives the way through JSON unchanged, at a nesting that we accept. */
export const isJson = (value: unknown): boolean => judge(value) === "ok";

/** The JSON text of a payload, or a typed error when it is no JSON object, nests too deep or is too large. */
export function boundedText(payload: unknown, write: (value: unknown) => string = JSON.stringify): string {
  const refuse = (message: string, hint: string) =>
    OperatingError.invalid("INVALID_EVENT", `data: ${message}`, { hint, details: { path: "data" } });
  const large = (bytes: number | string) =>
    refuse(
      `${bytes} bytes, at most ${PAYLOAD_BYTES_MAX} are accepted`,
      "Store large data as an artifact and send its artifact_hash.",
    );
  if (typeof payload !== "object" || payload === null || Array.isArray(payload))
    throw refuse("must be a JSON object", "A payload is an object of named fields.");
  const verdict = judge(payload);
  if (verdict === "no-json")
    throw refuse("must hold JSON values only", "Finite numbers, texts, booleans, null, lists and plain objects.");
  if (verdict === "too-deep")
    throw refuse(`nests deeper than ${PAYLOAD_DEPTH_MAX} levels`, "A payload is flat; put structure into an artifact.");
  if (verdict === "too-large") throw large("far too many");
  const text = write(payload);
  const bytes = text.length > PAYLOAD_BYTES_MAX ? text.length : Buffer.byteLength(text);
  if (bytes > PAYLOAD_BYTES_MAX) throw large(bytes);
  return text;
}
