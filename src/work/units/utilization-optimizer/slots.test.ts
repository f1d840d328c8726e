import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextSlots, type SlotSample, type SlotState } from "./slots.ts";

const TARGET = 0.9;

/** A machine: others come first, since our programs run niced, and each job takes so many processors. */
interface Machine {
  readonly cpus: number;
  readonly max: number;
  /** Processors that other programs want, as a share of all. */
  readonly others: number;
  readonly perJob: number;
  readonly target: number;
  /** Samples until a job that is too many has ended. */
  readonly lag: number;
}

const sampleOf = ({ cpus, max, others, perJob }: Machine, held: number): SlotSample => {
  const theirs = Math.min(1, others);
  return { usage: Math.min(1, theirs + (held * perJob) / cpus), others: theirs, cpus, held, max };
};

/** The slots after each of so many samples, with jobs enough for all of them. */
function run(machine: Machine, samples: number, before?: SlotState): SlotState[] {
  const states: SlotState[] = [];
  let state = before;
  let held = before?.slots ?? machine.max;
  for (let n = 0; n < samples; n += 1) {
    state = nextSlots(state, sampleOf(machine, held), machine.target)!;
    states.push(state);
    if (held < state.slots) held = state.slots;
    else if (held > state.slots && n % machine.lag === 0) held -= 1;
  }
  return states;
}

const machines: fc.Arbitrary<Machine> = fc
  .record({
    cpus: fc.integer({ min: 1, max: 64 }),
    extra: fc.double({ min: 0.1, max: 1.5, noNaN: true }),
    others: fc.double({ min: 0, max: 1.2, noNaN: true }),
    perJob: fc.double({ min: 0.25, max: 2, noNaN: true }),
    target: fc.double({ min: 0.5, max: 1, noNaN: true }),
    lag: fc.integer({ min: 1, max: 5 }),
  })
  .map(({ extra, ...machine }) => ({ ...machine, max: Math.max(1, Math.round(machine.cpus * extra)) }));

const slotsOf = (states: readonly SlotState[]) => states.map(({ slots }) => slots);

describe("on a simulated machine", () => {
  test("the slots settle, and flutter by one at most from then on", () => {
    fc.assert(
      fc.property(machines, (machine) => {
        const settled = slotsOf(run(machine, 400)).slice(-100);
        expect(Math.max(...settled) - Math.min(...settled)).toBeLessThanOrEqual(1);
      }),
      { numRuns: 500 },
    );
  });

  test("they settle where jobs and others together come nearest to the target", () => {
    fc.assert(
      fc.property(
        machines.filter(({ others }) => others >= 0.15 && others <= 1),
        (machine) => {
          const fair = { ...machine, perJob: 1 };
          const room = (fair.target - fair.others) * fair.cpus;
          const { slots } = run(fair, 400).at(-1)!;
          expect(slots).toBeGreaterThanOrEqual(Math.min(fair.max, Math.max(1, Math.floor(room - 0.6))));
          expect(slots).toBeLessThanOrEqual(Math.min(fair.max, Math.max(1, Math.ceil(room + 0.6))));
        },
      ),
      { numRuns: 500 },
    );
  });

  test("a machine that is ours alone keeps all of its slots, however full it is", () => {
    fc.assert(
      fc.property(machines, (machine) => {
        const alone = slotsOf(run({ ...machine, others: 0.02 }, 100));
        expect(new Set(alone)).toEqual(new Set([machine.max]));
      }),
    );
  });

  test("what others took away comes back when they are gone", () => {
    const busy: Machine = { cpus: 4, max: 4, others: 0.97, perJob: 1, target: TARGET, lag: 2 };
    const held = run(busy, 60).at(-1)!;
    expect(held.slots).toBe(1);
    // Nothing was wound up meanwhile: it is back within ten samples, however long the others stayed.
    const long = run(busy, 5_000).at(-1)!;
    expect(slotsOf(run({ ...busy, others: 0 }, 10, long)).at(-1)).toBe(4);
  });

  test("half of a machine of four is two jobs: as many processors as the others leave", () => {
    expect(run({ cpus: 4, max: 4, others: 0.5, perJob: 1, target: TARGET, lag: 1 }, 60).at(-1)).toMatchObject({
      slots: 2,
      measured: 1,
    });
  });
});

test("whatever is measured, the slots are a whole number from one to what there is", () => {
  const anything = fc.oneof(fc.double(), fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -1, 0, 1e300));
  const sample = fc.record({ usage: anything, others: anything, cpus: anything, held: anything, max: anything });
  fc.assert(
    fc.property(fc.array(sample, { maxLength: 50 }), fc.integer({ min: 1, max: 64 }), (samples, max) => {
      let state = nextSlots(undefined, { usage: 0.5, others: 0, cpus: 4, held: 0, max }, TARGET)!;
      for (const each of samples) {
        state = nextSlots(state, each, TARGET)!;
        expect(Number.isInteger(state.slots)).toBe(true);
        expect(state.slots).toBeGreaterThanOrEqual(1);
        if (Number.isFinite(each.max) && each.max >= 1)
          expect(state.slots).toBeLessThanOrEqual(Math.max(max, each.max));
      }
    }),
  );
});

test.each([
  ["a share that is no number", { usage: Number.NaN }],
  ["others that are no number", { others: Number.NaN }],
  ["no processor", { cpus: 0 }],
  ["a negative share", { usage: -0.1 }],
])("%s changes nothing: what was decided last holds", (_what, wrong) => {
  const sound = { usage: 1, others: 0.6, cpus: 8, held: 8, max: 8 };
  const before = nextSlots(undefined, sound, TARGET)!;
  expect(nextSlots(before, { ...sound, ...wrong }, TARGET)).toBe(before);
  expect(nextSlots(undefined, { ...sound, ...wrong }, TARGET)).toBeUndefined();
});

test("one that is not told what others take is left alone", () => {
  const sample = { usage: 1, others: undefined, cpus: 2, held: 4, max: 4 };
  expect(nextSlots(undefined, sample, TARGET)).toMatchObject({ slots: 4 });
});
