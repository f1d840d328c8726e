/**
 * The plan that switches all of steering on (examples/steering), over the real loop: every event of stage `steering` of the map is told by a unit
 * of its own accord, and some unit that hears it has acted; every optimiser has changed what the loop goes on with; no share leaves its floor
 * and its cap.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Unit } from "../../src/daemons/index.ts";
import { assert, systemClock } from "../../src/kernel/index.ts";
import { students, trainingRuns } from "../../src/pipeline/models/index.ts";
import { allocations } from "../../src/pipeline/selfplay/index.ts";
import { cascadeStarts, iterations, trainingTunings, trainingWork, tunings } from "../../src/pipeline/stage/index.ts";
import { holdKnob } from "../../src/pipeline/steering/index.ts";
import { createWriteSet, type Store, type WriteSet } from "../../src/router/index.ts";
import { ROOT } from "../../tools/parts/root.ts";
import { compareMap } from "../../tools/reference/event-map.ts";
import { FEEDBACK_ARROWS } from "../support/feedback-arrows.ts";
import { planned, type RunningLoop, startLoop, unitErrors } from "../support/loop.ts";
import { patience, until } from "../support/patience.ts";
import { owned } from "../support/process.ts";

export const about = "all of steering on: every event of it is told in a real run, and acted on";

export interface SteeringOptions {
  readonly minutes?: number;
  /** A folder that is kept: run it again with the same one, and it goes on from there. */
  readonly folder?: string;
  /** Only what is told before the second iteration. */
  readonly only_first?: boolean;
}
export const tiny: SteeringOptions = { minutes: patience(60_000) / 60_000, only_first: true };

const FILE = join(ROOT, "examples", "steering", "ringrift.config.json");
/** The one that all of steering is switched on for. */
const A = "othello6_2p";
/**
 * Beside it:
 * - one that begins with its network and cannot learn before a search finds a better one (NAS);
 * - one that cannot learn before a population finds better settings, so that a plateau, a promotion after it, and a loss that leaps come soon. It keeps
 *   its first champion until then, so that rating games soon tell that this one has mastered a baseline;
 * - one of three players that begins with the network of that one (cascade).
 */
const NARROW = "othello8_2p";
const POOR = "connect4_7x6_2p";
const MANY = "connect4_8x7_3p";
const BESIDES = [NARROW, POOR, MANY];

/** What is told before the second iteration, whatever its gate says. */
const FIRST = ["SCHEDULER_REGISTERED", "P2P_SELFPLAY_SCALED", "CURRICULUM_UPDATED", "PER_BUFFER_REBUILT"];

/** Events of stage `steering` that somebody here tells. */
function wantedEvents(): string[] {
  const drawn = compareMap();
  const told = [...drawn.drawn, ...drawn.besides].filter(({ verb, stage }) => verb === "emits" && stage === "steering");
  return [...new Set(told.map(({ event }) => event))].sort();
}

/** What optimisers must have brought about in the rows that the loop reads, by name. */
const EFFECTS: Readonly<Record<string, (rows: WriteSet, store: Store) => boolean>> = {
  "training draws by priorities": (rows) => typeof rows.get(trainingWork, A)?.evidence.priorities === "string",
  "a student that was distilled has played its teacher": (rows) =>
    (rows.get(students, A)?.distillation?.derived?.games ?? 0) > 0,
  "a student of NNUE style has played the champion": (rows) => (rows.get(students, A)?.nnue?.derived?.games ?? 0) > 0,
  "self-play uses parameters that a search has proven": (rows) => (rows.get(tunings, A)?.steps.length ?? 0) > 0,
  "training uses settings that a population has proven": (rows) =>
    rows.get(trainingTunings, POOR)?.steps.some(({ values, start }) => start === null && values.rate! > 1e-6) === true,
  "training goes on from a network that halving has found": (rows) =>
    rows.get(trainingTunings, NARROW)?.steps.some(({ start }) => start !== null) === true,
  "three players play on with layers of the network of two": (rows, store) =>
    rows.get(cascadeStarts, MANY)?.config_key === POOR &&
    rows.get(iterations, MANY)?.state === "complete" &&
    trainingRuns(store, MANY, 10).some(({ fresh, losses }) => fresh && Number(losses.layers_taken) > 0),
};
/** Those that come before the third iteration. */
const FIRST_EFFECTS = ["training draws by priorities"];

/** How far each config has come. */
const standing = (loop: RunningLoop): string =>
  loop.main
    .loop()
    .configs.map(({ config_key, iteration, stage, state }) => `${config_key} ${iteration} ${stage} ${state}`)
    .join(", ");

/** Events by name, and the units that told or acted on each. */
type Seen = Map<string, Set<string>>;
interface Kept {
  readonly told: Seen;
  readonly acted: Seen;
  /** Seconds of running until each was told. */
  readonly after: Record<string, number>;
  /** Seconds of all runs before this one. */
  readonly before: number;
}

const seen = (given: Readonly<Record<string, readonly string[]>> = {}): Seen =>
  new Map(Object.entries(given).map(([event, units]) => [event, new Set(units)]));

/** What earlier runs over the same folder have seen. */
function readKept(file: string | undefined): Kept {
  if (file === undefined || !existsSync(file)) return { told: seen(), acted: seen(), after: {}, before: 0 };
  const { told, acted, after, before } = JSON.parse(readFileSync(file, "utf8"));
  return { told: seen(told), acted: seen(acted), after, before };
}

const plain = (all: Seen) => Object.fromEntries([...all].map(([event, units]) => [event, [...units]]));

export async function run({ minutes = 10, only_first = false, folder }: SteeringOptions = {}) {
  await using own = owned();
  const file = folder === undefined ? undefined : join(folder, "steering-soak.json");
  const { told, acted, after, before } = readKept(file);
  const began = Date.now();
  const seconds = () => before + Math.round((Date.now() - began) / 1_000);
  const note = (map: Map<string, Set<string>>, key: string, value: string) =>
    map.set(key, (map.get(key) ?? new Set()).add(value));
  const wrapUnit = (unit: Unit): Unit => ({
    ...unit,
    behaviour: {
      ...unit.behaviour,
      async handle(event, context) {
        const answer = await unit.behaviour.handle(event, context);
        note(acted, event.eventType, unit.name);
        return answer;
      },
    },
  });
  const given = only_first ? { most_iterations: 2 } : {};
  const plans = planned(given, only_first ? [A] : [A, ...BESIDES], FILE);
  const loop = await startLoop(own, {
    plans,
    slots: 2,
    configFile: FILE,
    wrapUnit,
    ...(folder === undefined ? {} : { dataDir: join(folder, "data") }),
  });
  const wanted = only_first ? FIRST : wantedEvents();
  const arrows = only_first ? [] : FEEDBACK_ARROWS;
  const { router } = loop.main;
  for (const event of new Set([...wanted, ...arrows.flatMap(([, , event]) => event ?? [])]))
    router.subscribe(event as never, ({ source }) => {
      after[event] ??= seconds();
      note(told, event, source);
    });
  const shares: number[] = [];
  try {
    // A person's word is told too; it is taken back at once.
    const ports = { router: router as never, store: router.store, clock: systemClock() };
    const by = { actor: "soak", reason: "to see it told", dryRun: false };
    const isPlanned = () => loop.main.loop().configs.some(({ config_key }) => config_key === A);
    await until(isPlanned, () => `there is no loop of ${A}`);
    await holdKnob(ports, A, "share", 1.1, by);
    const effects = only_first ? FIRST_EFFECTS : Object.keys(EFFECTS);
    const missing = () => [
      ...wanted.filter((event) => told.get(event) === undefined || acted.get(event) === undefined),
      ...arrows
        .filter(
          ([heard, unit, event]) => !acted.get(heard)?.has(unit) || (event !== null && !told.get(event)?.has(unit)),
        )
        .map((arrow) => arrow.join(" > ")),
      ...effects.filter((effect) => after[effect] === undefined),
    ];
    const end = Date.now() + minutes * 60_000;
    while (missing().length > 0 && Date.now() < end) {
      const rows = createWriteSet(router.store);
      for (const [, { share }] of rows.list(allocations)) shares.push(share);
      for (const effect of effects) if (EFFECTS[effect]!(rows, router.store)) after[effect] ??= seconds();
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    assert(
      missing().length === 0,
      `not told, nobody acted on it, or not brought about: ${missing().join(", ")} (${standing(loop)}; told after seconds: ${JSON.stringify(after)})`,
    );
    const errors = unitErrors(loop);
    assert(errors.length === 0, `units have thrown: ${errors.join("; ")}`);
    // Half of an equal share is everybody's, and what that leaves is the most.
    assert(
      shares.every((share) => share >= 0.5 / (1 + BESIDES.length) && share <= 1),
      `a share left its bounds: ${Math.min(...shares)} to ${Math.max(...shares)}`,
    );
    return {
      events: Object.fromEntries(
        wanted.map((event) => [
          event,
          { after_seconds: after[event]!, by: [...told.get(event)!], acted: [...acted.get(event)!] },
        ]),
      ),
      effects: Object.fromEntries(effects.map((effect) => [effect, { after_seconds: after[effect]! }])),
      shares: [Math.min(...shares), Math.max(...shares)],
    };
  } finally {
    if (file !== undefined)
      writeFileSync(file, JSON.stringify({ told: plain(told), acted: plain(acted), after, before: seconds() }));
    await loop.end();
  }
}
