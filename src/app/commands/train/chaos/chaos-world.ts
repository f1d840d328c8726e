import type { Rows } from "../../../../events/index.ts";
import type { Shell } from "../../../../surfaces/commands/index.ts";
import { createArtifactCatalog } from "../../../../sync/index.ts";
import type { Coordination } from "../../../bootstrap.ts";
import type { WantedPlan } from "../../../pipeline/plans.ts";
import type { Settings } from "../../../settings.ts";
import type { LocalWorker } from "../../../worker/local-worker.ts";
import type { ChaosWorld } from "./act.ts";

/** The running system, as chaos sees it: its own books, the worker that it may kill, and the door for one more node. */
export function chaosWorldOf(
  main: Coordination<Rows>,
  worker: LocalWorker,
  {
    settings,
    plans,
    shell,
  }: { readonly settings: Settings; readonly plans: readonly WantedPlan[]; readonly shell: Shell },
): Omit<ChaosWorld, "random" | "clock" | "log"> {
  const { store } = main.router;
  const { port, socketPath, secure } = main.api;
  return {
    store,
    catalog: createArtifactCatalog({ store, clock: shell.clock }),
    dataDir: settings.dataDir,
    nodeId: settings.nodeId,
    worker,
    env: shell.io.env,
    url: new URL(`${secure ? "https" : "http"}://127.0.0.1:${port}`),
    socketPath,
    configKeys: plans.map(({ plan }) => plan.config_key),
  };
}
