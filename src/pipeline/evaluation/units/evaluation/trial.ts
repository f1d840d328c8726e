/**
 * A trial: whether a model can play at all. Some nodes let it play itself, and beside it somebody who is known to play: what fails there
 * and only there is the model's fault, and not that of the nodes.
 */
import type { Json } from "../../../../kernel/index.ts";
import { faultOf } from "../../../models/index.ts";
import {
  done,
  followJobs,
  type Jobs,
  MODEL_UNUSABLE,
  type PartJob,
  putJobs,
  refusedWait,
  type StageFailure,
  type Turn,
  trainingWork,
  waiting,
} from "../../../stage/index.ts";
import { isMadeAgain, unusables, withUnusable } from "../../../training/index.ts";
import { TRIAL } from "../../limits.ts";
import { matchJob, type Pair } from "../../match-jobs.ts";
import type { EvaluationServices } from "../../services.ts";
import type { Work } from "./match.ts";

/** What is kept of a trial while it is under way. */
export interface Trial {
  /** Who is asked; null where nobody is there yet, and anybody may answer. */
  readonly nodes: readonly (string | null)[];
  readonly jobs: Jobs;
  /** What it was begun for; null for the first model, which has met nobody. */
  readonly failure: StageFailure | null;
}
export const trialOf = ({ evidence }: Pick<Work, "evidence">): Trial | undefined =>
  evidence.trial as unknown as Trial | undefined;

/** What a node has shown. */
export interface Shown {
  readonly node: string | null;
  /** Whether the model played; null where that is not known. */
  readonly plays: boolean | null;
  /** Whether somebody else played there; null where nobody could be asked, or that is not known. */
  readonly otherPlays: boolean | null;
  readonly reason: string;
}

export type TrialVerdict =
  | { readonly kind: "plays" }
  | { readonly kind: "unknown" }
  /** `isProven`: others play on the same nodes. */
  | { readonly kind: "unusable"; readonly isProven: boolean; readonly by: readonly Shown[] };

/** What the nodes say together. One that lets it play is enough for it; against it speak all who can play themselves. */
export function judgeTrial(shown: readonly Shown[]): TrialVerdict {
  if (shown.some(({ plays }) => plays === true)) return { kind: "plays" };
  const against = shown.filter(({ plays, otherPlays }) => plays === false && otherPlays !== false);
  if (against.length === 0 || against.length < Math.min(TRIAL.nodes, shown.length)) return { kind: "unknown" };
  return { kind: "unusable", isProven: against.every(({ otherPlays }) => otherPlays === true), by: against };
}

type Asking = Turn<"WORK_QUEUED">;

/** Who made it in this round: the same bytes may have come from somebody else before. */
function producerOf({ row }: Pick<Asking, "row">, candidate: string): string | undefined {
  const training = row(trainingWork);
  const { node_id } = training?.evidence ?? {};
  return training?.own.model === candidate && typeof node_id === "string" ? node_id : undefined;
}

/** Those who answer for it: not the one who made it, where there are others. */
function asked({ workersFor }: EvaluationServices, turn: Asking, candidate: string): readonly (string | null)[] {
  const all = workersFor("evaluation");
  const others = all.filter((node) => node !== producerOf(turn, candidate));
  const nodes = (others.length > 0 ? others : all).slice(0, TRIAL.nodes);
  return nodes.length > 0 ? nodes : [null];
}

/** Who is known to play: the champion, or a baseline of the program. */
function other({ anchors }: EvaluationServices, { configKey }: Asking, { opponent }: Work["own"]): Pair | undefined {
  const name = opponent === "" ? anchors(configKey)[0] : opponent;
  return name === undefined ? undefined : { candidate: name, opponent: name };
}

export function beginTrial(services: EvaluationServices, turn: Asking, work: Work, failure: StageFailure | null): Work {
  const { candidate } = work.own;
  const nodes = asked(services, turn, candidate);
  const deadline = (turn.now + TRIAL.ms) / 1_000;
  const job = (pair: Pair, node: string | null): PartJob => ({
    ...matchJob(turn.plan, pair, { blocks: 1, firstBlock: 0 }, { urgency: "high", seed: ["trial", work.iteration] }),
    max_attempts: 1,
    deadline,
    ...(node === null ? {} : { target_nodes: [node] }),
  });
  const known = other(services, turn, work.own);
  const parts: { [part: string]: PartJob } = {};
  for (const [n, node] of nodes.entries()) {
    parts[`trial${n}`] = job({ candidate, opponent: candidate }, node);
    if (known !== undefined) parts[`other${n}`] = job(known, node);
  }
  const put = putJobs(services.queue, turn, { batch: `${turn.jobId}:trial`, by: "evaluation_daemon", parts });
  if ("refused" in put) return waiting(work, turn.now, refusedWait(put.refused));
  const trial: Trial = { nodes, jobs: put.jobs, failure };
  const begun = { ...work, evidence: { ...work.evidence, trial: trial as unknown as Json } };
  return waiting(begun, turn.now, { for: "trial", actual: 0, required: Object.keys(parts).length });
}

function shownBy(services: EvaluationServices, { nodes, jobs }: Trial): readonly Shown[] | number {
  const { completed, failed, open } = followJobs(services.queue, jobs);
  if (open.length > 0) return completed.length + failed.length;
  const played = new Set(completed.map(({ part }) => part));
  const look = (part: string) => {
    const lost = failed.find((each) => each.part === part);
    const says = lost === undefined ? undefined : faultOf(lost.code, lost.reason);
    return { plays: played.has(part) ? true : says === undefined ? null : false, reason: lost?.reason ?? "" };
  };
  return nodes.map((node, n) => ({ node, ...look(`trial${n}`), otherPlays: look(`other${n}`).plays }));
}

/** Follows a trial to its end. `refuse` tells a failure of the evaluation. */
export function followTrial(
  services: EvaluationServices,
  turn: Asking,
  work: Work,
  trial: Trial,
  refuse: (work: Work, failure: StageFailure) => Work,
): Work {
  const { now, row, put, at } = turn;
  const shown = shownBy(services, trial);
  if (typeof shown === "number")
    return waiting(work, now, { for: "trial", actual: shown, required: Object.keys(trial.jobs).length });
  const verdict = judgeTrial(shown);
  const { candidate } = work.own;
  if (verdict.kind !== "unusable") {
    if (trial.failure !== null) return refuse(work, trial.failure);
    const skipped = "there is no champion yet";
    return done(work, now, { own: work.own, evidence: { skipped, trial: verdict.kind } });
  }
  const producer = producerOf(turn, candidate) ?? "unknown";
  const isAgain = isMadeAgain(row(unusables), candidate, producer);
  const [first] = verdict.by;
  const nodes = verdict.by.flatMap(({ node }) => node ?? []);
  const where = nodes.length === 0 ? "it was tried" : nodes.join(" and ");
  const reason = `nobody can use its model ${candidate.slice(0, 12)}: ${first!.reason}`;
  put(
    unusables,
    withUnusable(row(unusables), {
      sha256: candidate,
      producer,
      reason,
      isProven: verdict.isProven,
      iteration: at.iteration,
      now,
    }),
  );
  const others = verdict.isProven ? ", where others play" : "";
  const again = isAgain ? ". Another node made the same bytes: the program makes models that it cannot use" : "";
  return refuse(work, {
    code: MODEL_UNUSABLE,
    message: `model ${candidate.slice(0, 12)} of ${producer} cannot play (${where}${others}): ${first!.reason}${again}`,
    retryable: !isAgain,
  });
}
