import { z } from "zod";
import { field } from "../../events/fields.ts";
import { lazy } from "../../kernel/index.ts";
import { ARTIFACT_STATES, ORPHAN_RULES } from "../../sync/states.ts";
import { whole as count, dryRun, name, time } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

const TYPE = "application/octet-stream";
const shared = {
  tag: "artifacts",
  limit: "upload",
  params: () => z.strictObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hex") }),
} as const;
const bringing = { ...shared, scope: "worker", record: "no" } as const;

const stat = lazy(() =>
  z.object({
    sha256: z.string(),
    size: z.int().nullable().describe("Null while only a part is there."),
    received: z.int().describe("Bytes that need not be sent again."),
  }),
);
const whole = { about: "The file is complete and stored.", answer: stat, status: 201 } as const;

export const putArtifact = defineRoute("putArtifact", "PUT /v1/artifacts/{sha256}", {
  ...bringing,
  ...whole,
  summary:
    "Uploads a file by its hash, whole or from where it stopped (Content-Range). Uploading it twice changes nothing.",
  bytes: true,
  bound:
    "16 files at once of one caller, 64 of all; a file: `artifacts.most_bytes`; the disk: `resources.disk_critical` leaves the rest to the journal",
  otherAnswers: { 202: { about: "A part is stored. Continue after the bytes that were received.", schema: stat } },
});

export const adoptArtifact = defineRoute("adoptArtifact", "POST /v1/artifacts/{sha256}/adopt", {
  ...bringing,
  ...whole,
  summary: "Stores a file of this machine by its hash, without an upload. Only through the socket of the data folder.",
  body: () =>
    z.strictObject({
      file: z.string().min(1).max(4_096).describe("Where it lies, inside the folder of the worker's jobs."),
      bytes: z.int().min(0),
    }),
});

export const getArtifact = defineRoute("getArtifact", "GET /v1/artifacts/{sha256}", {
  ...shared,
  summary: "The bytes of a file, or a range of them. HEAD tells how many bytes are stored.",
  about: "All bytes.",
  answer: () => z.string(),
  type: TYPE,
  otherAnswers: { 206: { about: "The range.", schema: () => z.string(), type: TYPE } },
});

/** Reads and decisions about what is known of files, apart from their bytes. */
const tag = "artifacts";
const params = lazy(() =>
  z.strictObject({
    id: z.string().regex(/^[0-9a-f]{6,64}$/, "must be a SHA-256 in lower-case hex, or its first 6 digits"),
  }),
);

const artifact = lazy(() =>
  z
    .looseObject({
      sha256: z.string(),
      seq: z.int(),
      kind: z.string(),
      bytes: z.int(),
      games: z.int(),
      config_key: z.string().nullable(),
      producer: z.string(),
      work_id: z.string().nullable(),
      iteration: z.int().nullable(),
      state: z.string(),
      reason: z.string().nullable(),
      created_at: time,
      verified_at: time.nullable(),
      freed_at: time.nullable(),
      idle_since: time,
      announced_at: time.nullable(),
      removed_at: time.nullable(),
      copies: z.int().describe("Verified copies on nodes to rely on."),
      factor: z.int().describe("Copies that the settings ask for."),
      required: z.int().describe("As many of them as there are nodes for."),
      safe: z.boolean(),
      at_risk: z.boolean().describe("It lies nowhere but on rented nodes."),
      nodes: z.array(z.string()).describe("Who holds it, by name."),
    })
    .meta({ id: "Artifact" }),
);

const holder = lazy(() =>
  z.object({
    node_id: z.string(),
    name: z.string(),
    state: z.string(),
    verified_at: time,
    verified_by: z.string(),
    counts: z.boolean(),
    why: z.string().nullable().describe("Why it does not count."),
  }),
);

export const listArtifacts = defineRoute("listArtifacts", "GET /v1/artifacts", {
  tag,
  summary: "Files that jobs made, newest first, with how many copies there are and where.",
  query: () =>
    z.strictObject({
      config_key: field.config_key.optional(),
      kind: name.optional(),
      state: z.enum(ARTIFACT_STATES).optional(),
      after: count(1, Number.MAX_SAFE_INTEGER).optional().describe("The `seq` of the last one that was seen."),
      limit: count(1, 1_000).default(50),
    }),
  about: "The matching ones.",
  answer: () => z.object({ artifacts: z.array(artifact()) }),
});

export const showArtifact = defineRoute("showArtifact", "GET /v1/artifacts/{id}/about", {
  tag,
  summary: "Everything about a file: who made it, who needs it, and who has had it since when.",
  params,
  about: "The file.",
  answer: () =>
    artifact()
      .extend({ holders: z.array(holder()), pins: z.array(z.string()), parents: z.array(z.string()) })
      .meta({ id: "ArtifactDetails" }),
});

const orphan = lazy(() =>
  z
    .object({
      node_id: z.string(),
      sha256: z.string(),
      place: z.string().describe("Where it lies on its node."),
      bytes: z.int(),
      config_key: z.string().nullable(),
      games: z.int().describe("Games in it, as far as they can be read."),
      rule: z
        .enum(ORPHAN_RULES)
        .describe("What becomes of it: adopted, moved aside, offered for import, or left alone."),
      state: z.enum(["told", "waiting", "registered", "refused"]),
      why: z.string(),
      since: time,
      ended_at: time.nullable(),
    })
    .meta({ id: "Orphan" }),
);

export type Orphan = z.output<ReturnType<typeof orphan>>;

export const listOrphans = defineRoute("listOrphans", "GET /v1/orphans", {
  tag,
  summary: "Files of games that nodes found and no manifest knew, and what becomes of each.",
  about: "The newest first.",
  answer: () => z.object({ orphans: z.array(orphan()) }),
});

const sum = lazy(() => z.object({ files: z.int(), bytes: z.int(), games: z.int() }));

export const getCopies = defineRoute("getCopies", "GET /v1/copies", {
  tag,
  summary: "How many copies files have, by kind and config, and what each node holds.",
  limit: "heavy",
  about: "Files with enough copies, files with too few, and files that are only on rented nodes.",
  answer: () =>
    z.object({
      places: z.int().describe("Nodes whose copies count."),
      lines: z.array(
        z.object({
          kind: z.string(),
          config_key: z.string().nullable(),
          factor: z.int(),
          required: z.int(),
          safe: sum(),
          short: sum(),
          at_risk: sum(),
        }),
      ),
      nodes: z.array(
        z.object({
          node_id: z.string(),
          name: z.string(),
          there: z.boolean(),
          rented: z.boolean(),
          leaving: z.boolean().default(false).describe("It is drained: its copies count nothing."),
          confirmed: z.boolean(),
          copies: z.int(),
          bytes: z.int(),
          free_bytes: z.number().nullable(),
          waiting: z
            .object({ files: z.int(), bytes: z.int(), oldest_at: time.nullable() })
            .nullable()
            .describe("Results that wait there for the main process."),
        }),
      ),
    }),
});

export const verifyArtifact = defineRoute("verifyArtifact", "POST /v1/artifacts/{id}/verify", {
  tag,
  summary: "Hashes a file here again, and asks the nodes that hold it to do the same.",
  params,
  body: () => z.strictObject({}),
  about: "What was found here, and which nodes were asked.",
  answer: () =>
    z.object({
      sha256: z.string(),
      here: z.looseObject({ sound: z.boolean(), damage: z.string().optional() }).nullable(),
      asked: z.array(z.string()),
    }),
});

export const pinArtifact = defineRoute("pinArtifact", "POST /v1/artifacts/{id}/pin", {
  tag,
  summary: "Pins a file until somebody unpins it, or unpins it.",
  params,
  body: () => z.strictObject({ release: z.boolean().default(false), dry_run: dryRun }),
  about: "Who needs the file now.",
  answer: () => z.object({ sha256: z.string(), pins: z.array(z.string()), applied: z.boolean() }),
});

export const freeArtifact = defineRoute("freeArtifact", "POST /v1/artifacts/{id}/free", {
  tag,
  summary: "Deletes a file and all its copies at once, if nothing needs it. Its games stay in the books.",
  params,
  body: () => z.strictObject({ dry_run: dryRun }),
  about: "What is deleted, and where it was.",
  answer: () => z.object({ sha256: z.string(), bytes: z.int(), nodes: z.array(z.string()), applied: z.boolean() }),
});

export type Artifact = Answer<typeof listArtifacts>["artifacts"][number];
export type ArtifactDetails = Answer<typeof showArtifact>;
export type CopiesReport = Answer<typeof getCopies>;
