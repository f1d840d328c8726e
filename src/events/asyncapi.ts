import { z } from "zod";
import { attributes } from "./cloud-event.ts";
import { type JsonSchema, jsonSchemaOf, payloadSchemaOf } from "./json-schema.ts";
import type { EventRow, Rows } from "./row.ts";

export interface AsyncApiInfo {
  readonly version: string;
  readonly title?: string;
}

const ref = (path: string) => ({ $ref: `#/${path}` });

/**
 * The events that cross processes as an AsyncAPI 3 document. What stays in its process is never on the wire and so not
 * in it. The application described is the coordinator: it sends each event to who subscribed, and receives what other
 * processes publish.
 */
export function asyncApiDocument(rows: Rows, info: AsyncApiInfo) {
  const crossing = Object.values(rows).filter((row) => row.class !== "process");
  const each = <T>(make: (row: EventRow) => readonly [string, T][]): Record<string, T> =>
    Object.fromEntries(crossing.flatMap(make));
  const operation = (action: "send" | "receive", row: EventRow) => ({
    action,
    channel: ref(`channels/${row.name}`),
    messages: [ref(`channels/${row.name}/messages/${row.name}`)],
  });
  return {
    asyncapi: "3.0.0",
    info: {
      title: info.title ?? "RingRift Coordination events",
      version: info.version,
      description:
        "Every event is a CloudEvent 1.0. In structured mode (application/cloudevents+json) the attributes below and " +
        "the payload, as `data`, are one JSON object. Readers keep fields that they do not know.",
      license: { name: "MIT" },
    },
    defaultContentType: "application/json",
    channels: each((row) => [
      [
        row.name,
        { address: row.wire, description: row.about, messages: { [row.name]: ref(`components/messages/${row.name}`) } },
      ],
    ]),
    operations: each((row) => [
      [`send_${row.name}`, operation("send", row)],
      [`receive_${row.name}`, operation("receive", row)],
    ]),
    components: {
      messages: each((row) => [[row.name, message(row)]]),
      messageTraits: {
        cloudEvent: { contentType: "application/json", headers: ref("components/schemas/CloudEventAttributes") },
      },
      schemas: { CloudEventAttributes: attributesSchema() },
    },
  };
}

function message(row: EventRow) {
  return {
    name: row.name,
    title: row.wire,
    summary: row.about,
    tags: [{ name: row.category }],
    traits: [ref("components/messageTraits/cloudEvent")],
    payload: payloadSchemaOf(row),
    "x-class": row.class,
    "x-order-key": row.orderKey,
    "x-dedup": row.dedup,
    "x-stage": row.stage,
    "x-legacy-names": row.legacy,
    "x-payload-version": row.version,
    "x-critical": row.critical,
    "x-provisional": row.provisional,
  };
}

function attributesSchema(): JsonSchema {
  const schema = jsonSchemaOf(z.looseObject(attributes()));
  const properties = Object.entries(schema.properties ?? {}).map(([name, of]) => [name, withoutNull(of)] as const);
  return { type: "object", required: schema.required ?? [], properties: Object.fromEntries(properties) };
}

/** Null stands for an unset attribute when we read; we never write it. */
function withoutNull(schema: JsonSchema & { readonly anyOf?: readonly JsonSchema[] }): JsonSchema {
  const { anyOf, ...rest } = schema;
  const set = anyOf?.find((option) => option.type !== "null");
  return set === undefined ? schema : { ...set, ...rest };
}
