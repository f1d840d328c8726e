import type { Wiring } from "../../../../daemons/index.ts";
import { regressions } from "../../../evaluation/index.ts";
import { champions } from "../../../models/index.ts";
import { defineConfigUnit, everyMs, type StageServices } from "../../../stage/index.ts";
import { rollbacks } from "../../../training/index.ts";
import { REFUSALS, refusalWords, rollBack } from "../../roll-back.ts";
import { refusedRollbacks } from "../../tables.ts";

const wiring = {
  name: "model_rollback",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  alsoKnownAs: ["RecoveryOrchestrator"],
  dependsOn: ["model_performance_watchdog", "model_coordinator"],
  emits: ["PROMOTION_ROLLED_BACK", "TRAINING_ROLLBACK_COMPLETED"],
} as const satisfies Wiring;

/**
 * Decides the way back: a champion that is severely or critically weaker, or broken, makes room for the last good one. Never
 * twice for one model, and never to one that was withdrawn itself. It has a loop, as a lost event must not leave a weak
 * champion in its place.
 */
export const modelRollback = (services: StageServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { rollbacks, refusedRollbacks } },
    wakes: ["REGRESSION_SEVERE", "REGRESSION_CRITICAL", "TRAINING_ROLLBACK_NEEDED"],
    everyMs: everyMs(services),
    look: (look) => {
      const { log, now, configKey } = look;
      const regression = look.row(regressions);
      const champion = look.row(champions);
      if (regression?.state !== "regressed" || regression.generation !== champion?.generation) return;
      const { reason, excluded } = regression;
      const outcome = rollBack(look, services.store, { configKey, reason, by: wiring.name, except: excluded });
      if (!("refused" in outcome))
        return log.warn("a champion was withdrawn", { config_key: configKey, ...outcome, reason });
      if (look.row(refusedRollbacks)?.generation === champion.generation) return;
      const { refused, actual, required } = outcome;
      log.error("a champion could not be withdrawn", { config_key: configKey, why: REFUSALS[refused], reason });
      look.put(refusedRollbacks, {
        generation: champion.generation,
        waits: [{ for: "rollback", about: { refused }, actual, required, since: now }],
      });
    },
    health: ({ rows }) => {
      const stuck = rows
        .list(refusedRollbacks)
        .filter(([key, { generation }]) => rows.get(champions, key)?.generation === generation);
      return {
        status: stuck.length === 0 ? "running" : "degraded",
        message: stuck.map(([key, { waits }]) => `${key}: ${refusalWords(waits[0]!)}`).join(", "),
      };
    },
  });
