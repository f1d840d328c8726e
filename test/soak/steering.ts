/**
 * The plan that switches all of steering on (examples/steering), over the real loop: every event of stage `steering` of the map is told by a unit
 * of its own accord, and some unit that hears it has acted; no share leaves its floor and its cap.
 */
import { join } from "node:path";
import type { Unit } from "../../src/daemons/index.ts";
import { assert, systemClock } from "../../src/kernel/index.ts";
import { allocations } from "../../src/pipeline/selfplay/index.ts";
import { holdKnob } from "../../src/pipeline/steering/index.ts";
import { createWriteSet } from "../../src/router/index.ts";
import { ROOT } from "../../tools/parts/root.ts";
import { compareMap } from "../../tools/reference/event-map.ts";
import { planned, type RunningLoop, startLoop, unitErrors } from "../support/loop.ts";
import { patience, until } from "../support/patience.ts";
import { owned } from "../support/process.ts";

export const about = "all of steering on: every event of it is told in a real run, and acted on";

export interface SteeringOptions {
  readonly minutes?: number;
  /** Only what is told before the second iteration. */
  readonly only_first?: boolean;
}
export const tiny: SteeringOptions = { minutes: patience(60_000) / 60_000, only_first: true };

const FILE = join(ROOT, "examples", "steering", "ringrift.config.json");
/** The one that all of steering is switched on for. */
const A = "othello6_2p";
/**
 * Beside it: one that begins with its network and looks for a better one (NAS); one that cannot learn, until a population finds out why, so that a
 * plateau, and a promotion after it, come soon; and one whose losses are no numbers.
 */
const BESIDES = ["hex7_2p", "connect4_7x6_2p", "othello8_2p"];

/** What is told before the second iteration, whatever its gate says. */
const FIRST = ["SCHEDULER_REGISTERED", "P2P_SELFPLAY_SCALED", "CURRICULUM_UPDATED"];

/** Events of stage `steering` that somebody here tells. */
function wantedEvents(): string[] {
  const drawn = compareMap();
  const told = [...drawn.drawn, ...drawn.besides].filter(({ verb, stage }) => verb === "emits" && stage === "steering");
  return [...new Set(told.map(({ event }) => event))].sort();
}

/** How far each config has come. */
const standing = (loop: RunningLoop): string =>
  loop.main
    .loop()
    .configs.map(({ config_key, iteration, stage, state }) => `${config_key} ${iteration} ${stage} ${state}`)
    .join(", ");

export async function run({ minutes = 10, only_first = false }: SteeringOptions = {}) {
  await using own = owned();
  const acted = new Map<string, Set<string>>();
  const told = new Map<string, Set<string>>();
  /** Seconds until each was told. */
  const after: Record<string, number> = {};
  const began = Date.now();
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
  const loop = await startLoop(own, { plans, slots: 2, configFile: FILE, wrapUnit });
  const wanted = only_first ? FIRST : wantedEvents();
  const { router } = loop.main;
  for (const event of wanted)
    router.subscribe(event as never, ({ source }) => {
      after[event] ??= Math.round((Date.now() - began) / 1_000);
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
    const missing = () => wanted.filter((event) => told.get(event) === undefined || acted.get(event) === undefined);
    const end = Date.now() + minutes * 60_000;
    while (missing().length > 0 && Date.now() < end) {
      for (const [, { share }] of createWriteSet(router.store).list(allocations)) shares.push(share);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    assert(
      missing().length === 0,
      `not told, or nobody acted on it: ${missing().join(", ")} (${standing(loop)}; told after seconds: ${JSON.stringify(after)})`,
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
      shares: [Math.min(...shares), Math.max(...shares)],
    };
  } finally {
    await loop.end();
  }
}
