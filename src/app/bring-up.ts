import { graphError, profileFaults, type Registry, type UnitOutcome, type UnitRuntime } from "../daemons/index.ts";
import type { PayloadFor } from "../events/index.ts";
import { type Clock, type Log, messageOf, sleep } from "../kernel/index.ts";
import type { EventRouter } from "../router/index.ts";
import { type BootstrapStatus, bootstrapStatus, chooseUnits, type FeatureSwitches } from "./bootstrap-status.ts";

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

/** The units of a process on their way up, layer by layer, and down again. */
export interface BringUp {
  /** Brings up what is switched on and not up yet. Errors are collected by unit; only a broken plan throws. */
  start(enable?: FeatureSwitches): Promise<BootstrapStatus>;
  status(): BootstrapStatus;
  /** Says that the units end in order, so that their silence is no loss. */
  sayGoodbye(reason: string): Promise<void>;
}

const SOURCE = "bootstrap";
/** At the end of a process a disk in trouble is not waited for longer than this. */
const GOODBYE_MS = 1_000;

type Word = {
  [N in
    | "COORDINATOR_HEALTHY"
    | "COORDINATOR_INIT_FAILED"
    | "COORDINATOR_SHUTDOWN"
    | "STARTUP_STATE_VALIDATED"]: readonly [N, PayloadFor<N>];
}["COORDINATOR_HEALTHY" | "COORDINATOR_INIT_FAILED" | "COORDINATOR_SHUTDOWN" | "STARTUP_STATE_VALIDATED"];

export function createBringUp(options: BringUpOptions): BringUp {
  const { registry, units, router, clock, log, profile } = options;
  const { nodeId } = router;
  const startedAt = clock.now();
  let completedAt: number | null = null;
  let switches: FeatureSwitches = {};
  let leftOut: ReadonlyMap<string, string> = new Map();
  /** What was said of each unit last: it is said again only when it changes. */
  const said = new Map<string, string | null>();

  const say = async (words: readonly Word[]): Promise<void> => {
    const known = words.filter(([type]) => router.catalog.row(type) !== undefined);
    await router.publishAll(
      known.map(([type, payload]) => router.prepare(type, payload, { source: SOURCE }, "strict")),
    );
  };

  const wordFor = ({ name, layer, error }: UnitOutcome): Word => {
    const about = { coordinator_name: name, node_id: nodeId };
    const { hears = [] } = registry.units.find((unit) => unit.name === name) ?? {};
    return error === null
      ? ["COORDINATOR_HEALTHY", { ...about, subscriptions: hears.length }]
      : ["COORDINATOR_INIT_FAILED", { ...about, error: error.slice(0, 2_000), layer }];
  };

  const tell = async (): Promise<void> => {
    const news = units.outcomes().filter(({ name, error }) => !said.has(name) || said.get(name) !== error);
    const problems = [...units.outcomes().flatMap(({ name, error }) => (error === null ? [] : [`${name}: ${error}`]))];
    problems.push(...options.problems());
    await say([
      ...news.map(wordFor),
      [
        "STARTUP_STATE_VALIDATED",
        { node_id: nodeId, passed: problems.length === 0, problems: problems.map((text) => text.slice(0, 2_000)) },
      ],
    ]);
    for (const { name, error } of news) said.set(name, error);
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
    async start(enable = {}) {
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
      await tell().catch((thrown: unknown) => log.error("the start was not told", { error: messageOf(thrown) }));
      return status();
    },
    status,
    async sayGoodbye(reason) {
      const up = units.outcomes().filter(({ subscribed }) => subscribed);
      const waiting = new AbortController();
      const words = up.map(
        ({ name }): Word => ["COORDINATOR_SHUTDOWN", { coordinator_name: name, node_id: nodeId, reason }],
      );
      await Promise.race([
        say(words).catch((thrown: unknown) => log.warn("the end was not told", { error: messageOf(thrown) })),
        sleep(clock, GOODBYE_MS, waiting.signal),
      ]).finally(() => waiting.abort());
    },
  };
}
