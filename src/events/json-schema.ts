import { z } from "zod";
import { artifactHash, configKey, nodeId } from "./fields.ts";
import type { EventRow } from "./row.ts";

export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/** JSON Schema (draft 7) of what an emitter hands in. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    target: "draft-7",
    io: "input",
    // Values that may be any JSON have no narrower schema.
    unrepresentable: "any",
    override({ jsonSchema }) {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return rest as JsonSchema;
}

/** The schema of an event's payload for others: they must tolerate fields that newer versions add. */
export function payloadSchemaOf(row: EventRow): JsonSchema {
  const { additionalProperties: _, ...open } = jsonSchemaOf(row.payload);
  return open;
}

export interface FieldNote {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly meaning: string;
}

/** The fields of a payload in words, the required ones first. */
export function fieldsOf(row: EventRow): FieldNote[] {
  const { properties = {}, required = [] } = payloadSchemaOf(row);
  const notes = Object.entries(properties).map(([name, schema]) => ({
    name,
    type: inWords(schema),
    required: required.includes(name),
    meaning: schema.description ?? "",
  }));
  return notes.sort((a, b) => Number(b.required) - Number(a.required));
}

/** Patterns that have a name of their own. */
const kinds = new Map(
  Object.entries({ id: nodeId, "config key": configKey, "SHA-256": artifactHash }).map(([kind, schema]) => [
    jsonSchemaOf(schema).pattern,
    kind,
  ]),
);

function inWords(schema: JsonSchema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(", ");
  switch (schema.type) {
    case "string":
      return kinds.get(schema.pattern) ?? "text";
    case "integer":
    case "number":
      return `${schema.type}${range(schema)}`;
    case "boolean":
      return "true or false";
    case "array":
      return `list of ${inWords(schema.items ?? {})}`;
    case "object":
      return `map to ${inWords(typeof schema.additionalProperties === "object" ? schema.additionalProperties : {})}`;
    default:
      return "any JSON";
  }
}

function range({ minimum, exclusiveMinimum, maximum }: JsonSchema): string {
  if (minimum !== undefined && maximum !== undefined) return `, ${minimum} to ${maximum}`;
  if (exclusiveMinimum !== undefined) return `, above ${exclusiveMinimum}`;
  return minimum === undefined ? "" : `, at least ${minimum}`;
}
