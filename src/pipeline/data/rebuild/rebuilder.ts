import { isOperatingError } from "../../../kernel/index.ts";
import type { ArtifactRow } from "../../../sync/index.ts";
import type { JobView } from "../../../work/index.ts";
import { selfplayOrders } from "../../selfplay/index.ts";
import {
  type AwaitedJob,
  evaluationWork,
  exportWork,
  isFor,
  isOpenRebuild,
  NO_INPUT,
  NO_REBUILDS,
  type Rebuild,
  type RebuildRow,
  rebuildRows,
  type StageServices,
  trainingWork,
} from "../../stage/index.ts";
import { parities } from "../tables.ts";
import { isJudged } from "./recipe.ts";
import {
  createRebuildSteps,
  inputsOf,
  inputsWereSeen,
  isThere,
  type Lack,
  nameOf,
  REBUILDER,
  type RebuildContext,
} from "./steps.ts";

const HOUR_MS = 3_600_000;
/** Rebuilds of a config that are under way at all. */
const MAX_OPEN = 200;
/** How often a job is tried again whose inputs are there. */
const MAX_RETRIES = 3;
/** What is given up is tried once more after so long: a node may have come that can do it. */
const LOST_MS = HOUR_MS;
const KEEP_MS = 24 * HOUR_MS;

const isOld = ({ ended_at }: Rebuild, now: number, ms: number): boolean => ended_at !== null && now - ended_at >= ms;
/** Who made it; a file that was brought by hand stands for itself. */
const originOf = ({ work_id, sha256 }: ArtifactRow): string => work_id ?? `file ${sha256}`;

/** The row of each stage that names its jobs in the queue; promotion has none. */
const JOBS = {
  selfplay: selfplayOrders,
  data_sync: parities,
  npz_export: exportWork,
  training: trainingWork,
  evaluation: evaluationWork,
} as const;

/** The jobs that the stage of now has in the queue. */
function stageJobs({ at, row }: RebuildContext): string[] {
  if (at === undefined || at.stage === "promotion") return [];
  const work = row(JOBS[at.stage] as typeof JOBS.data_sync);
  return isFor(work, at) ? Object.values(work.jobs) : [];
}

const begun = (file: ArtifactRow, known: Rebuild | undefined, now: number): Rebuild => ({
  files: [file.sha256],
  what: nameOf(file),
  state: "waiting",
  job: null,
  times: (known?.times ?? 0) + 1,
  tries: 0,
  shunned: [],
  why: "it was not looked at yet",
  since: now,
  ended_at: null,
});

/**
 * Has what is lost made again by the job that made it: inputs that are lost too come first, and what comes back counts when
 * its bytes were looked at. Jobs that failed for want of an input are tried again when it is there. All of it is one row for
 * each config, and a look at the catalog and the queue: nothing depends on having heard of the loss.
 */
export function createArtifactRebuilder(ports: StageServices) {
  const { queue, catalog } = ports;

  /** What is lost of one config, as it is found in one look. */
  const createLook = (context: RebuildContext) => {
    const { now, at, plan } = context;
    const before = context.row(rebuildRows) ?? NO_REBUILDS;
    const rebuilds = new Map(Object.entries(before.rebuilds));
    const all = () => [...rebuilds.values()];

    /** Somebody needs a file that is not there. Undefined if it is not to be made here, or not now. */
    const want = (file: ArtifactRow): Rebuild | undefined => {
      const origin = originOf(file);
      const known = rebuilds.get(origin);
      if (isJudged(file, at)) return undefined;
      if (known !== undefined && known.state !== "done" && !(known.state === "lost" && isOld(known, now, LOST_MS))) {
        const files = [...new Set([...known.files, file.sha256])].sort();
        if (files.length > known.files.length) rebuilds.set(origin, { ...known, files });
      } else {
        if (all().filter(isOpenRebuild).length >= MAX_OPEN) return undefined;
        rebuilds.set(origin, begun(file, known, now));
      }
      return rebuilds.get(origin);
    };

    const lackOf = (sha256: string): Lack => {
      const file = catalog.get(sha256);
      if (file === undefined) return { lost: `the input ${sha256.slice(0, 12)} is not known` };
      if (isThere(file)) return null;
      if (file.state === "rejected") return { lost: `the input ${nameOf(file)} was rejected: ${file.reason}` };
      const rebuild = want(file);
      if (rebuild?.state === "lost") return { lost: `${nameOf(file)} is lost: ${rebuild.why}` };
      return { wait: `${nameOf(file)} is ${rebuild === undefined ? "judged first" : "made again"}` };
    };

    /** A job of a stage that could not fetch an input: what it waits for, or that it waits in vain. */
    const judge = async (job: JobView, known: AwaitedJob): Promise<AwaitedJob> => {
      const { work_id } = job;
      const lacks = inputsOf(queue, work_id).flatMap((sha256) => lackOf(sha256) ?? []);
      const lost = lacks.find((lack) => "lost" in lack);
      if (lost !== undefined) return { ...known, state: "given_up", why: lost.lost };
      const missing = lacks.find((lack) => "wait" in lack);
      if (missing !== undefined) return { ...known, why: missing.wait };
      if (!inputsWereSeen(ports, context, job)) return { ...known, why: "its inputs are looked at" };
      if (known.retries >= MAX_RETRIES)
        return { ...known, state: "given_up", why: "its inputs are there, and it cannot fetch them" };
      try {
        await queue.retry(work_id, { reason: "its inputs are there again", requested_by: REBUILDER });
      } catch (thrown) {
        // Another job took its place, or its time is over.
        if (!isOperatingError(thrown)) throw thrown;
        return { ...known, state: "given_up", why: thrown.message };
      }
      return { ...known, retries: known.retries + 1, why: "its inputs are there again" };
    };

    const judgeAll = async (): Promise<RebuildRow["awaited"]> => {
      const awaited: Record<string, AwaitedJob> = {};
      for (const workId of stageJobs(context)) {
        const job = queue.show(workId);
        const known = before.awaited[workId];
        const lacksInput = job?.state === "failed" && job.failure?.error_code === NO_INPUT;
        if (lacksInput && known?.state !== "given_up")
          awaited[workId] = await judge(job, known ?? { state: "awaited", why: "", retries: 0 });
        // How often it was tried is remembered until it has come to its end.
        else if (known !== undefined && (lacksInput || job?.finished_at === null)) awaited[workId] = known;
      }
      return awaited;
    };

    const stepAll = (): void => {
      const running = () => all().filter(({ state }) => state === "running").length;
      const step = createRebuildSteps(ports, { context, plan, lackOf, running });
      // What is found to be wanted on the way has its turn in the same round, however deep it goes.
      const seen = new Set<string>();
      for (let next = [...rebuilds.keys()]; next.length > 0; next = [...rebuilds.keys()].filter((o) => !seen.has(o)))
        for (const origin of next) {
          seen.add(origin);
          const rebuild = step(rebuilds.get(origin)!, origin);
          if (isOld(rebuild, now, KEEP_MS)) rebuilds.delete(origin);
          else rebuilds.set(origin, rebuild);
        }
    };

    return async (): Promise<RebuildRow> => {
      for (const file of catalog.quarantined()) if (file.config_key === plan.config_key) want(file);
      const awaited = await judgeAll();
      stepAll();
      return { rebuilds: Object.fromEntries(rebuilds), awaited };
    };
  };

  return {
    /** Looks at one config. Asked again and again it does the same, and what is done is done. */
    async look(context: RebuildContext): Promise<void> {
      const next = await createLook(context)();
      const isNothing = Object.keys(next.rebuilds).length + Object.keys(next.awaited).length === 0;
      if (!isNothing || context.row(rebuildRows) !== undefined) context.put(rebuildRows, next);
    },
  };
}
