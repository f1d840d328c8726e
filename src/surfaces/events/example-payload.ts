import { type EventRow, fieldsOf, type JsonSchema, payloadSchemaOf } from "../../events/index.ts";

/** Words that say more than a generated one. */
const KNOWN: Readonly<Record<string, string>> = {
  config_key: "hex8_2p",
  node_id: "node-1",
  model_id: "model-7",
  provider: "vast",
};

const textOf = (name: string, schema: JsonSchema): string => {
  if (KNOWN[name] !== undefined) return KNOWN[name];
  if (schema.pattern?.includes("{64}")) return "0".repeat(64);
  if (schema.pattern?.includes("p$") || schema.pattern?.includes("p)")) return KNOWN.config_key!;
  return name.endsWith("_id") ? `${name.slice(0, -3).replaceAll("_", "-")}-1` : name.replaceAll("_", "-");
};

function numberOf({ type, minimum, exclusiveMinimum, maximum }: JsonSchema): number {
  const least = minimum ?? exclusiveMinimum ?? 1;
  if (maximum === undefined) return Math.max(least + (exclusiveMinimum === undefined ? 0 : 1), 1);
  return type === "integer" ? maximum : (least + maximum) / 2;
}

/** A value that the field accepts. */
function exampleOf(name: string, schema: JsonSchema): unknown {
  if (schema.enum !== undefined) return schema.enum[0];
  switch (schema.type) {
    case "string":
      return textOf(name, schema);
    case "integer":
    case "number":
      return numberOf(schema);
    case "boolean":
      return true;
    case "array":
      return [exampleOf(name.replace(/s$/, ""), schema.items ?? {})];
    case "object":
      return typeof schema.additionalProperties === "object" && schema.additionalProperties.type !== undefined
        ? { example: exampleOf("example", schema.additionalProperties) }
        : { example: 1 };
    default:
      return "example";
  }
}

/** A payload with every required field. */
export function examplePayload(row: EventRow): Record<string, unknown> {
  const { properties = {} } = payloadSchemaOf(row);
  const required = fieldsOf(row).filter((field) => field.required);
  return Object.fromEntries(required.map(({ name }) => [name, exampleOf(name, properties[name]!)]));
}

/** As one argument of a POSIX shell. */
const quoted = (text: string): string => (/^[\w.,:/@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The payload as `key=value` words for the command line. */
export const exampleWords = (row: EventRow): string[] =>
  Object.entries(examplePayload(row)).map(([key, value]) =>
    quoted(`${key}=${typeof value === "string" ? value : JSON.stringify(value)}`),
  );
