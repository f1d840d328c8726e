import type { Wiring } from "../../../../daemons/index.ts";
import { OperatingError } from "../../../../kernel/index.ts";
import type { JobView } from "../../../../work/index.ts";
import {
  bufferOf,
  cancelJobs,
  defineConfigUnit,
  everyMs,
  exportWork,
  followJobs,
  isPrioritised,
  JOB_ENDS,
  jobFailure,
  type LookOf,
  putJobs,
  type ReplayBuffer,
  refusedWait,
  replayBuffers,
  type StageServices,
  waiting,
} from "../../../stage/index.ts";
import { failureOf } from "../../search/run.ts";

const wiring = {
  name: "per_orchestrator",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "training",
  daemonTypes: ["PER_ORCHESTRATOR"],
  alsoKnownAs: ["PEROrchestrator", "PERBuffer"],
  dependsOn: ["training_coordinator"],
  emits: ["WORK_QUEUED", "PER_BUFFER_REBUILT", "PER_PRIORITIES_UPDATED", "METRICS_UPDATED"],
} as const satisfies Wiring;

type Look = LookOf<typeof wiring>;

const PART = "priorities";

/**
 * Prioritised replay: of every row of an iteration's window it has a job tell how much it surprises the champion. `training_coordinator` waits
 * for the file and gives it to the run, which draws rows by it. The file follows from the window and the champion alone.
 */
export const perOrchestrator = (services: StageServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { replayBuffers } },
    wakes: ["PIPELINE_STAGE_ENTERED", "NPZ_EXPORT_COMPLETE", ...JOB_ENDS],
    jobs: "export",
    everyMs: everyMs(services),
    look: async (look) => {
      const { plan, at, row, put } = look;
      const exported = row(exportWork);
      if (!isPrioritised(plan) || at?.champion == null || at.iteration === 0) return;
      if (exported?.state !== "done" || exported.iteration !== at.iteration || exported.own.window.length === 0) return;
      const known = row(replayBuffers);
      const own = bufferOf(known, at.iteration, exported.own.window);
      if (own === undefined && known?.state === "asked")
        await cancelJobs(services.queue, Object.values(known.jobs), "another window took its place", wiring.name);
      const inputs = exported.own.window.map(({ sha256 }) => sha256);
      const buffer = own ?? begin(at.iteration, at.champion, inputs, look.now);
      if (buffer.state !== "asked") return;
      const after = follow(services, look, buffer);
      if (after.failure !== null) look.log.warn("rows have no priorities in this iteration", { ...after.failure });
      put(replayBuffers, after);
    },
    health: ({ rows }) => ({
      status: "running",
      message: "",
      details: Object.fromEntries(
        rows.list(replayBuffers).map(([key, { iteration, state }]) => [key, `${iteration} ${state}`]),
      ),
    }),
  });

const begin = (iteration: number, model: string, inputs: readonly string[], now: number): ReplayBuffer => ({
  ...{ iteration, state: "asked", inputs, model, jobs: {}, file: null, max_priority: 0, min_priority: 0 },
  ...{ failure: null, waits: [], since: now },
});

function follow(services: StageServices, look: Look, buffer: ReplayBuffer): ReplayBuffer {
  const { completed, failed } = followJobs(services.queue, buffer.jobs);
  const [ended] = completed;
  const [lost] = failed;
  // Training goes on without priorities: they are no part of the loop that it could not do without.
  if (lost !== undefined)
    return { ...buffer, state: "failed", jobs: {}, failure: jobFailure("PRIORITIES_FAILED", "job", lost) };
  if (ended !== undefined)
    try {
      return enter(services, look, buffer, ended.job);
    } catch (thrown) {
      return { ...buffer, state: "failed", jobs: {}, failure: failureOf(thrown) };
    }
  return buffer.jobs[PART] === undefined && look.paused === null ? ask(services, look, buffer) : buffer;
}

function ask({ queue }: StageServices, look: Look, buffer: ReplayBuffer): ReplayBuffer {
  const inputs = buffer.inputs.map((sha256, n) => ({ name: `samples-${String(n).padStart(4, "0")}`, sha256 }));
  const put = putJobs(queue, look, {
    batch: `${look.configKey}:${buffer.iteration}:priorities:${buffer.since}`,
    by: wiring.name,
    parts: {
      [PART]: {
        work_type: "export",
        urgency: "high",
        payload: {
          parameters: { mode: "priorities" },
          inputs: [...inputs, { name: "model", sha256: buffer.model }],
        },
      },
    },
  });
  if ("refused" in put) return waiting(buffer, look.now, refusedWait(put.refused));
  return { ...buffer, jobs: put.jobs, waits: [] };
}

/** The file enters the books, and training may use it. */
function enter(services: StageServices, look: Look, buffer: ReplayBuffer, job: JobView): ReplayBuffer {
  const { configKey: config_key, emit, now } = look;
  const { outputs = [], counts = {}, summary = {} } = job.evidence ?? {};
  const output = outputs.find(({ name }) => name.startsWith("priorities"));
  const number = (name: string) => Number(summary?.[name] ?? counts[name]);
  const [samples, max_priority, min_priority] = [counts.rows ?? 0, number("max_priority"), number("min_priority")];
  if (output === undefined || samples < 1)
    throw OperatingError.invalid("PRIORITIES_MISSING", `job ${job.work_id} brought no priorities`);
  if (![max_priority, min_priority].every((priority) => Number.isFinite(priority) && priority >= 0))
    throw OperatingError.invalid("PRIORITIES_NOT_FINITE", `the priorities of job ${job.work_id} are no numbers`);
  const file = { sha256: output.sha256, kind: "priorities", bytes: output.bytes, rows: samples };
  const artifacts = services.catalog.join(look);
  artifacts.record([
    {
      ...{ ...file, games: 0, config_key, producer: job.node_id ?? "unknown", work_id: job.work_id, part: PART },
      parents: [...buffer.inputs, buffer.model],
      iteration: buffer.iteration,
    },
  ]);
  artifacts.accept([file.sha256]);
  artifacts.pin(`priorities:${config_key}`, [file.sha256]);
  const duration_seconds = (now - buffer.since) / 1_000;
  emit.PER_BUFFER_REBUILT({ config_key, samples, artifact_hash: file.sha256, duration_seconds });
  emit.PER_PRIORITIES_UPDATED({ config_key, samples, max_priority, min_priority });
  const metrics = { [`${config_key}_max_priority`]: max_priority, [`${config_key}_min_priority`]: min_priority };
  emit.METRICS_UPDATED({ node_id: services.nodeId, config_key, metrics });
  return { ...buffer, state: "ready", jobs: {}, file, max_priority, min_priority };
}
