import { defined } from "../../../kernel/index.ts";
import type { ArtifactRow } from "../../../sync/index.ts";
import type { JobView, WorkQueue } from "../../../work/index.ts";
import { runThatMade } from "../../models/index.ts";
import { excluding, suspects, suspectsIn } from "../../selfplay/index.ts";
import {
  type ConfigLook,
  type ConfigPlan,
  isFailure,
  NO_INPUT,
  openedWith,
  type PartJob,
  putJobs,
  type Rebuild,
  type StageServices,
  strandedParts,
  takeBackStranded,
  tunedIn,
  tunings,
} from "../../stage/index.ts";
import { type Rebuildable, type Recipe, recipeOf } from "./recipe.ts";

export type RebuildContext = ConfigLook<"WORK_QUEUED" | "REPAIR_COMPLETED" | "REPAIR_FAILED">;

export const REBUILDER = "auto_export_daemon";
/** Rebuilds of a config that run at once. */
const MAX_RUNNING = 8;
const MAX_TRIES = 3;
/** What was brought and is still not found sound after so long is made anew. */
const CHECK_MS = 60_000;

export const nameOf = ({ kind, sha256 }: Pick<ArtifactRow, "kind" | "sha256">): string =>
  `${kind} ${sha256.slice(0, 12)}`;
export const isThere = ({ state, freed_at }: ArtifactRow): boolean =>
  freed_at === null && (state === "in_flight" || state === "durable" || state === "rejected");

/** What an input lacks: a reason to wait, or one to give up; null if it is there. */
export type Lack = { readonly wait: string } | { readonly lost: string } | null;

export interface StepsAround {
  readonly context: RebuildContext;
  readonly plan: ConfigPlan;
  readonly lackOf: (sha256: string) => Lack;
  /** Rebuilds of the config that run now. */
  readonly running: () => number;
}

/** Inputs of a job, by their hash. */
export const inputsOf = (queue: Pick<WorkQueue, "payload">, workId: string): string[] =>
  ((queue.payload(workId)?.inputs ?? []) as unknown as Recipe["inputs"]).map(({ sha256 }) => sha256);

/** Whether all inputs of a failed job were looked at since it failed; if not, they are. */
export function inputsWereSeen(
  { queue, catalog, verify }: StageServices,
  { afterCommit }: Pick<RebuildContext, "afterCommit">,
  { work_id, finished_at }: JobView,
): boolean {
  const unseen = inputsOf(queue, work_id).filter((sha256) => {
    const file = catalog.get(sha256);
    return file !== undefined && isThere(file) && (file.verified_at ?? 0) < (finished_at ?? 0);
  });
  if (unseen.length > 0) afterCommit(() => verify(unseen));
  return unseen.length === 0;
}

/** The steps of one rebuild: each takes it as it is and gives it as it is then. */
export function createRebuildSteps(ports: StageServices, { context, plan, lackOf, running }: StepsAround) {
  const { queue, store, catalog, verify, workersFor, nodeId } = ports;
  const { row, at, now, emit, afterCommit, log } = context;
  const config_key = plan.config_key;

  const isThereNow = (sha256: string): boolean => {
    const file = catalog.get(sha256);
    return file !== undefined && isThere(file);
  };

  const lose = (rebuild: Rebuild, why: string): Rebuild => {
    const { files, what } = rebuild;
    log.error("a lost file cannot be made again", { config_key, what, why });
    // What nobody holds any more is no loss.
    for (const artifact_hash of files.filter((sha256) => catalog.pinsOf(sha256).length > 0))
      emit.REPAIR_FAILED({ node_id: nodeId, artifact_hash, copies: 0, error: `${what}: ${why}`, retryable: false });
    return { ...rebuild, state: "lost", job: null, why, ended_at: now };
  };

  const again = (rebuild: Rebuild, why: string): Rebuild => {
    const tries = rebuild.tries + 1;
    return tries >= MAX_TRIES ? lose(rebuild, why) : { ...rebuild, state: "waiting", job: null, tries, why };
  };

  const jobFor = (recipe: Rebuildable, rebuild: Rebuild, key: string): PartJob => {
    const away = at === undefined ? [] : suspectsIn(row(suspects), at.iteration);
    const isHeld = rebuild.files.some((sha256) => catalog.pinsOf(sha256).length > 0);
    return {
      work_type: recipe.work_type,
      urgency: isHeld ? "high" : "normal",
      payload: {
        parameters: recipe.parameters,
        ...defined({ seed: recipe.seed ?? undefined }),
        inputs: recipe.inputs.map(({ name, sha256 }) => ({ name, sha256 })),
      },
      dedup_key: `${key}:${rebuild.tries}`,
      excluded_nodes: excluding(workersFor(recipe.work_type), [...away, ...rebuild.shunned], rebuild.shunned),
    };
  };

  const trainedBy = ({ iteration, sha256 }: ArtifactRow): Recipe | undefined =>
    iteration === null
      ? undefined
      : ((runThatMade(store, config_key, iteration, sha256)?.recipe ?? undefined) as Recipe | undefined);

  const begin = (given: Rebuild, origin: string): Rebuild => {
    const known = given.files.flatMap((sha256) => catalog.get(sha256) ?? []);
    const [file] = known;
    if (file === undefined) return lose(given, "the catalog has forgotten it");
    const files = known.filter((each) => !isThere(each)).map(({ sha256 }) => sha256);
    if (files.length === 0) return { ...given, state: "done", ended_at: now, why: "it was restored" };
    const rebuild = { ...given, files };
    const knobs = context.row(openedWith)?.[String(file.iteration)];
    const selfplay = { ...plan.selfplay, ...tunedIn(row(tunings), file.iteration ?? 0) };
    const source = { ...file, parents: catalog.parentsOf(file.sha256) };
    const recipe = recipeOf(source, { ...plan, selfplay }, trainedBy(file), knobs);
    if (isFailure(recipe)) return lose(rebuild, recipe.message);
    const lacks = recipe.inputs.flatMap(({ sha256 }) => lackOf(sha256) ?? []);
    const gone = lacks.find((lack) => "lost" in lack);
    if (gone !== undefined) return lose(rebuild, gone.lost);
    const missing = lacks.find((lack) => "wait" in lack);
    if (missing !== undefined) return { ...rebuild, why: missing.wait };
    if (running() >= MAX_RUNNING) return { ...rebuild, why: `${running()} others are made first` };
    const batch = `rebuild:${origin}:${given.times}`;
    const parts = { file: jobFor(recipe, rebuild, batch) };
    const put = putJobs(queue, context, { batch, by: REBUILDER, parts });
    if ("refused" in put) return { ...rebuild, why: `the queue does not take it: ${put.refused.message}` };
    const job = put.jobs.file!;
    log.warn("a lost file is made again", { config_key, what: rebuild.what, work_id: job });
    return { ...rebuild, state: "running", job, why: `job ${job} makes it` };
  };

  /** Files that were given up long ago have no row to come back to: they begin anew, and count no games. */
  const enter = (sha256s: readonly string[], job: JobView): void => {
    const given = sha256s.flatMap((sha256) => catalog.get(sha256) ?? []).filter(({ state }) => state === "freed");
    if (given.length === 0) return;
    const artifacts = catalog.join(context);
    artifacts.record(
      given.map(({ sha256, kind, bytes, rows: count, part, iteration, rules_version }) => ({
        sha256,
        kind,
        bytes,
        rows: count,
        games: 0,
        config_key,
        producer: job.node_id ?? "unknown",
        rules_version,
        parents: catalog.parentsOf(sha256),
        work_id: job.work_id,
        part,
        iteration,
      })),
    );
    artifacts.accept(given.map(({ sha256 }) => sha256));
  };

  const follow = (rebuild: Rebuild): Rebuild => {
    const { job: workId, files, shunned } = rebuild;
    const job = workId === null ? undefined : queue.show(workId);
    if (job === undefined) return again(rebuild, "its job is forgotten");
    if (job.state === "failed" || job.state === "cancelled") {
      const { error = job.state, error_code } = job.failure ?? {};
      if (error_code === NO_INPUT) inputsWereSeen(ports, context, job);
      return again(rebuild, `job ${workId} failed (${error_code ?? job.state}): ${error}`);
    }
    if (strandedParts(queue, { file: job.work_id }, workersFor(job.work_type)).size > 0) {
      takeBackStranded(ports, context, job.work_id, REBUILDER);
      return again(rebuild, "no connected worker may make it");
    }
    if (job.state !== "completed") return rebuild;
    const made = new Set(job.evidence?.outputs.map(({ sha256 }) => sha256));
    if (files.some((sha256) => !made.has(sha256))) {
      const by = job.node_id ?? "unknown";
      const next = { ...rebuild, shunned: [...new Set([...shunned, by])].sort() };
      return again(next, `job ${workId} made other bytes on ${by}`);
    }
    enter(files, job);
    afterCommit(() => verify(files));
    return { ...rebuild, state: "checking", why: `job ${workId} made it; its bytes are looked at` };
  };

  const check = (rebuild: Rebuild): Rebuild => {
    const { files, job: workId, since, what } = rebuild;
    const job = workId === null ? undefined : queue.show(workId);
    if (files.some((sha256) => catalog.get(sha256)?.state === "quarantined")) {
      if (now - (job?.finished_at ?? 0) > CHECK_MS) return again(rebuild, "what came was not found sound");
      afterCommit(() => verify(files));
      return rebuild;
    }
    const by = job?.node_id ?? nodeId;
    const duration_seconds = (now - since) / 1_000;
    log.info("a lost file was restored", { config_key, what, work_id: workId, duration_seconds });
    for (const artifact_hash of files)
      emit.REPAIR_COMPLETED({ node_id: nodeId, artifact_hash, copies: 1, source_node_id: by, duration_seconds });
    return { ...rebuild, state: "done", ended_at: now, why: `job ${workId} made it on ${by}` };
  };

  /** As far as it goes now. */
  return (rebuild: Rebuild, origin: string): Rebuild => {
    const { state, files } = rebuild;
    const areThere = () => files.every((sha256) => isThereNow(sha256));
    // Somebody has brought them.
    if (state === "lost" && areThere()) return { ...rebuild, state: "done", ended_at: now, why: "it was restored" };
    const next = state === "running" ? follow(rebuild) : state === "checking" ? check(rebuild) : rebuild;
    return next.state === "waiting" ? begin(next, origin) : next;
  };
}
