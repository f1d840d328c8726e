/** Where a daemon type is started by its name: a world in which its unit is stopped first, and then seen at work. */
import { DaemonManager, type Unit } from "../../../src/daemons/index.ts";
import { type DaemonType, daemonTypes } from "../../../src/daemons/legacy.ts";
import { seededRandom, silentLog } from "../../../src/kernel/index.ts";
import type { UnitWorld } from "../../fixtures/unit-world.ts";

export interface Scene {
  readonly manager: DaemonManager;
  driven<T>(work: Promise<T>): Promise<T>;
  /** What its unit acts upon; it happens while nobody runs it. */
  before?(): unknown;
  /** So long as it takes to see it at work. */
  live(isStarted: boolean): Promise<unknown>;
  /** What there is to see of its work. */
  seen(): unknown;
  /** What that is before somebody has started it: no list of anything unless said. */
  readonly idle?: unknown;
  readonly shows: unknown;
  close(): Promise<unknown>;
}

export interface Shown {
  /** The unit that does its work. */
  readonly unit: string;
  readonly does: string;
  readonly open: (type: DaemonType) => Scene | Promise<Scene>;
}

export type ShownTypes = { readonly [N in DaemonType]?: Shown };

export const allTypes = Object.keys(daemonTypes) as DaemonType[];

/** These units, under a supervisor that starts daemons by their name. */
export async function supervised<W extends Pick<UnitWorld<never>, "clock" | "driven" | "runtime">>(
  w: W,
  units: readonly Unit[],
): Promise<DaemonManager> {
  const manager = new DaemonManager({
    ...{ clock: w.clock, random: seededRandom(2), log: silentLog(), nodeId: "n1", pid: 1 },
  });
  await w.driven(w.runtime(units, { manager }).start());
  return manager;
}

/** What of these events was told, oldest first, each as one line. */
export const toldIn =
  (
    { router }: { readonly router: { history(options: object): readonly { eventType: string; payload: unknown }[] } },
    types: readonly string[],
    ...fields: readonly string[]
  ) =>
  (): string[] =>
    router
      .history({ fromJournal: true, limit: 10_000 })
      .filter(({ eventType }) => types.includes(eventType))
      .map(({ eventType, payload }) =>
        [eventType, ...fields.map((field) => String((payload as Record<string, unknown>)[field]))].join(" "),
      );
