import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { dryRun, name, note, time } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

const tag = "cluster";
const role = lazy(() => z.enum(["leader", "follower", "candidate", "offline"]));
const domain = lazy(() => z.string().nullable());
const seq = lazy(() => z.int().describe("Number of the last entry of the shared log that is on its disk."));

const sameRows = lazy(() =>
  z
    .boolean()
    .nullable()
    .describe("Whether its rows came to the same as here where it last looked; null where that is not known."),
);

const leader = lazy(() =>
  z
    .object({
      name: z.string(),
      url: z.string(),
      fingerprint: z.string().nullable(),
      term: z.int(),
      since: time,
    })
    .meta({ id: "ClusterLeader", description: "The coordinator that leads." }),
);

const member = lazy(() =>
  z
    .object({
      name: z.string(),
      url: z.string(),
      fingerprint: z.string().nullable(),
      role: role(),
      term: z.int(),
      seq: seq(),
      lag: z.int().describe("Entries that it still lacks, of those that the leader has."),
      leader: z.string().nullable().describe("Whom it takes for the leader itself."),
      version: z.string(),
      trouble: z.string().nullable(),
      heard_seconds_ago: z.number(),
      present: z.boolean().describe("It was heard a moment ago."),
      same_rows: sameRows(),
      lease_seconds: z
        .number()
        .nullable()
        .describe(
          "Its setting coordinators.lease, which should be the same everywhere; null where it does not say it.",
        ),
      files_lacking: z
        .int()
        .nullable()
        .describe("Files whose bytes it has yet to fetch; null where the coordinator that answers does not know."),
    })
    .meta({ id: "ClusterMember", description: "A coordinator, as it says itself." }),
);

export const getCluster = defineRoute("getCluster", "GET /v1/cluster", {
  tag,
  summary: "The coordinators: who leads, in which term, and how far each has come.",
  about:
    "The cluster as this coordinator sees it; a standby answers too. One coordinator by itself says that it is alone.",
  answer: () =>
    z.object({
      alone: z.boolean().describe("This coordinator is the only one, and shares no log."),
      cluster: z.string().nullable(),
      generation: z.int().nullable(),
      name: z.string().describe("The coordinator that answers."),
      role: role(),
      term: z.int(),
      seq: z.int(),
      leader: leader().nullable(),
      domains: z
        .object({
          training: domain(),
          evaluation: domain(),
          promotion: domain(),
          data_sync: domain(),
          cluster: domain(),
        })
        .describe("Who leads in each domain. There is one lease: it is the same coordinator in all."),
      terms: z
        .array(
          z.object({
            term: z.int(),
            leader: z.string(),
            since: time,
            ended: z.enum(["lost", "handed over"]).nullable().describe("How it ended; null while it lasts."),
            reason: z.string().nullable(),
          }),
        )
        .describe("The last leaderships, newest first."),
      members: z.array(member()),
      trouble: z.string().nullable(),
      checks: z
        .array(z.object({ seq: z.int(), digest: z.string() }))
        .describe("What the rows came to here at the last entries that asked for it; equal on all members."),
      engine: z
        .object({
          leader: z.string().nullable().describe("The server that leads the stream."),
          servers: z.array(z.object({ name: z.string(), current: z.boolean(), lag: z.int() })),
          first: z.int().describe("Number of the first entry that is still in the log."),
          last: z.int(),
          bytes: z.int(),
        })
        .nullable()
        .describe("The servers of the log, as one of them says; null while none answers."),
    }),
});

export const stepDown = defineRoute("stepDown", "POST /v1/cluster/step-down", {
  tag,
  summary: "Hands the lead to another coordinator.",
  body: () => z.strictObject({ to: name.optional(), reason: note.min(1), dry_run: dryRun }),
  about: "Who leads no more, and who shall.",
  answer: () => z.object({ from: z.string(), to: z.string().nullable(), term: z.int(), applied: z.boolean() }),
});

export const verifyCluster = defineRoute("verifyCluster", "POST /v1/cluster/verify", {
  tag,
  summary: "Lets every coordinator write down what its rows come to at one entry of the log.",
  body: () => z.strictObject({ dry_run: dryRun }),
  about: "The entry, what the rows of the leader come to, and whether those of the others come to the same.",
  answer: () =>
    z.object({
      seq: z.int().nullable(),
      digest: z.string().nullable(),
      members: z.array(z.object({ name: z.string(), same_rows: sameRows() })).describe("The others that are there."),
      applied: z.boolean(),
    }),
});

const hash = lazy(() => z.string().regex(/^[0-9a-f]{64}$/));

export const tellFiles = defineRoute("tellClusterFiles", "POST /v1/cluster/files", {
  tag,
  summary: "A coordinator that stands by says which files it holds, after it has hashed them.",
  scope: "operator",
  body: () =>
    z.strictObject({
      name,
      held: z.array(hash()).max(1_000),
      gone: z.array(hash()).max(1_000),
      confirmed: z.boolean().describe("It has looked since its start whether its files are there."),
      lacking: z.int().min(0),
    }),
  about: "It is written down.",
  answer: () => z.object({ held: z.int(), gone: z.int() }),
});

export const leaveCluster = defineRoute("leaveCluster", "POST /v1/cluster/members/{name}/leave", {
  tag,
  summary: "Takes a coordinator that was stopped out of the cluster: nobody waits for it any more.",
  params: () => z.strictObject({ name }),
  body: () => z.strictObject({ reason: note.min(1), dry_run: dryRun }),
  about: "Who left, and who is left.",
  answer: () => z.object({ left: z.string(), members: z.array(z.string()), applied: z.boolean() }),
});

/** What goes with a snapshot, as headers of its answer. */
export const SNAPSHOT_HEADERS = {
  cluster: "x-ringrift-cluster",
  generation: "x-ringrift-generation",
  seq: "x-ringrift-seq",
  term: "x-ringrift-term",
  chain: "x-ringrift-chain",
  sha256: "x-ringrift-sha256",
} as const;

export const getSnapshot = defineRoute("getClusterSnapshot", "GET /v1/cluster/snapshot", {
  tag,
  summary: "A copy of the leader's database at one entry of the log, for a coordinator that joins.",
  scope: "operator",
  limit: "write",
  about: "The database. Headers say where it stands in the log, and its SHA-256.",
  type: "application/octet-stream",
  answer: () => z.string(),
});

export type ClusterAnswer = Answer<typeof getCluster>;
