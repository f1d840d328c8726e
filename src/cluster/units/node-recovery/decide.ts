/** What is done next for a node that is ill: one ladder, with evidence, guards, cooldowns and a budget. Pure. */
import { isIll, type NodeCondition } from "../../node-health/conditions.ts";
import type { CheckName } from "../../node-health/health-book.ts";
import { allowsRung } from "../../nodes/host-policy.ts";
import type { RecoveryCase } from "../../recovery/recovery-case.ts";
import { isHard, ladderFor, type Repair, RUNGS, type Rung } from "../../recovery/rungs.ts";

export const recoveryDefaults = {
  /** With a larger share of nodes that are not ready, the network or we are the problem: nothing is done but telling. */
  suspendAbove: 0.45,
  /** Hard acts in an hour, over all nodes; and at once. */
  actsPerHour: 6,
  atOnce: 1,
  /** How long an illness is watched before anything is done, and how long a rung has to show its effect. */
  observeMs: 60_000,
  patienceMs: 300_000,
  /** A rung that was used on a node so lately did not last: the next one is tried. */
  cooldownMs: { restart: 600_000, reboot: 3_600_000, replace: 86_400_000 } as Readonly<Partial<Record<Rung, number>>>,
  /** A guard that has held a hard rung back for so long is a person's to look at. */
  heldBackMs: 7_200_000,
};
export type RecoveryPolicy = typeof recoveryDefaults;

export interface PatientFacts {
  readonly condition: NodeCondition;
  readonly check: CheckName | null;
  /** It left in order, or nobody knows it any more. */
  readonly isGone: boolean;
  readonly isLocal: boolean;
  /** It asks what it shall do: a node with a key that beats. */
  readonly isReachable: boolean;
  /** Jobs in its hands, and those that make progress. */
  readonly held: number;
  readonly moving: number;
  /** Files, and results, that lie nowhere else. */
  readonly alone: number;
  /** Other nodes that reach it: its machine lives, and may work on. */
  readonly reachedBy: number;
  /** How far its operators let repairs go. */
  readonly repair: Repair;
  readonly canReboot: boolean;
  readonly canReplace: boolean;
  /** When each hard rung was last used on it. */
  readonly lastUsed: Readonly<Partial<Record<Rung, number>>>;
}

export interface FleetFacts {
  /** Nodes that are meant to be there, and those of them that are not ready. */
  readonly nodes: number;
  readonly unready: number;
  readonly actsLastHour: number;
  readonly acting: number;
  /** Somebody switched repair off: it is only told what would be done. */
  readonly isOff: boolean;
}

export type Step =
  | { readonly kind: "close"; readonly outcome: "recovered" | "gone" }
  /** A rung begins. `skipped`: those that cannot help here, and why. */
  | { readonly kind: "act"; readonly rung: Rung; readonly skipped: readonly string[] }
  /** Nothing is done now. `needsPerson`: it has waited too long for what only a person can change. */
  | { readonly kind: "wait"; readonly why: string; readonly next: Rung | null; readonly needsPerson: boolean };

const wait = (why: string, next: Rung | null, needsPerson = false): Step => ({ kind: "wait", why, next, needsPerson });
const seconds = (ms: number): string => `${Math.max(0, Math.round(ms / 1_000))} s`;

export const unreadyShare = ({ nodes, unready }: Pick<FleetFacts, "nodes" | "unready">): number =>
  nodes === 0 ? 0 : unready / nodes;

/** Why a rung cannot help this node at all; undefined if it can. */
function whyUseless(rung: Rung, facts: PatientFacts, now: number, policy: RecoveryPolicy): string | undefined {
  if (!isHard(rung)) return undefined;
  if (facts.isLocal) return `${rung}: it is the coordinator's own machine`;
  if (!allowsRung(facts.repair, rung))
    return `${rung}: its policy allows ${facts.repair === "none" ? "no repair" : `no more than a ${facts.repair}`}`;
  if (rung === "restart" && !facts.isReachable) return "restart: its worker does not ask for orders";
  if (rung === "reboot" && !facts.canReboot) return "reboot: nobody here can reboot it";
  if (rung === "replace" && !facts.canReplace) return "replace: nobody here can replace it";
  const usedAt = facts.lastUsed[rung];
  const cooldownMs = policy.cooldownMs[rung] ?? 0;
  return usedAt !== undefined && now - usedAt < cooldownMs
    ? `${rung}: it was done ${seconds(now - usedAt)} ago and did not last`
    : undefined;
}

/** Why a hard rung may not be used on this node now: nobody loses work that goes on, or the only copy of anything. */
export function whyNotNow(
  rung: Rung,
  facts: Pick<PatientFacts, "moving" | "alone" | "reachedBy">,
  fleet: FleetFacts,
  policy: RecoveryPolicy,
): { readonly why: string; readonly isGuard: boolean } | undefined {
  const share = unreadyShare(fleet);
  if (share > policy.suspendAbove)
    return {
      why: `suspended: ${fleet.unready} of ${fleet.nodes} nodes are not ready, so the network or the coordinator is the problem`,
      isGuard: false,
    };
  if (!isHard(rung)) return undefined;
  if (facts.moving > 0)
    return { why: `${facts.moving} of its jobs make progress, and nobody stops them`, isGuard: true };
  if (facts.reachedBy > 0 && rung !== "restart")
    return {
      why: `${facts.reachedBy} other nodes reach it: only its line to the coordinator is down, and it may work on`,
      isGuard: true,
    };
  if (facts.alone > 0) return { why: `${facts.alone} files lie nowhere else yet`, isGuard: true };
  if (fleet.acting >= policy.atOnce) return { why: "another node is being repaired", isGuard: false };
  if (fleet.actsLastHour >= policy.actsPerHour)
    return { why: `${fleet.actsLastHour} repairs in an hour are as many as allowed`, isGuard: false };
  return undefined;
}

/** How long a rung has to show its effect. */
const patienceOf = (rung: Rung, policy: RecoveryPolicy): number =>
  rung === "observe" ? policy.observeMs : policy.patienceMs;

/** The next step of a case. Asked again with the same facts it says the same. */
export function nextStep(
  patient: RecoveryCase,
  facts: PatientFacts,
  fleet: FleetFacts,
  now: number,
  policy: RecoveryPolicy = recoveryDefaults,
): Step {
  if (facts.isGone) return { kind: "close", outcome: "gone" };
  if (!isIll(facts.condition)) return { kind: "close", outcome: "recovered" };
  const { rung, rung_since, waits_since } = patient;
  // What is under way for itself is in nobody's way.
  const others = isHard(rung) ? { ...fleet, acting: fleet.acting - 1 } : fleet;
  if (rung === "person") return wait("a person was asked to look at it", null);
  const untilMs = rung_since + patienceOf(rung, policy) - now;
  const isDrained = rung === "drain" && facts.held === 0;
  if (untilMs > 0 && !isDrained) return wait(`${rung} has ${seconds(untilMs)} to show its effect`, null);
  const ladder = ladderFor(facts.check ?? patient.check);
  const skipped: string[] = [];
  for (const next of ladder.slice(lastBefore(ladder, rung) + 1)) {
    const useless = whyUseless(next, facts, now, policy);
    if (useless !== undefined) {
      skipped.push(useless);
      continue;
    }
    if (fleet.isOff && next !== "person") return wait("repair is switched off (recovery.enabled)", next);
    const refusal = whyNotNow(next, facts, others, policy);
    if (refusal === undefined) return { kind: "act", rung: next, skipped };
    const heldMs = waits_since === null ? 0 : now - waits_since;
    return wait(refusal.why, next, refusal.isGuard && heldMs >= policy.heldBackMs);
  }
  return { kind: "act", rung: "person", skipped };
}

/** Where a case stands on a ladder that lacks its rung: at the last one that is gentler. */
function lastBefore(ladder: readonly Rung[], rung: Rung): number {
  return ladder.findLastIndex((each) => RUNGS.indexOf(each) <= RUNGS.indexOf(rung));
}
