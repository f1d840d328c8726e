import { defineDaemon, onEach, type UnitContext } from "../../daemons/index.ts";
import { messageOf } from "../../kernel/index.ts";
import type { JobSpecInput, WorkQueue } from "../../work/index.ts";
import { type ConfigPlan, type ConfigRow, configs } from "../config-plan.ts";
import { awaitedInput, followJobs } from "../followed-jobs.ts";
import { type Iteration, isTurnOf, iterations } from "../iteration.ts";
import { INPUT_LOST, NO_REBUILDS, rebuildRows } from "../rebuild-rows.ts";
import { excluding, type SelfplayOrder, selfplayOrders } from "../selfplay/selfplay-order.ts";
import { putChanged, putJobs, refusedWait, undertakingOf, waitsSince } from "../stage-rows.ts";
import { isFor, type Segment, selfplayWork } from "../stage-work.ts";
import { strandedParts } from "../stranded-jobs.ts";
import { figuresOf } from "./figures.ts";
import { isClean, isUnreadable, tellParity } from "./parity-findings.ts";
import { type Check, type ParityRow, parities } from "./parity-row.ts";
import { suspects, suspectsIn } from "./suspects.ts";

export interface ParityValidatorPorts {
  readonly queue: Pick<WorkQueue, "join" | "show" | "placement" | "cancel">;
  /** Nodes that could check now. */
  readonly nodes: () => readonly string[];
  readonly settings?: { readonly everyMs?: number };
}

type Context = UnitContext<
  | "WORK_QUEUED"
  | "PARITY_VALIDATION_STARTED"
  | "PARITY_VALIDATION_COMPLETED"
  | "PARITY_FAILURE_RATE_CHANGED"
  | "DATA_QUALITY_ALERT"
>;
type ConfigKey = ConfigPlan["config_key"];

/**
 * Has every segment of a batch checked before it counts: that its games follow the rules, that its labels are those of its
 * games, and that a share of them comes out the same when played again. It collects what was found and judges nothing:
 * `quality_monitor_daemon` does.
 */
export const parityValidator = ({ queue, nodes, settings = {} }: ParityValidatorPorts) => {
  const begin = ({ iteration, attempt }: Iteration, last: ParityRow | undefined, now: number): ParityRow => {
    const before = last?.iteration === iteration ? last : undefined;
    const known = Object.entries(before?.checked ?? {});
    const faulty = known.filter(([, check]) => !isClean(check));
    return {
      iteration,
      attempt,
      state: "running",
      since: now,
      ended_at: null,
      jobs: {},
      // What was found clean stays so while it is the same file; a fault is looked for once more, by somebody else.
      checked: Object.fromEntries(known.filter(([, check]) => isClean(check))),
      doubted: {
        ...before?.doubted,
        ...Object.fromEntries(
          faulty.map(([part, { validator }]) => [part, [...(before?.doubted[part] ?? []), validator]]),
        ),
      },
      unchecked: {},
      failure: null,
      waits: [],
      failure_rate: last?.failure_rate ?? 0,
    };
  };

  const specOf = (
    { plan }: ConfigRow,
    order: SelfplayOrder,
    segment: Segment,
    around: { batch: string; suspects: readonly string[]; doubted: readonly string[]; stranded: string | undefined },
  ): JobSpecInput => {
    const { part, producer, games_file, samples_file } = segment;
    const { batch, doubted, stranded } = around;
    const { first_game, games } = order.parts.find((one) => one.part === part)!;
    return {
      work_type: "validation",
      config_key: plan.config_key,
      payload: {
        parameters: { ...order.parameters, games, first_game, game_seed: order.seed, parity_share: plan.parity_share },
        seed: order.seed,
        inputs: [
          { name: "games", sha256: games_file!.sha256 },
          { name: "samples", sha256: samples_file.sha256 },
          { name: "model", sha256: order.model },
        ],
      },
      batch_id: batch,
      dedup_key: stranded === undefined ? `${batch}:${part}` : `${batch}:${part}:after:${stranded}`,
      requested_by: "parity_validator",
      // Whoever made it is the last one to ask, where anybody else is there.
      excluded_nodes: excluding(
        nodes(),
        [producer, ...doubted, ...around.suspects],
        [producer, ...doubted],
        [producer],
      ),
    };
  };

  /** Another job took its place; one that is begun after all does no harm. */
  const takeBack = (workId: string, { log }: Context): void => {
    const why = { reason: "nobody who is there may have it", requested_by: "parity_validator" };
    queue.cancel(workId, why).catch((thrown: unknown) => log.info("a check stays", { error: messageOf(thrown) }));
  };

  /** Adds the checks that are lacking; those that cannot be made are written down as such. */
  const ask = (context: Context, config: ConfigRow, row: ParityRow, segments: readonly Segment[]): ParityRow => {
    const key = config.plan.config_key;
    const unchecked: Record<string, string> = {};
    const stranded = strandedParts(queue, row.jobs, nodes());
    const open = segments.filter(({ part, games_file, samples_file }) => {
      if (row.checked[part]?.samples === samples_file.sha256 || (row.jobs[part] !== undefined && !stranded.has(part)))
        return false;
      if (games_file === null) unchecked[part] = "its workload keeps no games to check";
      return games_file !== null;
    });
    const order = context.rows.get(selfplayOrders, key);
    if (open.length > 0 && order?.iteration !== row.iteration)
      return {
        ...row,
        waits: waitsSince(row.waits, context.now, [{ for: "order", actual: null, required: "what was asked for" }]),
      };
    const batch = undertakingOf(key, row, "data_sync");
    const away = suspectsIn(context.rows.get(suspects, key), row.iteration);
    const put = putJobs(
      queue,
      context,
      open.map((segment) =>
        specOf(config, order!, segment, {
          batch,
          suspects: away,
          doubted: row.doubted[segment.part] ?? [],
          stranded: row.jobs[segment.part],
        }),
      ),
    );
    if ("refused" in put) {
      if (put.refused.code !== "WORK_KIND_UNKNOWN")
        return { ...row, waits: waitsSince(row.waits, context.now, [refusedWait(put.refused)]) };
      for (const { part } of open) unchecked[part] = "nobody here can check games";
      return { ...row, unchecked: { ...row.unchecked, ...unchecked } };
    }
    const jobs = Object.fromEntries(open.map(({ part }, n) => [part, put.added[n]!.work_id]));
    for (const part of stranded) context.afterCommit(() => takeBack(row.jobs[part]!, context));
    if (open.length > 0 && Object.keys(row.jobs).length === 0)
      context.emit.PARITY_VALIDATION_STARTED({
        config_key: key,
        job_id: batch,
        games: open.reduce((sum, { games }) => sum + games, 0),
      });
    return { ...row, jobs: { ...row.jobs, ...jobs }, unchecked: { ...row.unchecked, ...unchecked } };
  };

  /** Takes the answers that have come in. */
  const collect = (context: Context, key: ConfigKey, row: ParityRow, segments: readonly Segment[]): ParityRow => {
    const { now } = context;
    const missing = segments.filter(({ part, samples_file }) => row.checked[part]?.samples !== samples_file.sha256);
    const asked = Object.fromEntries(
      missing.flatMap(({ part }) => (row.jobs[part] === undefined ? [] : [[part, row.jobs[part]]])),
    );
    const followed = followJobs(queue, asked, context.rows.get(rebuildRows, key) ?? NO_REBUILDS);
    const samplesOf = (part: string) => segments.find((segment) => segment.part === part)!.samples_file.sha256;
    const checked: Record<string, Check> = { ...row.checked };
    for (const { part, job } of followed.completed)
      checked[part] = {
        samples: samplesOf(part),
        validator: job.node_id ?? "unknown",
        figures: figuresOf(job.evidence!),
        unreadable: null,
      };
    const next: ParityRow = { ...row, checked };
    const isAsked = ({ part }: Segment) => row.jobs[part] !== undefined || row.unchecked[part] !== undefined;
    if (followed.open.length > 0) {
      const wait = { for: "parity", actual: segments.length - followed.open.length, required: segments.length };
      return { ...next, waits: waitsSince(row.waits, now, [wait, ...awaitedInput(followed)]) };
    }
    if (!missing.every(isAsked)) return next;
    const broken = followed.failed.filter(({ workId }) => !isUnreadable(queue.show(workId)));
    const unreadable = followed.failed.filter((failure) => !broken.includes(failure));
    // When nothing at all can be read it is not the producers' fault, but that of the plan or the workload.
    const isSweeping = unreadable.length > 0 && !Object.values(checked).some(({ figures }) => figures !== null);
    for (const { part, reason } of isSweeping ? [] : unreadable)
      checked[part] = { samples: samplesOf(part), validator: "none", figures: null, unreadable: reason };
    const [fault] = isSweeping ? unreadable : broken;
    if (fault !== undefined)
      return {
        ...next,
        state: "failed",
        ended_at: now,
        waits: [],
        failure: {
          code: fault.code === INPUT_LOST ? INPUT_LOST : isSweeping ? "VALIDATION_REFUSED" : "VALIDATION_FAILED",
          message: `check ${fault.workId} of part ${fault.part} failed (${fault.code}): ${fault.reason}`,
          retryable: true,
        },
      };
    return { ...next, state: "done", ended_at: now, waits: [], failure_rate: tellParity(context, key, next, segments) };
  };

  const reconcile = (context: Context, configKey: string): void => {
    const { rows, now } = context;
    const config = rows.get(configs, configKey);
    const iteration = rows.get(iterations, configKey);
    if (config === undefined || !isTurnOf("data_sync", iteration)) return;
    if (!config.plan.kinds.includes("validation")) return;
    const selfplay = rows.get(selfplayWork, configKey);
    if (selfplay?.iteration !== iteration.iteration || selfplay.state !== "done") return;
    const known = rows.get(parities, configKey);
    const row = known !== undefined && isFor(known, iteration) ? known : begin(iteration, known, now);
    if (row.state !== "running") return;
    const { segments } = selfplay.own;
    const asked = config.paused === null ? ask(context, config, row, segments) : row;
    // Jobs that are added in this very commit cannot have ended; to the queue they are not there yet.
    const isNew = Object.entries(asked.jobs).some(([part, workId]) => row.jobs[part] !== workId);
    const wait = { for: "parity", actual: 0, required: segments.length };
    const next = isNew
      ? { ...asked, waits: waitsSince(row.waits, now, [wait]) }
      : collect(context, config.plan.config_key, asked, segments);
    putChanged(rows, parities, configKey, next);
  };

  return defineDaemon({
    name: "parity_validator",
    layer: 4,
    placement: "leader",
    alsoKnownAs: ["INTEGRITY_CHECK", "ParityValidator"],
    dependsOn: ["event_router"],
    emits: [
      "WORK_QUEUED",
      "PARITY_VALIDATION_STARTED",
      "PARITY_VALIDATION_COMPLETED",
      "PARITY_FAILURE_RATE_CHANGED",
      "DATA_QUALITY_ALERT",
    ],
    state: { tables: { parities } },
    on: {
      PIPELINE_STAGE_ENTERED: ({ payload }, context: Context) => {
        if (payload.pipeline_stage === "data_sync") reconcile(context, payload.config_key);
      },
      DATABASE_CREATED: ({ payload: { config_key } }, context: Context) => reconcile(context, config_key),
      ...onEach(["WORK_COMPLETED", "WORK_FAILED", "WORK_CANCELLED"], ({ payload }, context: Context) => {
        if (payload.work_type === "validation" && payload.config_key !== undefined)
          reconcile(context, payload.config_key);
      }),
    },
    loop: {
      everyMs: settings.everyMs ?? 2_000,
      tick(context) {
        for (const [key] of context.rows.list(configs)) reconcile(context, key);
      },
    },
    health: ({ rows }) => {
      const all = rows.list(parities);
      const [bad] = all.filter(([, { failure }]) => failure !== null);
      const details = { failure_rates: Object.fromEntries(all.map(([key, { failure_rate }]) => [key, failure_rate])) };
      return bad === undefined
        ? { status: "running", message: "", details }
        : { status: "degraded", message: `${bad[0]}: ${bad[1].failure?.message}`, details };
    },
  });
};
