/** What repairs are decided by, taken from a running process at one moment. */
import { isIll } from "../../node-health/conditions.ts";
import type { NodeView } from "../../nodes/node-view.ts";
import { hardActsSince, lastUsed } from "../../recovery/recovery-rows.ts";
import type { ClusterServices } from "../../services.ts";
import { type FleetFacts, type PatientFacts, type RecoveryPolicy, recoveryDefaults } from "./decide.ts";

export type RecoveryServices = Pick<
  ClusterServices,
  "store" | "clock" | "nodes" | "health" | "recovery" | "duties" | "power" | "settings" | "reach"
>;

const HOUR_MS = 3_600_000;

export const policyOf = ({ settings: { recovery } }: Pick<RecoveryServices, "settings">): RecoveryPolicy => ({
  ...recoveryDefaults,
  observeMs: recovery.observeMs,
  patienceMs: recovery.patienceMs,
  actsPerHour: recovery.actsPerHour,
});

/** Whoever has come and has not left is expected. Workers with a token owe nobody anything. */
const isExpected = ({ state, with_token }: NodeView): boolean =>
  !with_token && (state === "online" || state === "suspect" || state === "dead");

export function fleetFacts({ store, nodes, recovery, settings }: RecoveryServices, now: number): FleetFacts {
  const expected = nodes.list().filter(isExpected);
  const unready = expected.filter(({ state, health }) => state !== "online" || isIll(health.condition));
  return {
    nodes: expected.length,
    unready: unready.length,
    actsLastHour: hardActsSince(store, now - HOUR_MS),
    acting: recovery.acting,
    isOff: !settings.recovery.enabled,
  };
}

/** A node that is meant to be there and is ill. */
export const isPatient = ({ state, health }: NodeView): boolean =>
  isIll(health.condition) && state !== "left" && state !== "joined";

/** `order`: what lies nowhere else is brought home. */
export async function patientFacts(
  { store, health, duties, power, reach }: RecoveryServices,
  node: NodeView | undefined,
  order: boolean,
): Promise<PatientFacts> {
  if (node === undefined || node.state === "left" || node.state === "joined") return GONE;
  const { node_id, local, with_token, state, spool } = node;
  const { condition, check } = health.get(node_id) ?? { condition: "healthy", check: null };
  const held = duties.held(node_id);
  return {
    condition,
    check,
    isGone: false,
    isLocal: local,
    isReachable: !with_token && !local && (state === "online" || state === "suspect"),
    held: held.jobs,
    moving: held.moving,
    alone: (await duties.alone(node_id, { order })) + (spool?.waiting ?? 0),
    // One that beats says itself how it does.
    reachedBy: state === "online" || reach.isLost(node_id) ? 0 : (reach.of(node_id)?.by ?? 0),
    repair: node.policy?.repair ?? "replace",
    canReboot: power.ableTo(node_id, "reboot") !== undefined,
    canReplace: power.ableTo(node_id, "replace") !== undefined,
    lastUsed: lastUsed(store, node_id),
  };
}

const GONE: PatientFacts = {
  condition: "healthy",
  check: null,
  isGone: true,
  isLocal: false,
  isReachable: false,
  held: 0,
  moving: 0,
  alone: 0,
  reachedBy: 0,
  repair: "replace",
  canReboot: false,
  canReplace: false,
  lastUsed: {},
};
