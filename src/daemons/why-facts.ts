import type { EventRouter, Store } from "../router/index.ts";
import { eventRouterDefaults, watchRules } from "./limits.ts";
import type { DaemonManager } from "./supervisor/daemon-manager.ts";
import type { Registry } from "./unit/registry.ts";
import type { UnitRuntime } from "./unit/runtime.ts";
import { pendingOf } from "./units/dlq-retry/letters.ts";
import type { WhyFacts } from "./why.ts";

export interface WhySources {
  readonly now: number;
  readonly registry: Pick<Registry, "units">;
  readonly manager: Pick<DaemonManager, "getStatus">;
  readonly runtime: Pick<UnitRuntime, "status" | "lastBeats">;
  readonly router: Pick<EventRouter, "nodeId" | "consumerLag">;
  readonly store: Pick<Store, "read">;
  readonly profile?: WhyFacts["profile"];
}

/** Takes the facts that `why` judges from a running process. */
export function whyFacts({ now, registry, manager, runtime, router, store, profile }: WhySources): WhyFacts {
  return {
    now,
    nodeId: router.nodeId,
    units: registry.units,
    daemons: manager.getStatus(),
    status: (unit) => runtime.status([unit])[0],
    profile,
    beats: runtime.lastBeats(),
    deadLetters: (consumer) => pendingOf(store, consumer),
    lag: router.consumerLag(),
    limits: { heartbeatMs: watchRules.lateMs, lag: eventRouterDefaults.lagWarning },
  };
}
