/** What people ask about repairs and want done: the plan as it would be carried out now, a wish, and the history. */
import { OperatingError } from "../kernel/index.ts";
import { createWriteSet } from "../router/index.ts";
import { recoveryCases, recoveryRequests } from "./recovery/recovery-book.ts";
import type { RecoveryCase } from "./recovery/recovery-case.ts";
import { type ActFilter, listActs, type RecoveryAct } from "./recovery/recovery-rows.ts";
import { ladderFor, type Rung } from "./recovery/rungs.ts";
import { nextStep, type Step, unreadyShare, whyNotNow } from "./units/node-recovery/decide.ts";
import { fleetFacts, isPatient, patientFacts, policyOf, type RecoveryServices } from "./units/node-recovery/facts.ts";

/** A node that is ill, where it stands on the ladder, and what comes next. */
export interface PlannedRepair extends Pick<RecoveryCase, "reason" | "rung" | "rung_since" | "attempts" | "opened_at"> {
  readonly node_id: string;
  readonly label: string;
  readonly condition: string;
  readonly ladder: readonly Rung[];
  /** What would be done now; null while nothing would. */
  readonly next: Rung | null;
  /** Why nothing is done now; null where something would. */
  readonly waits: string | null;
  readonly held: number;
  readonly moving: number;
  readonly alone: number;
  readonly skipped: readonly string[];
}

export interface RecoveryPlan {
  readonly nodes: number;
  readonly unready: number;
  /** Too many are not ready: nothing is done but telling. */
  readonly suspended: boolean;
  readonly enabled: boolean;
  readonly acts_last_hour: number;
  readonly acts_per_hour: number;
  readonly repairs: readonly PlannedRepair[];
}

export interface WishedRepair {
  readonly node_id: string;
  readonly label: string;
  readonly rung: Rung;
  /** Why it may not be done now; null if it may. */
  readonly refused: string | null;
  readonly applied: boolean;
}

export type RecoveryConsole = ReturnType<typeof createRecoveryConsole>;

const nextOf = (step: Step): Pick<PlannedRepair, "next" | "waits" | "skipped"> => {
  if (step.kind === "act") return { next: step.rung, waits: null, skipped: step.skipped };
  return { next: null, waits: step.kind === "wait" ? step.why : "it is well again", skipped: [] };
};

export function createRecoveryConsole(services: RecoveryServices) {
  const { store, clock, nodes } = services;
  const policy = policyOf(services);

  const caseOf = (nodeId: string): RecoveryCase | undefined => createWriteSet(store).get(recoveryCases, nodeId);

  /** What would be done now. Nothing of it happens. */
  const plan = async (): Promise<RecoveryPlan> => {
    const now = clock.now();
    const fleet = fleetFacts(services, now);
    const repairs: PlannedRepair[] = [];
    for (const node of nodes.list().filter(isPatient)) {
      const patient = caseOf(node.node_id);
      // It was found a moment ago, and is watched from the next look on.
      if (patient === undefined) continue;
      const facts = await patientFacts(services, node, false);
      const { reason, rung, rung_since, attempts, opened_at } = patient;
      repairs.push({
        node_id: node.node_id,
        label: node.label,
        condition: facts.condition,
        ...{ reason, rung, rung_since, attempts, opened_at },
        ladder: ladderFor(facts.check),
        ...{ held: facts.held, moving: facts.moving, alone: facts.alone },
        ...nextOf(nextStep(patient, facts, fleet, now, policy)),
      });
    }
    return {
      nodes: fleet.nodes,
      unready: fleet.unready,
      suspended: unreadyShare(fleet) > policy.suspendAbove,
      enabled: !fleet.isOff,
      acts_last_hour: fleet.actsLastHour,
      acts_per_hour: policy.actsPerHour,
      repairs,
    };
  };

  return {
    plan,
    history: (filter: ActFilter): RecoveryAct[] => listActs(store, filter),
    caseOf,
    /** Somebody wants a rung now, and not only in its turn. The guards hold for them as well. */
    async wish(
      name: string,
      rung: Rung | undefined,
      by: { actor: string; reason?: string | undefined; dryRun: boolean },
    ): Promise<WishedRepair> {
      const now = clock.now();
      const row = nodes.find(name);
      const patient = caseOf(row.node_id);
      if (patient === undefined)
        throw OperatingError.conflict("NODE_NOT_ILL", `${row.label} is not being repaired: its checks pass`, {
          hint: "To take work from a healthy node: 'ringrift nodes drain <node>'.",
        });
      const facts = await patientFacts(services, nodes.view(row), false);
      const fleet = fleetFacts(services, now);
      const step = nextStep({ ...patient, rung_since: 0 }, facts, fleet, now, policy);
      const wanted = rung ?? (step.kind === "act" ? step.rung : step.kind === "wait" ? step.next : null) ?? "person";
      // Whoever says that a node is well does nothing to it. Refused, many of them would keep repairs suspended for ever.
      const refused = wanted === "observe" ? null : (whyNotNow(wanted, facts, fleet, policy)?.why ?? null);
      const found = { node_id: row.node_id, label: row.label, rung: wanted, refused };
      if (by.dryRun) return { ...found, applied: false };
      if (refused !== null)
        throw OperatingError.conflict("REPAIR_REFUSED", `${row.label} is left alone: ${refused}`, {
          hint: "See 'ringrift recovery plan'. It is done in its turn, when this has passed.",
        });
      const rows = createWriteSet(store);
      const reason = by.reason ?? `asked for by ${by.actor}`;
      rows.put(recoveryRequests, row.node_id, { rung: wanted, by: by.actor, reason, at: now });
      await store.commit(rows.operations());
      return { ...found, applied: true };
    },
  };
}
