/** Which jobs a claim gets: between configs by their shares, within a config by urgency and age. Nothing is handed out here. */
import type { ClaimRequest } from "../job/claim-request.ts";
import { earlierLeases, hadInVain } from "../job/earlier-leases.ts";
import type { JobRow } from "../job/job.ts";
import { fits, type Lane, type Offer, whyNotThere, without } from "../job/needs.ts";
import { agedUrgency, CRITICAL } from "../job/urgency.ts";
import { afterServing, forgetIdle, type Head, nextConfig, sharesOf } from "../queue/fair-share.ts";
import type { Plan } from "../queue/plan.ts";
import type { NodeVerdict, QueueState } from "../queue/queue-state.ts";
import { Line } from "../queue/waiting-line.ts";
import { leftToFaster, type PassesOver } from "./left-to-faster.ts";
import { leftToNodesWithoutGpus } from "./preprocessing.ts";
import { isForOthers, isForOthersOfItsKind } from "./untaken.ts";

/** A job that was chosen, and what it was chosen by. */
export interface Dealt {
  readonly job: JobRow;
  readonly lane: Lane;
  /** Its urgency, its waiting counted in. */
  readonly level: number;
  /** The share of its config among those that had fitting jobs. */
  readonly share: number;
  /** What its config was owed before it was served, in units of cost. */
  readonly owed: number;
}

interface Choice extends Head {
  readonly line: Line;
  readonly job: JobRow;
  readonly level: number;
}

/** Whoever asked for a job that only a stuck node may have has so long to let others have it. */
const RELAX_MS = 120_000;

/**
 * Jobs that a node had before and shall not have again: one that it had in vain, while somebody else could take it who had not; and
 * one whose lease lapsed in silence while the claim was open, since a node that sleeps hears nothing, and has it back when it
 * is heard.
 */
const passedOverBy =
  (parts: QueueState, { node_id, asked_at }: ClaimRequest, now: number): PassesOver =>
  (job, lane) => {
    if (job.earlier === null) return false;
    const here = earlierLeases(job).filter((each) => each.node_id === node_id);
    if (here.some(({ why, lapsed_at }) => why === "silent" && lapsed_at >= (asked_at ?? Number.POSITIVE_INFINITY)))
      return true;
    const inVain = hadInVain(job);
    if (!inVain.includes(node_id)) return false;
    if (isForOthers(parts, lane, inVain, now)) return true;
    const isFresh = here.some(({ why, lapsed_at }) => why === "stuck" && now - lapsed_at < RELAX_MS);
    return isFresh && isForOthersOfItsKind(parts, lane, inVain, now);
  };

/** The job of a config that is next: the most urgent, its waiting counted in, and the oldest of those. */
function bestOf(
  config: string,
  lines: readonly Line[],
  offer: Offer,
  parts: QueueState,
  now: number,
  passesOver: PassesOver,
  leaves: PassesOver,
): Choice | undefined {
  let best: Choice | undefined;
  for (const line of lines) {
    if (!fits(line.lane.needs, offer)) continue;
    const job = line.peek(passesOver);
    // The first has waited longest: who leaves it to others leaves them those behind it too.
    if (job === undefined || leaves(job, line.lane)) continue;
    const level = agedUrgency(job.urgency, now - job.ready_at, parts.ageing);
    if (best !== undefined && (level < best.level || (level === best.level && job.seq > best.job.seq))) continue;
    best = { config, cost: job.cost, urgent: level >= CRITICAL, line, job, level };
  }
  return best;
}

/** The lines that claims of one plan look at: what one of them has taken, the next one does not look at again. */
export class ClaimLines {
  readonly #lines = new Map<string, Line>();
  readonly #plan: Plan;
  readonly #parts: QueueState;
  /** How many jobs the claims ask for in all. */
  readonly #max: number;

  constructor(parts: QueueState, plan: Plan, max: number) {
    this.#parts = parts;
    this.#plan = plan;
    this.#max = max;
  }

  /** Those of some lanes, by config. */
  of(lanes: readonly Lane[]): Map<string, Line[]> {
    const byConfig = new Map<string, Line[]>();
    // As many as each would give if all had as much to do: few looks, and few rows in vain.
    const chunk = Math.max(2, Math.ceil((1.5 * this.#max) / Math.max(1, lanes.length)));
    for (const lane of lanes) {
      const config = lane.configKey ?? "";
      const own = byConfig.get(config) ?? [];
      for (const level of this.#parts.lanes.levels(lane)) own.push(this.#line(lane, level, chunk));
      byConfig.set(config, own);
    }
    return byConfig;
  }

  #line(lane: Lane, level: number, chunk: number): Line {
    const key = `${lane.lane}/${level}`;
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = new Line(this.#plan, this.#parts.lanes, lane, level, chunk);
      this.#lines.set(key, line);
    }
    return line;
  }
}

/** The jobs that a node may have now, in the order in which they were chosen. */
export function dealTo(
  parts: QueueState,
  plan: Plan,
  request: ClaimRequest,
  verdict: NodeVerdict & { readonly accepts: true },
  lines: ClaimLines,
): Dealt[] {
  const max = Math.min(request.most, parts.limits.maxInCall, verdict.room ?? Number.POSITIVE_INFINITY);
  const { exceptConfigs = [], exceptKinds = [], excludedKinds = [] } = verdict;
  const kinds = request.kinds === undefined ? undefined : new Set(request.kinds);
  const fitting = [...parts.lanes.all()].filter(
    (lane) =>
      whyNotThere(lane, request.node_id, kinds) === undefined &&
      fits(lane.needs, request.offer) &&
      !exceptKinds.includes(lane.workType) &&
      !excludedKinds.includes(lane.workType) &&
      !(lane.configKey !== null && exceptConfigs.includes(lane.configKey)),
  );
  return deal(parts, plan, lines.of(fitting), request, max);
}

function deal(
  parts: QueueState,
  plan: Plan,
  lines: ReadonlyMap<string, readonly Line[]>,
  request: ClaimRequest,
  max: number,
): Dealt[] {
  const chosen: Dealt[] = [];
  let { offer } = request;
  const passesOver = passedOverBy(parts, request, plan.now);
  const toFaster = leftToFaster(parts, plan, request.node_id, plan.now);
  const toOthers = leftToNodesWithoutGpus(parts, request.node_id, plan.now);
  const leaves: PassesOver = (job, lane) => toFaster(job, lane) || toOthers(job, lane);
  const heads = new Map<string, Choice>();
  const look = (config: string) => {
    const best = bestOf(config, lines.get(config)!, offer, parts, plan.now, passesOver, leaves);
    if (best === undefined) heads.delete(config);
    else heads.set(config, best);
  };
  for (const config of lines.keys()) look(config);
  parts.deficits = forgetIdle(
    parts.deficits,
    [...lines.keys()].filter((config) => !heads.has(config)),
  );
  let shares = sharesOf([...heads.keys()], parts.shares);
  while (chosen.length < max && heads.size > 0) {
    const config = nextConfig([...heads.values()], parts.deficits, parts.shares)!;
    const { job, line, level } = heads.get(config)!;
    line.take(job);
    const owed = parts.deficits.get(config) ?? 0;
    chosen.push({ job, lane: line.lane, level, share: shares.get(config) ?? 0, owed });
    parts.deficits = afterServing(parts.deficits, shares, { config, cost: job.cost }, parts.shares.maxDebt);
    offer = without(offer, line.lane.needs);
    const before = heads.size;
    look(config);
    for (const [other, head] of [...heads]) if (!fits(head.line.lane.needs, offer)) look(other);
    if (heads.size !== before) shares = sharesOf([...heads.keys()], parts.shares);
  }
  return chosen;
}
