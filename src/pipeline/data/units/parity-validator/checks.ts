/** The checks of a batch: one job for each segment, and what they found. */
import { sumOf } from "../../../../kernel/index.ts";
import {
  excluding,
  rejections,
  rejectionsOf,
  type SelfplayOrder,
  selfplayOrders,
  suspects,
  suspectsIn,
} from "../../../selfplay/index.ts";
import {
  type ConfigLook,
  followStageJobs,
  type Iteration,
  jobFailure,
  type PartJob,
  putJobs,
  refusedWait,
  type Segment,
  type StageServices,
  strandedParts,
  takeBackStranded,
  undertakingOf,
  type Waiting,
  waiting,
} from "../../../stage/index.ts";
import { figuresOf } from "../../figures.ts";
import type { Check, ParityRow } from "../../tables.ts";
import { emitParity, isUnreadable } from "./findings.ts";

const UNIT = "parity_validator";

type Look = ConfigLook<
  | "WORK_QUEUED"
  | "PARITY_VALIDATION_STARTED"
  | "PARITY_VALIDATION_COMPLETED"
  | "PARITY_FAILURE_RATE_CHANGED"
  | "DATA_QUALITY_ALERT"
> & { readonly at: Iteration };

/** Adds the checks that are lacking; those that cannot be made are written down as such. */
export function ask(services: StageServices, look: Look, row: ParityRow, segments: readonly Segment[]): ParityRow {
  const { queue } = services;
  const unchecked: Record<string, string> = { ...row.unchecked };
  const stranded = strandedParts(queue, row.jobs, services.workersFor("validation"));
  const open = segments.filter(({ part, games_file, samples_file }) => {
    const isAsked = row.jobs[part] !== undefined && !stranded.has(part);
    if (isAsked || row.checked[part]?.samples === samples_file.sha256) return false;
    if (games_file === null) unchecked[part] = "its workload keeps no games to check";
    return games_file !== null;
  });
  const order = look.row(selfplayOrders);
  if (open.length > 0 && order?.iteration !== row.iteration)
    return waiting(row, look.now, { for: "order", actual: null, required: "what was asked for" });
  const batch = undertakingOf(look.configKey, row, "data_sync");
  const put = putJobs(queue, look, {
    batch,
    by: UNIT,
    parts: Object.fromEntries(open.map((segment) => [segment.part, jobFor(services, look, row, order!, segment)])),
  });
  if ("refused" in put) {
    if (put.refused.code !== "WORK_KIND_UNKNOWN") return waiting(row, look.now, refusedWait(put.refused));
    for (const { part } of open) unchecked[part] = "nobody here can check games";
    return { ...row, unchecked };
  }
  for (const part of stranded) takeBackStranded(services, look, row.jobs[part]!, UNIT);
  if (open.length > 0 && Object.keys(row.jobs).length === 0)
    look.emit.PARITY_VALIDATION_STARTED({
      config_key: look.configKey,
      job_id: batch,
      games: sumOf(open, ({ games }) => games),
    });
  return { ...row, jobs: { ...row.jobs, ...put.jobs }, unchecked };
}

function jobFor(
  services: StageServices,
  { row: rowOf, configKey, plan }: Look,
  row: ParityRow,
  order: SelfplayOrder,
  segment: Segment,
): PartJob {
  const { part, producer, games_file, samples_file } = segment;
  const { first_game, games } = order.parts.find((one) => one.part === part)!;
  const stranded = row.jobs[part];
  const key = `${undertakingOf(configKey, row, "data_sync")}:${part}`;
  // Whoever made it is the last one to ask, where anybody else is there.
  const involved = [producer, ...(row.doubted[part] ?? [])];
  const away = suspectsIn(rowOf(suspects), row.iteration);
  return {
    work_type: "validation",
    payload: {
      parameters: { ...order.parameters, games, first_game, game_seed: order.seed, parity_share: plan.parity_share },
      seed: order.seed,
      inputs: [
        { name: "games", sha256: games_file!.sha256 },
        { name: "samples", sha256: samples_file.sha256 },
        { name: "model", sha256: segment.model ?? order.model },
        ...(order.inputs ?? []),
      ],
    },
    dedup_key: stranded === undefined ? key : `${key}:after:${stranded}`,
    excluded_nodes: excluding(services.workersFor("validation"), [...involved, ...away], involved, [producer]),
  };
}

/** That the only worker for checks made some of what it checks, for `why`. */
function aloneWith({ workersFor }: StageServices, open: readonly Segment[]): Waiting[] {
  const [only, ...others] = workersFor("validation");
  const isAlone = others.length === 0 && open.some(({ producer }) => producer === only);
  const actual = `only ${only}: it checks games that it played itself`;
  return isAlone ? [{ for: "second_checker", actual, required: "two nodes with a worker for validation" }] : [];
}

/** Whether somebody is there of whom nothing in this iteration could not be read: it plays before the plan is to blame. */
function isOthersTurn({ workersFor }: StageServices, { row, at }: Look, segments: readonly Segment[]): boolean {
  const lost = rejectionsOf(row(rejections), at.iteration).filter(({ reason }) => reason === "unreadable");
  const tried = new Set([...segments, ...lost].map(({ producer }) => producer));
  return workersFor("selfplay").some((node) => !tried.has(node));
}

/** Takes the answers that have come in. */
export function collect(services: StageServices, look: Look, row: ParityRow, segments: readonly Segment[]): ParityRow {
  const { now } = look;
  const { queue } = services;
  const missing = segments.filter(({ part, samples_file }) => row.checked[part]?.samples !== samples_file.sha256);
  const asked = missing.filter(({ part }) => row.jobs[part] !== undefined).map(({ part }) => [part, row.jobs[part]!]);
  const followed = followStageJobs(queue, look, Object.fromEntries(asked));
  const segmentOf = (part: string) => segments.find((segment) => segment.part === part)!;
  const samplesOf = (part: string) => segmentOf(part).samples_file.sha256;
  const checked: Record<string, Check> = { ...row.checked };
  for (const { part, job } of followed.completed)
    checked[part] = {
      samples: samplesOf(part),
      validator: job.node_id ?? "unknown",
      ...(job.node_id === segmentOf(part).producer ? { self_checked: true } : {}),
      figures: figuresOf(job.evidence!),
      unreadable: null,
    };
  const next: ParityRow = { ...row, checked };
  if (followed.open.length > 0) {
    const actual = segments.length - followed.open.length;
    const alone = aloneWith(services, followed.open.map(segmentOf));
    return waiting(next, now, { for: "parity", actual, required: segments.length }, ...alone, ...followed.awaited);
  }
  const isAsked = ({ part }: Segment) => row.jobs[part] !== undefined || row.unchecked[part] !== undefined;
  if (!missing.every(isAsked)) return next;
  const broken = followed.failed.filter(({ workId }) => !isUnreadable(queue.show(workId)));
  const unreadable = followed.failed.filter((lost) => !broken.includes(lost));
  // When nothing at all can be read, whoever played it, it is not the producers' fault, but that of the plan or the workload.
  const isSweeping =
    unreadable.length > 0 &&
    !Object.values(checked).some(({ figures }) => figures !== null) &&
    !isOthersTurn(services, look, segments);
  for (const { part, reason, workId } of isSweeping ? [] : unreadable) {
    const validator = queue.show(workId)?.node_id ?? "none";
    checked[part] = { samples: samplesOf(part), validator, figures: null, unreadable: reason };
  }
  const [lost] = isSweeping ? unreadable : broken;
  const ended = { ...next, ended_at: now, waits: [] };
  if (lost === undefined) return { ...ended, state: "done", failure_rate: emitParity(look, next, segments) };
  const failure = jobFailure(isSweeping ? "VALIDATION_REFUSED" : "VALIDATION_FAILED", "check", lost);
  return { ...ended, state: "failed", failure };
}
