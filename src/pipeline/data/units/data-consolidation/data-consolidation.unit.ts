import type { Wiring } from "../../../../daemons/index.ts";
import type { PayloadFor } from "../../../../events/index.ts";
import { broughtPin } from "../../../../sync/index.ts";
import type { JobView } from "../../../../work/index.ts";
import {
  type ArtifactRef,
  defineConfigUnit,
  everyMs,
  followJobs,
  JOB_ENDS,
  type LookOf,
  putJobs,
  type StageServices,
} from "../../../stage/index.ts";
import { consolidationLimits } from "../../limits.ts";
import { exportParameters } from "../../rebuild/recipe.ts";
import { broughtExports, type Consolidation, consolidations } from "../../tables.ts";
import { decide, inputsOf, nextTry } from "./decide.ts";

const wiring = {
  name: "data_consolidation",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["DATA_CONSOLIDATION", "S3_CONSOLIDATION"],
  alsoKnownAs: ["DatabaseConsolidator"],
  dependsOn: ["pipeline_orchestrator"],
  emits: ["WORK_QUEUED", "CONSOLIDATION_STARTED", "CONSOLIDATION_COMPLETE"],
} as const satisfies Wiring;

type Look = LookOf<typeof wiring>;
type Payload = PayloadFor<"CONSOLIDATION_COMPLETE">;

const UNION = "union";
const NOTHING: Consolidation = {
  state: "idle",
  set: null,
  fresh: [],
  job: null,
  job_id: "",
  sources: [],
  since: 0,
  rounds: 0,
  tries: 0,
  not_before: null,
  failure: null,
};

/**
 * Makes one set of the segments of a config that came by no job of ours: imported, found, or fetched from a store. It is a union by
 * content: every game once, whoever brought it. A job does the work; the segments are let go in the commit that takes the set, and
 * the rows that are new in it go into the next training file. What the loop plays itself needs no merging: each of its files is in
 * one training file anyway.
 */
export const dataConsolidation = (services: StageServices, limits = consolidationLimits) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { consolidations } },
    wakes: ["NEW_GAMES_AVAILABLE", "SELFPLAY_COMPLETE", "DATABASE_CREATED", "ORPHAN_GAMES_REGISTERED", ...JOB_ENDS],
    jobs: "export",
    everyMs: everyMs(services, 15_000),
    look(look) {
      const row = look.row(consolidations);
      const next = row?.job == null ? begin(services, look, row, limits) : follow(services, look, row);
      const kept = next && letGo(services, look, next);
      if (kept !== undefined) look.put(consolidations, kept);
    },
    health: ({ rows }) => {
      const all = rows.list(consolidations);
      const failed = all.filter(([, { state }]) => state === "failed");
      return {
        status: failed.length === 0 ? "running" : "degraded",
        message: failed.map(([key, { failure }]) => `${key}: ${failure}`).join("; "),
        details: Object.fromEntries(
          all.map(([key, { set, fresh }]) => [key, { games: set?.count ?? 0, fresh: fresh.length }]),
        ),
      };
    },
  });

/** Puts the job out, once there is enough to merge. */
function begin(
  services: StageServices,
  look: Look,
  row: Consolidation | undefined,
  limits: typeof consolidationLimits,
) {
  const { now, configKey, paused, plan, emit } = look;
  if (paused !== null || !plan.kinds.includes("export")) return row;
  const found = decide(row, services.catalog.brought(configKey, limits.maxFiles * 2), now, limits);
  if (found.kind === "wait") return row;
  const known = row ?? NOTHING;
  const rounds = known.rounds + 1;
  const job_id = `${configKey}:consolidation:${rounds}`;
  const inputs = inputsOf(known.set, found.sources);
  const put = putJobs(services.queue, look, {
    batch: job_id,
    by: wiring.name,
    parts: { [UNION]: { work_type: "export", payload: { parameters: exportParameters("union", plan), inputs } } },
  });
  if ("refused" in put) {
    const tries = known.tries + 1;
    return { ...known, state: "failed" as const, tries, not_before: nextTry(tries, now), failure: put.refused.message };
  }
  const sources = found.sources.map(({ sha256 }) => sha256);
  emit.CONSOLIDATION_STARTED({ config_key: configKey, job_id: job_id as Payload["job_id"], artifacts: sources.length });
  return { ...known, state: "running" as const, job: put.jobs[UNION]!, job_id, sources, since: now, rounds };
}

function follow(services: StageServices, look: Look, row: Consolidation): Consolidation {
  const { completed, failed } = followJobs(services.queue, { [UNION]: row.job! });
  if (completed[0] !== undefined) return take(services, look, row, completed[0].job);
  if (failed[0] === undefined) return row;
  const tries = row.tries + 1;
  const failure = `job ${failed[0].workId} failed (${failed[0].code}): ${failed[0].reason}`;
  look.log.warn("segments could not be merged", { config_key: look.configKey, failure });
  return { ...row, state: "failed", job: null, sources: [], tries, not_before: nextTry(tries, look.now), failure };
}

const fileIn = ({ evidence }: JobView, name: string) =>
  evidence?.outputs.find((output) => output.name.split("/").at(-1)?.startsWith(name));

/** The set takes the place of its segments, in one commit: they are let go, it is kept, and the books stay as they are. */
function take(services: StageServices, look: Look, row: Consolidation, job: JobView): Consolidation {
  const { now, configKey, emit } = look;
  const { rows: rowCount = 0, games = 0, new_games = 0, new_rows = 0, duplicates = 0 } = job.evidence?.counts ?? {};
  const refOf = (name: string, kind: string, rows: number): ArtifactRef | null => {
    const file = fileIn(job, name);
    return file === undefined ? null : { sha256: file.sha256, bytes: file.bytes, kind, rows };
  };
  const [set, rows] = [refOf("games", "game_set", games), refOf("samples", "sample_set", rowCount)];
  const fresh = new_rows > 0 ? refOf("fresh", "sample_set", new_rows) : null;
  if (rows === null || games < (row.set?.count ?? 0)) {
    const tries = row.tries + 1;
    const failure = `job ${job.work_id} made a set of ${games} games, and there were ${row.set?.count ?? 0}`;
    return { ...row, state: "failed", job: null, sources: [], tries, not_before: nextTry(tries, now), failure };
  }
  const artifacts = services.catalog.join(look);
  const made = [...(set === null ? [] : [set]), rows, ...(fresh === null ? [] : [fresh])];
  artifacts.record(
    made.map((file) => ({
      ...file,
      // They stand in the books under the segments that they come from.
      games: 0,
      config_key: configKey,
      producer: job.node_id ?? "unknown",
      parents: [...row.sources],
      work_id: job.work_id,
      part: UNION,
    })),
  );
  artifacts.accept(made.map(({ sha256 }) => sha256));
  for (const sha256 of row.sources) artifacts.pin(broughtPin(sha256), []);
  emit.CONSOLIDATION_COMPLETE({
    config_key: configKey,
    job_id: row.job_id as Payload["job_id"],
    artifact_hash: (set ?? rows).sha256 as Payload["artifact_hash"],
    games,
    artifacts: row.sources.length,
    duplicate_games: duplicates,
    ...(new_games === 0 ? {} : { new_games }),
    duration_seconds: Math.max(0, now - row.since) / 1_000,
  });
  return {
    ...row,
    state: "idle",
    set: { games: set, samples: rows, count: games },
    fresh: fresh === null ? row.fresh : [...row.fresh, { ...fresh, games: new_games }],
    job: null,
    sources: [],
    tries: 0,
    not_before: null,
    failure: null,
  };
}

/** Keeps the set and what no training file has yet; rows that are in one are let go. */
function letGo({ catalog }: StageServices, look: Look, row: Consolidation): Consolidation {
  const exported = new Set(look.row(broughtExports)?.files);
  const fresh = row.fresh.filter(({ sha256 }) => !exported.has(sha256));
  const wanted = [row.set?.games, row.set?.samples, ...fresh].flatMap((file) => (file == null ? [] : [file.sha256]));
  const owner = `canonical:${look.configKey}`;
  const isKept = catalog.pinnedBy(owner);
  if (wanted.length !== isKept.length || wanted.some((sha256) => !isKept.includes(sha256)))
    catalog.join(look).pin(owner, wanted);
  return fresh.length === row.fresh.length ? row : { ...row, fresh };
}
