import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { ORDER_ACTIONS, TRANSPORTS } from "../../sync/orders/order.ts";
import { name, nodeId, time, whole, word } from "../http/fields.ts";
import { type Answer, defineRoute, type Input } from "../http/wire.ts";

const sha256 = lazy(() => z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hex"));
const files = (max: number) => z.array(sha256()).max(max).default([]);
const count = lazy(() => z.int().min(0));
const code = lazy(() => z.string().min(1).max(100));
const ofNodes = { tag: "copies", scope: "worker", limit: "beat", record: "no" } as const;
/** Files of one request, so that nobody waits long for the writer. */
const MAX_TOLD = 500;
export const MAX_LISTED_COPIES = 10_000;

const port = lazy(() => z.int().min(1).max(65_535));
const fingerprint = lazy(() => z.string().max(200).nullable());
const serving = lazy(() =>
  z.strictObject({
    host: word.nullable().describe("How others call it; null is the address from which it calls."),
    port: port().nullable().describe("Null where it only waits at the relay."),
    tls: z.boolean(),
    fingerprint: fingerprint(),
    relayed: z.boolean().describe("It has connections at the relay."),
    further: z.array(word).max(8).optional().describe("Further names and addresses of it, such as that of a VPN."),
  }),
);
const transfers = lazy(() =>
  z.strictObject({
    serving: serving().nullable(),
    ways: z
      .array(
        z.strictObject({
          transport: z.enum(TRANSPORTS),
          place: name,
          state: z.enum(["closed", "open", "half_open"]),
          files: count(),
          bytes: count(),
          failures: count(),
          stalls: count(),
          error: z.string().max(2_000).nullable(),
        }),
      )
      .max(100)
      .describe("Ways by which files came since its start, and how each is."),
    links: z
      .array(z.strictObject({ node_id: nodeId, host: z.string().max(200), of: count() }))
      .max(100)
      .optional()
      .describe("By which address it reaches nodes that have several; an empty one where none answers."),
    refused: z
      .array(z.strictObject({ code: word, node_id: nodeId.nullable(), from: word }))
      .max(100)
      .describe("Who was turned away by it since it last spoke."),
  }),
);

const wanted = lazy(() => z.object({ sha256: z.string(), bytes: z.int() }));
const home = lazy(() => z.object({ port: port(), tls: z.boolean(), fingerprint: fingerprint() }));
const batches = lazy(() =>
  z
    .array(
      z.object({
        files: z.array(wanted()),
        sources: z.array(
          z.object({
            transport: z.enum(["http", "relay"]),
            node_id: z.string(),
            host: z.string().nullable().describe("Null is the host of the coordinator, as the node knows it."),
            port: port(),
            tls: z.boolean(),
            fingerprint: fingerprint(),
            ticket: z.string(),
            coming: z.boolean().describe("Who serves may still be fetching it."),
          }),
        ),
      }),
    )
    .describe("From whom it gets what it shall fetch: files that come the same way, and the ways in their order."),
);

export const tellCopies = defineRoute("tellCopies", "POST /v1/sync/copies", {
  ...ofNodes,
  summary: "A node reports the files that it holds or has lost, and asks which it may remove.",
  body: () =>
    z.strictObject({
      node_id: nodeId,
      incarnation: count(),
      held: files(MAX_TOLD).describe("Hashed and flushed there since it last spoke."),
      gone: files(MAX_TOLD).describe("Removed there, or found damaged."),
      drop: files(MAX_TOLD).describe("What it would like to remove."),
      orders: z
        .array(
          z.strictObject({
            order_id: count(),
            state: z.enum(["running", "sent", "failed"]),
            bytes_done: count(),
            error: z.string().max(2_000).nullable(),
            code: code().optional().describe("What kind of failure it was."),
            tries: z
              .array(
                z.strictObject({
                  transport: code(),
                  place: z.string().max(200),
                  code: code().nullable(),
                  error: z.string().max(500).nullable(),
                }),
              )
              .max(20)
              .optional()
              .describe("The ways by which it was tried, in their order."),
          }),
        )
        .max(1_000)
        .default([])
        .describe("How far its orders are."),
      storage: z.strictObject({
        free_bytes: count(),
        waiting: z.strictObject({ files: count(), bytes: count(), oldest_at: time.nullable() }),
      }),
      leaving: z.boolean().optional().describe("It is about to end: what it alone holds goes home first."),
      transfers: transfers().optional().describe("How files travel to and from it."),
    }),
  about: "The copies that count, may be removed, must be removed, or must be checked.",
  answer: () =>
    z.object({
      held: z.array(z.enum(["counted", "given_up", "unknown"])),
      drop: z.array(z.object({ sha256: z.string(), allowed: z.boolean(), why: z.string().nullable() })),
      retired: z.array(z.string()),
      verify: z.array(z.string()),
      invalid: z
        .array(z.string())
        .default([])
        .describe("Copies that must not be used as they are: they go, or are hashed anew where they must stay."),
      newest: z.array(z.string()).default([]).describe("Models, the newest first: they go last from its cache."),
      orders: z
        .array(
          z.object({
            order_id: z.int(),
            action: z.enum(ORDER_ACTIONS),
            sha256: z.string(),
            kind: z.string(),
            sync_id: z.string().default("sync").describe("What it is ordered under."),
            games: z.int().default(0),
            config_key: z.string().nullable().default(null),
            bytes: z.int(),
            urgency: z.int().min(0).max(3).default(1),
            max_rate: z.int().nullable().describe("Bytes a second."),
          }),
        )
        .describe("Transfers that it shall carry out."),
      batches: batches().default([]),
      confirm: z.boolean().describe("It shall first say which of its copies are there."),
      alone: z.int().default(0).describe("Of a node that is about to end: files that lie nowhere else."),
      coordinator: z
        .object({ node_id: z.string(), ticket_key: z.string(), home: home().nullable(), server_time: time })
        .nullable()
        .default(null)
        .describe("By what it knows tickets, and where it waits to be put through."),
      policies: z.array(z.string()).default([]).describe("Policies of transfers that are on."),
    }),
});

export const findSources = defineRoute("findSources", "POST /v1/sync/sources", {
  ...ofNodes,
  summary: "Where a node gets files that it needs now: other nodes first, with tickets for them.",
  body: () => z.strictObject({ node_id: nodeId, files: z.array(sha256()).min(1).max(MAX_TOLD) }),
  about: "Every file of the catalog is in one batch.",
  answer: () => z.object({ batches: batches() }),
});

export const findKnown = defineRoute("findKnown", "POST /v1/sync/known", {
  ...ofNodes,
  summary: "Which of these files a manifest, a pin or a job knows. A node asks it of files that it found.",
  body: () => z.strictObject({ node_id: nodeId, files: z.array(sha256()).min(1).max(MAX_TOLD) }),
  about: "Those that are known.",
  answer: () => z.object({ known: z.array(z.string()) }),
});

export const listCopies = defineRoute("listCopies", "GET /v1/sync/copies", {
  ...ofNodes,
  summary: "The copies that a node holds by the catalog, in its order.",
  query: () =>
    z.strictObject({
      node_id: nodeId,
      after: whole(0, Number.MAX_SAFE_INTEGER).default(0),
      limit: whole(1, MAX_LISTED_COPIES).default(MAX_LISTED_COPIES),
    }),
  about: "From a place on.",
  answer: () => z.object({ copies: z.array(z.object({ seq: z.int(), sha256: z.string(), bytes: z.int() })) }),
});

export const confirmCopies = defineRoute("confirmCopies", "POST /v1/sync/confirm", {
  ...ofNodes,
  summary: "A node reports after its start which of its copies it still has.",
  body: () =>
    z.strictObject({
      node_id: nodeId,
      incarnation: count(),
      upto: count().describe("It was told of its copies up to here."),
      bits: z.string().max(4_000_000).describe("One bit for each place of the catalog, deflated, in base64."),
    }),
  maxBodyBytes: 5_000_000,
  about: "Whether the report is accepted, and how many copies are lost.",
  answer: () => z.object({ believed: z.boolean(), lost: z.int() }),
});

export type CopiesTold = Input<typeof tellCopies>["body"];
export type OfferedBatch = Answer<typeof findSources>["batches"][number];
export type CopiesAnswer = Answer<typeof tellCopies>;
