import type { ReadRows } from "../../daemons/index.ts";
import { iterations, type Wait } from "../iteration.ts";
import { goals } from "../selfplay/goals.ts";
import { exportWork, isFor, selfplayWork, syncWork } from "../stage-work.ts";
import { parities } from "./parity-row.ts";
import { suspects, suspectsIn } from "./suspects.ts";

/** Who waits for what between the first game and the training file, for `why`. */
export function waitsOfData(rows: Pick<ReadRows, "get">, configKey: string): (Wait & { readonly unit: string })[] {
  const iteration = rows.get(iterations, configKey);
  if (iteration === undefined) return [];
  const of = (unit: string, row: { iteration: number; attempt: number; waits: readonly Wait[] } | undefined) =>
    row !== undefined && isFor(row, iteration) ? row.waits.map((wait) => ({ unit, ...wait })) : [];
  const away = suspectsIn(rows.get(suspects, configKey), iteration.iteration);
  const known = rows.get(suspects, configKey) ?? {};
  switch (iteration.stage) {
    case "selfplay":
      return [
        ...(rows.get(goals, configKey)?.waits ?? []).map((wait) => ({ unit: "queue_populator", ...wait })),
        ...of("selfplay_orchestrator", rows.get(selfplayWork, configKey)),
        ...away.map((producer) => ({
          unit: "quality_monitor_daemon",
          for: `producer ${producer}`,
          actual: `it plays nothing: ${known[producer]!.reasons.join(", ")}`,
          required: `iteration ${known[producer]!.until_iteration}`,
          since: known[producer]!.since,
        })),
      ];
    case "data_sync":
      return [
        ...of("parity_validator", rows.get(parities, configKey)),
        ...of("quality_monitor_daemon", rows.get(syncWork, configKey)),
      ];
    case "npz_export":
      return of("auto_export_daemon", rows.get(exportWork, configKey));
    default:
      return [];
  }
}
