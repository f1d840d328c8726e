import type { Shell } from "../../surfaces/commands/index.ts";
import { plansFor } from "../pipeline/plans.ts";
import type { Settings } from "../settings.ts";
import { workloadList } from "../worker/workload-list.ts";
import { createTrainGuest } from "./train/train-guest.ts";
import type { MainGuest } from "./up/main-guest.ts";

/** What `ringrift up` shows and leaves behind where it trains configs: the loop, and a report at the end. */
export function pipelineGuest(settings: Settings, shell: Shell, isHeadless: boolean): MainGuest {
  const { configFile, worker, loop } = settings;
  const workloads = workloadList(configFile, worker.graceMs / 1_000);
  return createTrainGuest({
    settings,
    shell,
    plans: plansFor(loop.configs, {}, { configFile, workloads }),
    forMs: undefined,
    report: undefined,
    plain: !shell.io.isTerminal || isHeadless || shell.json,
    command: "ringrift up",
    stays: true,
  });
}
