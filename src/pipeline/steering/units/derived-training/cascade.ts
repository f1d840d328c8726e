import { defined, sumOf } from "../../../../kernel/index.ts";
import { championAfter } from "../../../models/index.ts";
import {
  type CascadeStart,
  type ConfigLook,
  cascadeStarts,
  type Iteration,
  iterations,
  type StageServices,
} from "../../../stage/index.ts";
import { gatesBefore, type JudgedGate, judgeGates } from "../../gates.ts";

/**
 * Whether a config is good enough for one of more players to begin with its network, by its gates alone: so each run of a seed sees the
 * same. A plateau counts too, and so does its end: waiting longer would bring nothing.
 */
export function readyToPass(
  gates: readonly JudgedGate[],
  wanted: number,
  at: Pick<Iteration, "iteration" | "state"> | undefined,
): Pick<CascadeStart, "iteration" | "promotions" | "reason"> | undefined {
  let promotions = 0;
  for (const { iteration, isPromoted, isPlateau } of gates) {
    if (isPromoted) promotions += 1;
    if (promotions >= wanted) return { iteration, promotions, reason: `its gates promoted ${promotions} candidates` };
    if (isPlateau) return { iteration, promotions, reason: "it stands on a plateau" };
  }
  return at?.state === "complete" ? { iteration: at.iteration, promotions, reason: "it has ended" } : undefined;
}

/** Lets a config of more players begin, once the one before it in the cascade is good enough. It is said once. */
export function passOn({ store }: StageServices, look: ConfigLook<"TRAINING_THRESHOLD_REACHED">): void {
  const { plan, row, rows, put, emit, now, configKey: config_key } = look;
  // A plan of an older version says nothing of it.
  const cascade = plan.cascade ?? null;
  if (cascade === null || plan.start_from !== null || look.paused !== null || row(cascadeStarts) !== undefined) return;
  const gates = judgeGates(gatesBefore(store, cascade.config_key));
  const ready = readyToPass(gates, cascade.promotions, rows.get(iterations, cascade.config_key));
  if (ready === undefined) return;
  put(cascadeStarts, { config_key: cascade.config_key, ...ready, at: now });
  const base_model_id = championAfter(store, cascade.config_key, ready.iteration);
  const games = Math.max(
    1,
    sumOf(gates, (gate) => gate.games),
  );
  emit.TRAINING_THRESHOLD_REACHED({
    ...{ config_key, games, required_games: 1, training_kind: "cascade", ...defined({ base_model_id }) },
    reason: `begins with the network of ${cascade.config_key} after its iteration ${ready.iteration}: ${ready.reason}`,
  });
}
