/** What is done for one node that is ill: a rung begins, is pursued, and ends; each step one commit with what is told of it. */
import type { UnitContext } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { messageOf } from "../../../kernel/index.ts";
import { recoveryLimits } from "../../limits.ts";
import type { NodeView } from "../../nodes/node-view.ts";
import { recoveryCases, recoveryRequests } from "../../recovery/recovery-book.ts";
import type { RecoveryCase } from "../../recovery/recovery-case.ts";
import { beginAct, endActs, type RecoveryAct } from "../../recovery/recovery-rows.ts";
import { isHard, type Rung, rungActions, rungWords } from "../../recovery/rungs.ts";
import { type FleetFacts, nextStep, type PatientFacts, type Step, whyNotNow } from "./decide.ts";
import { patientFacts, policyOf, type RecoveryServices } from "./facts.ts";

export interface TreatmentCache {
  /** Power that was asked for in this process, and why it was refused: by act. */
  readonly asked: Map<string, { failure: string | undefined }>;
  /** When all cases were last gone through. */
  lookedAt: number;
}

type Emitted = "RECOVERY_INITIATED" | "RECOVERY_COMPLETED" | "RECOVERY_FAILED" | "NODE_RECOVERED";
export type TreatmentContext = UnitContext<Emitted, unknown, TreatmentCache>;
type NodeId = PayloadFor<"NODE_RECOVERED">["node_id"];

/** A rung, who wants it, and why. */
interface Wish {
  readonly rung: Rung;
  readonly by: string;
  readonly reason: string;
}

const SELF = "node_recovery";

const evidenceOf = (facts: PatientFacts, fleet: FleetFacts, { orphans }: RecoveryCase, skipped: readonly string[]) => ({
  condition: facts.condition,
  check: facts.check,
  held: facts.held,
  moving: facts.moving,
  alone: facts.alone,
  unready: `${fleet.unready} of ${fleet.nodes}`,
  orphans,
  skipped,
});

/** A rung begins: its row, its case, and what is told are one commit. What it does follows in `pursue`. */
function begin(
  { recovery }: Pick<RecoveryServices, "recovery">,
  node: NodeView,
  patient: RecoveryCase,
  { rung, by, reason }: Wish,
  evidence: RecoveryAct["evidence"],
  { rows, emit, now, log, afterCommit }: TreatmentContext,
): RecoveryCase {
  const node_id = node.node_id as NodeId;
  const attempts = patient.attempts + 1;
  const act: Omit<RecoveryAct, "state" | "ended_at" | "outcome"> = {
    act_id: `${patient.case_id}-${attempts}`,
    case_id: patient.case_id,
    node_id,
    label: node.label,
    rung,
    reason,
    evidence,
    asked_by: by,
    incarnation: node.incarnation,
    begun_at: now,
  };
  const before = `it is still ${node.health.condition}: ${node.health.reason ?? ""}`;
  rows.apply(beginAct({ ...act, before }));
  afterCommit(() => {
    recovery.settled(node_id, { ...act, state: "acting", ended_at: null, outcome: null });
    log.warn(`${node.label}: ${rungWords[rung]}`, { node_id, reason, by });
  });
  const isLast = rung === "person";
  if (isLast || (patient.attempts > 0 && patient.rung !== "observe"))
    emit.RECOVERY_FAILED({
      node_id,
      recovery_action: rungActions[patient.rung],
      error: before,
      attempts: patient.attempts,
      needs_operator: isLast,
      ...(isLast ? {} : { next_recovery_action: rungActions[rung] }),
    });
  if (rung !== "observe" && !isLast)
    emit.RECOVERY_INITIATED({ node_id, recovery_action: rungActions[rung], reason, attempts });
  const next = { ...patient, rung, rung_since: now, attempts, waits_for: null, waits_since: null };
  rows.put(recoveryCases, node_id, next);
  return next;
}

/** Somebody is ill: it is watched first. */
export function openCase(
  services: Pick<RecoveryServices, "recovery" | "health">,
  node: NodeView,
  context: TreatmentContext,
): void {
  const { now } = context;
  const { check = null, reason: found = null } = services.health.get(node.node_id) ?? {};
  const reason = found ?? "its checks fail";
  const patient: RecoveryCase = {
    case_id: `${node.node_id}-${Math.round(now).toString(36)}`,
    opened_at: now,
    check,
    reason,
    rung: "observe",
    rung_since: now,
    attempts: 0,
    waits_for: null,
    waits_since: null,
    is_handed_over: false,
    orphans: 0,
  };
  begin(services, node, patient, { rung: "observe", by: SELF, reason }, { check }, context);
}

function closeCase(
  { recovery }: Pick<RecoveryServices, "recovery">,
  nodeId: string,
  patient: RecoveryCase,
  { isWell, outcome }: { readonly isWell: boolean; readonly outcome: string },
  { rows, emit, now, log, afterCommit }: TreatmentContext,
): void {
  const node_id = nodeId as NodeId;
  const seconds = (now - patient.opened_at) / 1_000;
  const recovery_action = rungActions[patient.rung];
  rows.apply(endActs({ node_id, state: isWell ? "worked" : "ended", outcome, at: now }));
  rows.delete(recoveryCases, nodeId);
  afterCommit(() => {
    recovery.settled(nodeId, undefined);
    if (isWell) log.info(outcome, { node_id, by: patient.rung, seconds });
  });
  if (!isWell) return;
  if (patient.rung !== "observe")
    emit.RECOVERY_COMPLETED({ node_id, recovery_action, duration_seconds: seconds, attempts: patient.attempts });
  emit.NODE_RECOVERED({ node_id, downtime_seconds: seconds, recovery_action });
}

/** What a rung does, as often as it takes: asked again it changes nothing. Gives why it cannot be done. */
async function pursue(
  { recovery, duties, power }: RecoveryServices,
  nodeId: string,
  { asked }: TreatmentCache,
): Promise<string | undefined> {
  const act = recovery.open(nodeId);
  if (act === undefined) return undefined;
  const { rung, act_id: actId, reason } = act;
  if (rung === "drain" && duties.held(nodeId).jobs > 0) await duties.release(nodeId, reason);
  if (rung !== "reboot" && rung !== "replace") return undefined;
  const known = asked.get(actId);
  if (known !== undefined) return known.failure;
  const answer: { failure: string | undefined } = { failure: undefined };
  asked.set(actId, answer);
  if (asked.size > recoveryLimits.maxAsked) asked.delete(asked.keys().next().value!);
  // Nobody waits for it here: whether it helped is seen at the node.
  power.carryOut(nodeId, rung, { actId, reason }).catch((thrown: unknown) => {
    answer.failure = messageOf(thrown);
  });
  return undefined;
}

/** Nothing is done now: the case knows for what it waits, and a person is told once when that takes too long. */
function keepWaiting(
  nodeId: string,
  patient: RecoveryCase,
  step: Extract<Step, { kind: "wait" }>,
  context: TreatmentContext,
): void {
  const { emit, now, rows } = context;
  if (step.needsPerson && !patient.is_handed_over)
    emit.RECOVERY_FAILED({
      node_id: nodeId as NodeId,
      recovery_action: rungActions[patient.rung],
      error: step.why,
      attempts: patient.attempts,
      needs_operator: true,
    });
  const waits_since = step.next === null ? null : patient.waits_for === step.next ? patient.waits_since : now;
  const is_handed_over = patient.is_handed_over || step.needsPerson;
  const next = { ...patient, waits_for: step.next, waits_since, is_handed_over };
  if (JSON.stringify(next) !== JSON.stringify(patient)) rows.put(recoveryCases, nodeId, next);
}

/** One look at a case. Gives what it leaves of the budget of all. */
export async function treat(
  services: RecoveryServices,
  nodeId: string,
  patient: RecoveryCase,
  fleet: FleetFacts,
  context: TreatmentContext,
): Promise<FleetFacts> {
  const { now, rows, cache } = context;
  const { nodes, duties } = services;
  const row = nodes.row(nodeId);
  const node = row && nodes.view(row);
  const request = rows.get(recoveryRequests, nodeId);
  if (request !== undefined) rows.delete(recoveryRequests, nodeId);
  const facts = await patientFacts(services, node, patient.rung !== "observe");
  const policy = policyOf(services);
  const failure = await pursue(services, nodeId, cache);
  // Whoever was asked for power refused: there is nothing to wait for.
  const step = nextStep(failure === undefined ? patient : { ...patient, rung_since: 0 }, facts, fleet, now, policy);
  if (step.kind === "close" || node === undefined || request?.rung === "observe") {
    const isWell = step.kind !== "close" || step.outcome === "recovered";
    const outcome =
      request?.rung === "observe" ? `${request.by} took it for well` : isWell ? "it is well again" : "its node left";
    closeCase(services, nodeId, patient, { isWell, outcome }, context);
    return fleet;
  }
  const mayPerson = request !== undefined && whyNotNow(request.rung, facts, fleet, policy) === undefined;
  const wish: Wish | undefined = mayPerson
    ? request
    : step.kind === "act"
      ? { rung: step.rung, by: SELF, reason: patient.reason }
      : undefined;
  if (wish === undefined) {
    if (step.kind === "wait") keepWaiting(nodeId, patient, step, context);
    return fleet;
  }
  // Before anything ends on it, what it holds is others'.
  if (isHard(wish.rung)) await duties.fence(nodeId, `its node is being repaired: ${wish.reason}`);
  const skipped = [...(step.kind === "act" ? step.skipped : []), ...(failure === undefined ? [] : [failure])];
  begin(services, node, patient, wish, evidenceOf(facts, fleet, patient, skipped), context);
  return isHard(wish.rung) ? { ...fleet, acting: fleet.acting + 1, actsLastHour: fleet.actsLastHour + 1 } : fleet;
}
