import type { ReadRows } from "../../daemons/index.ts";
import { iterations } from "../iteration.ts";
import { selfplayOrders } from "../selfplay/selfplay-order.ts";
import { evaluationWork, exportWork, isFor, type StageWork, trainingWork } from "../stage-work.ts";
import type { Stage } from "../stages.ts";
import { parities } from "./parity-row.ts";

type Turn = Pick<StageWork, "iteration" | "attempt" | "jobs">;

const rowOf = (rows: Pick<ReadRows, "get">, configKey: string, stage: Stage): Turn | undefined => {
  switch (stage) {
    case "selfplay":
      return rows.get(selfplayOrders, configKey);
    case "data_sync":
      return rows.get(parities, configKey);
    case "npz_export":
      return rows.get(exportWork, configKey);
    case "training":
      return rows.get(trainingWork, configKey);
    case "evaluation":
      return rows.get(evaluationWork, configKey);
    default:
      return undefined;
  }
};

/** The jobs that the stage of now has in the queue. */
export function stageJobs(rows: Pick<ReadRows, "get">, configKey: string): string[] {
  const at = rows.get(iterations, configKey);
  const row = at === undefined ? undefined : rowOf(rows, configKey, at.stage);
  return row !== undefined && isFor(row, at!) ? Object.values(row.jobs) : [];
}
