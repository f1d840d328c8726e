/** Harm on purpose while it trains, and proof that the system notices: each act is a line, and so is how it was caught. */
import { type Clock, type Log, messageOf } from "../../../../kernel/index.ts";
import type { ReportAbout } from "../../../../surfaces/report/index.ts";
import type { Act, ChaosWorld } from "./act.ts";
import { damage, TARGETS } from "./damage.ts";
import { kill } from "./kill.ts";
import { poison } from "./poison.ts";
import { type ActKind, CAUGHT_WITHIN_MS, chaosRandom, chaosSchedule, LAST_MS, LEAST_PAUSE_MS } from "./schedule.ts";

export interface Incident {
  readonly number: number;
  readonly kind: ActKind;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly configKey: string | null;
  readonly what: string;
  /** How it was caught; null while it was not. */
  readonly outcome: string | null;
  readonly state: "open" | "caught" | "not caught";
}

export type Chaos = ReturnType<typeof createChaos>;

interface Open {
  readonly number: number;
  readonly kind: ActKind;
  readonly act: Act;
  readonly atMs: number;
}

const MAX_LINES = 1_000;

export interface ChaosOptions {
  readonly seed: number;
  readonly clock: Clock;
  readonly log: Log;
  /** How an act is done; for tests. */
  readonly begin?: (kind: ActKind, world: ChaosWorld, number: number) => ReturnType<typeof beginAct>;
}

/** Worker and program, and the sorts of files, in their turn. */
function beginAct(kind: ActKind, world: ChaosWorld, number: number): Act | undefined | Promise<Act | undefined> {
  const turn = Math.floor(number / 3);
  if (kind === "kill") return kill(world, turn % 2 === 0 ? "worker" : "program");
  if (kind === "poison") return poison(world, number);
  for (let i = 0; i < TARGETS.length; i += 1) {
    const act = damage(world, TARGETS[(turn + i) % TARGETS.length]!);
    if (act !== undefined) return act;
  }
  return undefined;
}

export function createChaos({ seed, clock, log, begin = beginAct }: ChaosOptions) {
  const random = chaosRandom(seed);
  const schedule = chaosSchedule(random);
  const incidents = new Map<number, Incident>();
  const open: Open[] = [];
  /** Caught, and still to be taken away. */
  const leftOver: Open[] = [];
  const said: string[] = [];
  let fresh: string[] = [];
  let world: ChaosWorld | undefined;
  let beganMs = 0;
  let due = schedule.next().value;
  let number = 0;
  let starting: Promise<void> | undefined;
  let lastMs = Number.NEGATIVE_INFINITY;
  let isOver = false;

  const say = (line: string) => {
    fresh.push(line);
    said.push(line);
    if (said.length > MAX_LINES) said.shift();
  };

  const isPoisoned = () => [...open, ...leftOver].some(({ kind }) => kind === "poison");

  const start = async (kind: ActKind, remainsMs: number | null): Promise<void> => {
    if (world === undefined || (remainsMs !== null && remainsMs < LAST_MS)) return;
    const act = await begin(kind, world, number);
    // It cannot be done at the moment: the next look tries again.
    if (act === undefined) return;
    const one = { number, kind, act, atMs: clock.monotonic() };
    lastMs = one.atMs;
    open.push(one);
    const { configKey, what } = act;
    incidents.set(number, { number, kind, at: clock.now(), configKey, what, outcome: null, state: "open" });
    say(`chaos: ${what}`);
    number += 1;
    due = schedule.next().value;
    if (isOver) await act.end?.();
  };

  const settle = (one: Open, state: "caught" | "not caught", outcome: string | null) => {
    open.splice(open.indexOf(one), 1);
    incidents.set(one.number, { ...incidents.get(one.number)!, state, outcome });
    if (one.act.end !== undefined) leftOver.push(one);
  };

  const lookAt = (one: Open): void => {
    const { act, kind, atMs } = one;
    const found = act.caught(clock.now());
    const limitMs = CAUGHT_WITHIN_MS[kind];
    if (found !== undefined) {
      say(`caught: ${found}`);
      settle(one, "caught", found);
    } else if (clock.monotonic() - atMs > limitMs) {
      const late = `not caught within ${limitMs / 1_000} s`;
      say(`${late}: ${act.what}`);
      settle(one, "not caught", late);
    }
  };

  const endOne = ({ act }: Open): Promise<void> =>
    (act.end?.() ?? Promise.resolve()).catch((thrown: unknown) =>
      log.error("a fault that chaos started could not be ended", { what: act.what, error: messageOf(thrown) }),
    );

  return {
    arrived(given: Omit<ChaosWorld, "random" | "clock" | "log">) {
      world = { ...given, random, clock, log };
      beganMs = clock.monotonic();
    },
    /** Once a second: does what is due, looks at what was done, and gives the lines that are new. */
    look(remainsMs: number | null): string[] {
      for (const one of [...open]) lookAt(one);
      for (const one of leftOver.filter(({ act }) => act.isOver?.() ?? true)) {
        leftOver.splice(leftOver.indexOf(one), 1);
        void endOne(one);
      }
      const now = clock.monotonic();
      if (!isOver && starting === undefined && now - beganMs >= due.atMs && now - lastMs >= LEAST_PAUSE_MS) {
        // One poisoned producer at a time: two would prove no more than one.
        const kind = due.kind === "poison" && isPoisoned() ? "kill" : due.kind;
        starting = start(kind, remainsMs)
          .catch((thrown: unknown) => log.error("an act of chaos failed", { kind, error: messageOf(thrown) }))
          .finally(() => {
            starting = undefined;
          });
      }
      const lines = fresh;
      fresh = [];
      return lines;
    },
    /** The newest lines, oldest first. */
    last: (max: number): string[] => said.slice(-max),
    incidents: (): readonly Incident[] => [...incidents.values()],
    /** Takes back what is still there of it. */
    async end() {
      isOver = true;
      await starting;
      for (const one of [...open]) lookAt(one);
      await Promise.all([...open, ...leftOver].map(endOne));
      leftOver.length = 0;
    },
  };
}

/** Incidents as the report has them. */
export const reported = (incidents: readonly Incident[]): ReportAbout["incidents"] =>
  incidents.map(({ at, configKey, what, outcome, state }) => ({
    at,
    config_key: configKey,
    what: `chaos: ${what}`,
    outcome: state === "caught" ? `caught: ${outcome}` : (outcome ?? "the run ended before it was caught"),
  }));
