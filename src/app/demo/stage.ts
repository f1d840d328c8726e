import { type Clock, isOperatingError, type OperatingError, silentLog } from "../../kernel/index.ts";
import {
  consumerStatus,
  countPairs,
  type DeadLetter,
  headSeq,
  type PairState,
  pairsOfEvent,
} from "../../router/index.ts";
import { bootstrapCoordination, type Coordination } from "../bootstrap.ts";
import type { Settings } from "../settings.ts";
import { createMember, type Member } from "./crew.ts";
import { CAUSE, EFFECT, type Role } from "./messages.ts";

export type Main = Coordination<never>;

/** Who wants what. */
const TYPES: Readonly<Record<Exclude<Role, "selfplay">, readonly string[]>> = {
  data_pipeline: [CAUSE],
  scoreboard: [CAUSE, EFFECT],
};

/** Quick tries, so that a dead letter can be watched being born. */
const quick = (settings: Settings, port: number): Settings => ({
  ...settings,
  port,
  router: { ...settings.router, retryFirstMs: 50, retryMostMs: 200 },
});

/** The main process of the demo: this one. A taken port is no reason to fail: nobody needs a certain one here. */
export async function startMain(settings: Settings, clock: Clock): Promise<Main> {
  const start = (port: number) =>
    bootstrapCoordination({ settings: quick(settings, port), clock, log: silentLog() }) as unknown as Promise<Main>;
  try {
    return await start(settings.port);
  } catch (thrown) {
    if (!isOperatingError(thrown, "PORT_IN_USE")) throw thrown;
    return start(0);
  }
}

/** How a consumer stands, as the journal knows it. */
export interface Standing {
  readonly role: "data_pipeline" | "scoreboard";
  readonly pid: number | undefined;
  readonly kills: number;
  readonly done: number;
  /** Owed and not done yet. */
  readonly behind: number;
}

export interface Seen {
  readonly seq: number;
  readonly eventType: string;
  readonly eventId: string;
  readonly source: string;
  readonly key: string;
  readonly deliveries: readonly { readonly consumer: string; readonly state: PairState }[];
}

export interface Snapshot {
  readonly elapsedMs: number;
  readonly published: number;
  readonly publisherPid: number | undefined;
  readonly standings: readonly Standing[];
  readonly deadLetters: Readonly<Record<DeadLetter["status"], number>>;
  readonly newestLetter: DeadLetter | undefined;
  readonly last: readonly Seen[];
}

/** The processes of the demo, and what can be seen of them. */
export interface Stage {
  readonly main: Main;
  readonly publisher: Member;
  readonly pipeline: Member;
  readonly scoreboard: Member;
  /** Why it cannot go on: a process ended by itself. */
  readonly crash: OperatingError | undefined;
  /** The time counts from here. */
  begin(): void;
  snapshot(): Snapshot;
  /** What a consumer is owed and not done with. */
  behind(role: Standing["role"]): number;
  /** Whether every consumer is done with everything, and no letter is left. */
  settled(): boolean;
  /** The stage's own dead letters. */
  letterCounts(): Readonly<Record<DeadLetter["status"], number>>;
  pendingLetters(): DeadLetter[];
  /** How many events of a type were committed since the stage was set. */
  committed(type: string): number;
  /** By consumer and state, since the stage was set. */
  pairs(): ReadonlyMap<string, Readonly<Partial<Record<PairState, number>>>>;
  readonly startSeq: number;
}

const LAST_EVENTS = 8;

export function createStage(main: Main, clock: Clock, ratePerSecond: number): Stage {
  const { router } = main;
  const { store } = router;
  let crash: OperatingError | undefined;
  const member = (role: Role) =>
    createMember({
      clock,
      worker: { role, dataDir: main.settings.dataDir, ratePerSecond },
      onCrash: (error) => {
        crash ??= error;
      },
    });
  const [publisher, pipeline, scoreboard] = [member("selfplay"), member("data_pipeline"), member("scoreboard")];
  const startSeq = headSeq(store);
  let startedAt = clock.monotonic();
  const routed = () => router.statistics.report().events_routed;
  const before = routed();
  const committed = (type: string) => (routed()[type] ?? 0) - (before[type] ?? 0);
  const countedBefore = tally(countPairs(store));

  const waiting = (role: Standing["role"]): number => {
    const types = TYPES[role];
    const marks = types.map(() => "?").join(", ");
    const [row] = store.read<{ n: number }>(
      `SELECT (SELECT count(*) FROM events e JOIN consumers c ON c.consumer = ? WHERE e.event_type IN (${marks})
                 AND e.seq > max(c.low_water, ?))
            - (SELECT count(*) FROM deliveries WHERE consumer = ? AND state = 'done')
            + (SELECT count(*) FROM deliveries d JOIN consumers c USING (consumer)
               WHERE consumer = ? AND state IN ('parked', 'retrying') AND d.seq <= c.low_water) AS n`,
      role,
      ...types,
      startSeq,
      role,
      role,
    );
    return Math.max(0, row?.n ?? 0);
  };
  // A folder that was given may hold letters of others: they are not ours to touch.
  const letterCounts = () => {
    const counts = { pending: 0, retrying: 0, recovered: 0, discarded: 0 };
    for (const { status, n } of store.read<{ status: keyof typeof counts; n: number }>(
      "SELECT status, count(*) AS n FROM dead_letters WHERE consumer IN (?, ?) AND seq > ? GROUP BY status",
      ...Object.keys(TYPES),
      startSeq,
    ))
      counts[status] = n;
    return counts;
  };
  const pendingLetters = () =>
    Object.keys(TYPES)
      .flatMap((consumer) => router.deadLetters.getPendingEvents(100, { consumer }))
      .filter(({ seq }) => seq > startSeq);
  const standing = (of: Member): Standing => {
    const role = of.role as Standing["role"];
    const owed = TYPES[role].reduce((sum, type) => sum + committed(type), 0);
    const behind = Math.min(owed, waiting(role));
    return { role, pid: of.pid, kills: of.kills, done: owed - behind, behind };
  };
  return {
    main,
    publisher,
    pipeline,
    scoreboard,
    startSeq,
    committed,
    get crash() {
      return crash;
    },
    begin() {
      startedAt = clock.monotonic();
    },
    behind: waiting,
    letterCounts,
    pendingLetters,
    snapshot: () => ({
      elapsedMs: clock.monotonic() - startedAt,
      published: committed(CAUSE),
      publisherPid: publisher.pid,
      standings: [standing(pipeline), standing(scoreboard)],
      deadLetters: letterCounts(),
      newestLetter: pendingLetters()[0],
      last: router
        .history({ limit: 4 * LAST_EVENTS })
        .filter(({ eventType, seq }) => seq !== null && (eventType === CAUSE || eventType === EFFECT))
        .slice(-LAST_EVENTS)
        .map((event) => ({
          seq: event.seq!,
          eventType: event.eventType,
          eventId: event.eventId,
          source: event.source,
          key: event.orderKey ?? "",
          deliveries: pairsOfEvent(store, event.seq!).filter(({ consumer }) => Object.hasOwn(TYPES, consumer)),
        })),
    }),
    settled() {
      const lag = router.consumerLag();
      const { pending, retrying } = letterCounts();
      const parked = consumerStatus(store)
        .filter(({ consumer }) => Object.hasOwn(TYPES, consumer))
        .reduce((sum, consumer) => sum + consumer.parked, 0);
      return Object.keys(TYPES).every((role) => lag[role] === 0) && pending + retrying + parked === 0;
    },
    pairs() {
      const now = tally(countPairs(store));
      for (const [consumer, states] of now)
        for (const [state, count] of Object.entries(states) as [PairState, number][])
          states[state] = count - (countedBefore.get(consumer)?.[state] ?? 0);
      return now;
    },
  };
}

function tally(counts: ReturnType<typeof countPairs>): Map<string, Partial<Record<PairState, number>>> {
  const byConsumer = new Map<string, Partial<Record<PairState, number>>>();
  for (const { consumer, state, pairs } of counts)
    byConsumer.set(consumer, { ...byConsumer.get(consumer), [state]: pairs });
  return byConsumer;
}
