import { type EventRow, type JsonSchema, payloadSchemaOf } from "../../events/index.ts";
import { defined, messageOf, OperatingError } from "../../kernel/index.ts";

type Payload = Record<string, unknown>;

const wrong = (message: string, cause?: unknown) =>
  OperatingError.invalid("INVALID_PAYLOAD", message, {
    ...defined({ cause }),
    hint: "A payload is one JSON object, or words like config_key=hex8_2p games=100.",
  });

/** A JSON object from text; the message says where the text is wrong. */
export function payloadOfJson(text: string, from: string): Payload {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw wrong(`${from} is not JSON: ${messageOf(cause)}`, cause);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw wrong(`${from} is JSON, but no object`);
  return value as Payload;
}

const isText = (schema: JsonSchema | undefined): boolean => schema?.type === "string" || schema?.enum !== undefined;

/** Numbers, true, false, null, lists and objects are read as JSON, everything else and every text field as text. */
function readValue(text: string, schema: JsonSchema | undefined): unknown {
  if (isText(schema)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** What `publish` is given after the name: nothing, one JSON object, or `key=value` words. */
export function payloadOfWords(words: readonly string[], row: EventRow | undefined): Payload {
  if (words.length === 0) return {};
  if (words[0]!.trimStart().startsWith("{")) {
    if (words.length > 1) throw wrong("a JSON payload is one argument; quote it for the shell");
    return payloadOfJson(words[0]!, "the payload");
  }
  const fields = row === undefined ? {} : (payloadSchemaOf(row).properties ?? {});
  const payload: Payload = {};
  for (const word of words) {
    const at = word.indexOf("=");
    if (at < 1) throw wrong(`'${word}' is neither a JSON object nor key=value`);
    const key = word.slice(0, at);
    if (Object.hasOwn(payload, key)) throw wrong(`'${key}' is given twice`);
    payload[key] = readValue(word.slice(at + 1), Object.hasOwn(fields, key) ? fields[key] : undefined);
  }
  return payload;
}
