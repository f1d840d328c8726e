/** What nodes say and are told, on the wire. Times are Unix seconds. */
import { z } from "zod";
import { NODE_STATES } from "../../cluster/index.ts";
import * as schema from "./schemas.ts";
import { answersOf, offer } from "./work-schemas.ts";

const id = z.string().regex(/^[\w.:-]{1,200}$/, "must be 1 to 200 letters, digits or . : - _");
const word = z.string().min(1).max(200);

const capabilities = z
  .strictObject({
    ...offer.shape,
    hostname: word.optional(),
    platform: word.optional(),
    kinds: z.array(word).max(100).optional(),
  })
  .meta({ id: "Capabilities", description: "What a node has." });

export const joinBody = z.strictObject({
  public_key: z.string().min(1).max(100).describe("The raw 32 bytes of an Ed25519 key, in base64."),
  label: schema.name,
  version: word,
  protocol: z.int().min(0).max(1_000_000),
  capabilities,
});

const timing = z.object({ beat_seconds: z.number(), suspect_seconds: z.number(), dead_seconds: z.number() });

export const joinAnswer = z.object({
  node_id: z.string(),
  label: z.string(),
  protocol: z.object({ current: z.int(), least: z.int() }),
  deprecated: z.boolean(),
  timing,
  boot: z.string().describe("What the node signs with, until the coordinator starts anew."),
  server_time: z.number(),
});

export const beatBody = z.strictObject({
  node_id: id,
  incarnation: z.int().min(0),
  version: word,
  capabilities: capabilities.optional(),
  load: z.strictObject({ running: z.int().min(0).max(1_000_000), free: offer }),
  spool: z.strictObject({ waiting: z.int().min(0) }),
  outbox: z.strictObject({ waiting: z.int().min(0), refused: z.int().min(0) }).optional(),
});

export const beatAnswer = z.object({
  state: z.enum(NODE_STATES),
  drain: z.boolean(),
  timing,
  server_time: z.number(),
});

const MOST_NODE_EVENTS = 1_000;

export const nodeEventsBody = z.strictObject({
  node_id: id,
  events: z
    .array(z.unknown())
    .min(1)
    .max(MOST_NODE_EVENTS)
    .meta({ items: { $ref: "#/components/schemas/CloudEvent" } })
    .describe("Oldest first."),
});

export const nodeEventsAnswer = answersOf(
  z.object({ event_id: z.string(), seq: z.int().nullable(), suppressed: z.enum(["event_id", "content"]).nullable() }),
);

export const leaveBody = z.strictObject({ node_id: id, reason: z.string().min(1).max(2_000) });

export const nodeView = z
  .looseObject({
    node_id: z.string(),
    label: z.string(),
    state: z.enum(NODE_STATES),
    state_since: z.number(),
    incarnation: z.int(),
    version: z.string(),
    deprecated: z.boolean(),
    capabilities: schema.document,
    last_seen_at: z.number().nullable(),
    cordoned: z.object({ reason: z.string(), at: z.number(), by: z.string() }).nullable(),
    draining: z.boolean(),
    local: z.boolean(),
  })
  .meta({ id: "Node" });
