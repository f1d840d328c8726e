import { graphError, profileFaults, type Registry, type UnitOutcome, type UnitRuntime } from "../daemons/index.ts";
import type { PayloadFor } from "../events/index.ts";
import { type Clock, type Log, messageOf, sleep } from "../kernel/index.ts";
import type { EventRouter } from "../router/index.ts";
import {
  type BootstrapStatus,
  bootstrapStatus,
  checkSwitches,
  chooseUnits,
  type FeatureSwitches,
} from "./bootstrap-status.ts";

export interface BringUpOptions {
  readonly registry: Registry;
  readonly units: UnitRuntime;
  readonly router: EventRouter;
  readonly clock: Clock;
  readonly log: Log;
  readonly profile: { readonly name: string; readonly members: readonly string[] };
  /** What stands in the way of serving besides the units: told with the start. */
  readonly problems: () => readonly string[];
}

const SOURCE = "bootstrap";
/** At the end of a process a disk in trouble is not waited for longer than this. */
const GOODBYE_MS = 1_000;

type Emitted = "COORDINATOR_HEALTHY" | "COORDINATOR_INIT_FAILED" | "COORDINATOR_SHUTDOWN" | "STARTUP_STATE_VALIDATED";
type Emission = { [N in Emitted]: readonly [N, PayloadFor<N>] }[Emitted];

/** The units of a process on their way up, layer by layer, and down again. */
export function createBringUp(options: BringUpOptions) {
  const { registry, units, router, clock, log, profile } = options;
  const { nodeId } = router;
  const startedAt = clock.now();
  let completedAt: number | null = null;
  let switches: FeatureSwitches = {};
  let leftOut: ReadonlyMap<string, string> = new Map();
  /** What was emitted of each unit last: it is emitted again only when it changes. */
  const emitted = new Map<string, string | null>();

  const emit = async (all: readonly Emission[]): Promise<void> => {
    const known = all.filter(([type]) => router.catalog.row(type) !== undefined);
    await router.publishAll(
      known.map(([type, payload]) => router.prepare(type, payload, { source: SOURCE }, "strict")),
    );
  };

  const emissionOf = ({ name, layer, error }: UnitOutcome): Emission => {
    const about = { coordinator_name: name, node_id: nodeId };
    const { hears = [] } = registry.units.find((unit) => unit.name === name) ?? {};
    return error === null
      ? ["COORDINATOR_HEALTHY", { ...about, subscriptions: hears.length }]
      : ["COORDINATOR_INIT_FAILED", { ...about, error: error.slice(0, 2_000), layer }];
  };

  const emitStart = async (): Promise<void> => {
    const news = units.outcomes().filter(({ name, error }) => !emitted.has(name) || emitted.get(name) !== error);
    const problems = [...status().errors, ...options.problems()];
    await emit([
      ...news.map(emissionOf),
      [
        "STARTUP_STATE_VALIDATED",
        { node_id: nodeId, passed: problems.length === 0, problems: problems.map((text) => text.slice(0, 2_000)) },
      ],
    ]);
    for (const { name, error } of news) emitted.set(name, error);
  };

  const status = () =>
    bootstrapStatus({
      profile: profile.name,
      startedAt,
      completedAt,
      units: registry.units,
      outcomes: units.outcomes(),
      leftOut,
    });

  return {
    /** Brings up what is switched on and not up yet. Errors are collected by unit; only a broken plan throws. */
    async start(enable: FeatureSwitches = {}): Promise<BootstrapStatus> {
      checkSwitches(enable, registry.units);
      switches = { ...switches, ...enable };
      const plan = chooseUnits(registry.units, profile, switches);
      const here = new Set(registry.units.map(({ name }) => name));
      const nodes = registry.units.map(({ name, dependsOn }) => ({
        name,
        dependsOn: dependsOn.filter((on) => here.has(on)),
      }));
      const [fault] = profileFaults(profile.name, plan.chosen, nodes);
      if (fault !== undefined) throw graphError(fault);
      leftOut = plan.leftOut;
      await units.start(plan.chosen);
      completedAt = clock.now();
      await emitStart().catch((thrown: unknown) =>
        log.error("the start could not be reported", { error: messageOf(thrown) }),
      );
      return status();
    },
    status,
    /** Emits that the units end in order, so that their silence is no loss. */
    async emitEnd(reason: string): Promise<void> {
      const up = units.outcomes().filter(({ subscribed }) => subscribed);
      const waiting = new AbortController();
      const ends = up.map(
        ({ name }): Emission => ["COORDINATOR_SHUTDOWN", { coordinator_name: name, node_id: nodeId, reason }],
      );
      await Promise.race([
        emit(ends).catch((thrown: unknown) => log.warn("the end could not be reported", { error: messageOf(thrown) })),
        sleep(clock, GOODBYE_MS, waiting.signal),
      ]).finally(() => waiting.abort());
    },
  };
}

export type BringUp = ReturnType<typeof createBringUp>;
