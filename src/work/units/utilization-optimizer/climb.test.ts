import { expect, test } from "vitest";
import { seededRandom } from "../../../kernel/index.ts";
import { beginClimb, type ClimbState, climbPolicyDefaults, nextClimb } from "./climb.ts";

const HOUR = 3_600_000;
const SAMPLE_MS = 15_000;
const JOB_MS = 90_000;

/** A machine whose jobs stand in each other's way beyond a number; work goes so fast with so many of them at once. */
interface Machine {
  readonly max: number;
  readonly knee: number;
  /** Of the measurement of each sample. */
  readonly noise: number;
  /** Share of the time in which there is enough to do. */
  readonly busy: number;
  readonly seed: number;
}
const rateOf = ({ knee }: Pick<Machine, "knee">, slots: number): number =>
  slots <= knee ? slots : knee * Math.max(0.3, 1 - 0.08 * (slots - knee));

/** The slots after each sample of so many hours. */
function run(machine: Machine, hours: number, before = beginClimb(machine.max)): { slots: number[]; last: ClimbState } {
  const random = seededRandom(machine.seed);
  let state = before;
  let owed = 0;
  const slots: number[] = [];
  for (let now = 0; now < hours * HOUR; now += SAMPLE_MS) {
    const isBusy = random.next() < machine.busy;
    const held = isBusy ? state.slots : Math.max(0, state.slots - 1);
    const work = rateOf(machine, held) * SAMPLE_MS * (1 + machine.noise * (random.next() - 0.5));
    owed += work / JOB_MS;
    const doneJobs = Math.floor(owed);
    owed -= doneJobs;
    const sample = { now, elapsedMs: SAMPLE_MS, held, max: machine.max, doneJobs, doneWork: doneJobs * JOB_MS };
    state = nextClimb(state, sample, machine.max);
    slots.push(state.slots);
  }
  return { slots, last: state };
}
const changesIn = (slots: readonly number[]) => slots.filter((each, n) => n > 0 && each !== slots[n - 1]).length;

const MACHINES = Array.from({ length: 60 }, (_, seed): Machine => {
  const random = seededRandom(seed);
  const max = 1 + Math.floor(random.next() * 24);
  const knee = Math.max(1, Math.round(max * (0.3 + 0.7 * random.next())));
  return { max, knee, noise: 0.4 * random.next(), busy: 0.5 + 0.5 * random.next(), seed };
});

test("it comes to where nearly all the work is done that the machine can do", () => {
  for (const machine of MACHINES) {
    const { last } = run(machine, 36);
    const most = rateOf(machine, machine.knee);
    expect(rateOf(machine, last.best) / most, JSON.stringify(machine)).toBeGreaterThan(0.9);
  }
});

test("it never goes to and fro: after its first hours it tries something seldom, and ever more seldom", () => {
  for (const machine of MACHINES) {
    const { slots } = run(machine, 72);
    const lastDay = slots.slice(-24 * 240);
    // Each time it looks around it goes a step down and a step up, and back.
    expect(changesIn(lastDay), JSON.stringify(machine)).toBeLessThanOrEqual(10);
    const most = Math.max(...[...Map.groupBy(lastDay, (each) => each).values()].map(({ length }) => length));
    expect(most / lastDay.length, JSON.stringify(machine)).toBeGreaterThan(0.5);
  }
});

test("a try that does far less than before is given up after a few jobs", () => {
  const machine: Machine = { max: 2, knee: 2, noise: 0, busy: 1, seed: 1 };
  const { slots, last } = run(machine, 12);
  const tries = slots.filter((each, n) => each === 1 && slots[n - 1] === 2).length;
  const jobsInTries = (slots.filter((each) => each === 1).length * SAMPLE_MS) / JOB_MS;
  expect(tries).toBeGreaterThan(0);
  // Those that were running when it began must end first.
  expect(jobsInTries / tries).toBeLessThan(climbPolicyDefaults.hopelessJobs + 4);
  expect(last.best).toBe(2);
});

test("one job at least is left, and never more than there is room for, whatever is measured", () => {
  const random = seededRandom(7);
  const odd = [Number.NaN, Number.POSITIVE_INFINITY, -1, 0, 1e300];
  let state = beginClimb(8);
  for (let n = 0; n < 5_000; n += 1) {
    const any = () => (random.next() < 0.1 ? odd[n % odd.length]! : 50 * random.next());
    const max = 1 + Math.floor(8 * random.next());
    const sample = { now: n * SAMPLE_MS, elapsedMs: any(), held: 8, max, doneJobs: 10, doneWork: any() };
    state = nextClimb(state, sample, 8);
    expect(state.slots).toBeGreaterThanOrEqual(1);
    expect(state.slots).toBeLessThanOrEqual(8);
  }
});

test("what others leave too little for teaches nothing, and neither does a node without enough to do", () => {
  const sample = { elapsedMs: SAMPLE_MS, max: 8, doneJobs: 5, doneWork: 5 * JOB_MS };
  let [squeezed, starved] = [beginClimb(8), beginClimb(8)];
  for (let n = 0; n < 1_000; n += 1) {
    squeezed = nextClimb(squeezed, { ...sample, now: n * SAMPLE_MS, held: 3 }, 3);
    starved = nextClimb(starved, { ...sample, now: n * SAMPLE_MS, held: 7 }, 8);
  }
  expect([squeezed.slots, squeezed.bestRate, starved.slots, starved.bestRate]).toEqual([8, null, 8, null]);
});

test("other work than before is found out anew, without the rest that was earned before", () => {
  const machine: Machine = { max: 8, knee: 4, noise: 0, busy: 1, seed: 1 };
  const { last } = run(machine, 48);
  expect(last.best).toBe(4);
  const { last: after } = run({ ...machine, knee: 2, seed: 2 }, 24, { ...last, restUntil: 100 * HOUR });
  expect(after.best).toBeLessThanOrEqual(3);
  expect(after.bestRate).toBeGreaterThan(1.8);
});
