/**
 * A day of a fleet under a trace of load: jobs come as the trace says, machines are rented and given back, and a policy decides how
 * many there are and how many jobs each does at once. The traces, this world and the fixed policy were written before any other policy.
 * One seed is one history: who comes when, how long jobs are, and what machines there are to rent.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Random, seededRandom } from "../../../src/kernel/index.ts";

export const TRACES = ["working_day", "rounds", "surprises"] as const;
export type Trace = (typeof TRACES)[number];

/** Jobs that are added in each five minutes of a day, on average. */
const traceOf = (trace: Trace): readonly number[] =>
  (
    JSON.parse(readFileSync(join(import.meta.dirname, "traces.json"), "utf8")) as {
      readonly traces: Readonly<Record<Trace, { readonly jobs: readonly number[] }>>;
    }
  ).traces[trace].jobs;

const worldLimits = {
  stepSeconds: 5,
  /** What a policy sees, it sees so often, as a node measures itself. */
  lookSeconds: 15,
  minMachines: 2,
  maxMachines: 16,
  idleSeconds: 300,
  bootSeconds: 360,
  cpus: 8,
  /** What a job takes on one processor of a usual machine. */
  jobSeconds: 120,
  /** A machine that is rented so soon after one was given back was given back too early. */
  regretSeconds: 900,
  /** One day to learn, and one that counts. */
  days: 2,
};

export interface SeenMachine {
  readonly id: number;
  readonly cpus: number;
  /** Jobs that it may do at once, and those that it does. */
  readonly slots: number;
  readonly held: number;
  /** Jobs that it finished since the last look, and their work, in seconds of a usual processor. */
  readonly doneJobs: number;
  readonly doneWork: number;
}

export interface Seen {
  readonly atSeconds: number;
  readonly machines: readonly SeenMachine[];
  readonly booting: number;
  readonly waiting: number;
  readonly waitingWork: number;
  /** Since the last look. */
  readonly addedWork: number;
}

export interface Wish {
  /** How many machines there should be. */
  readonly machines: number;
  /** How many jobs each does at once; as many as it has processors unless said. */
  readonly slots: ReadonlyMap<number, number>;
}
export type LoadPolicy = (seen: Seen) => Wish;

/** As many machines as all jobs together would fill, each with a job for every processor. */
export const fixedPolicy = (): LoadPolicy => (seen) => {
  const jobs = seen.waiting + seen.machines.reduce((sum, { held }) => sum + held, 0);
  return { machines: Math.ceil(jobs / worldLimits.cpus), slots: new Map() };
};

export interface DayFigures {
  readonly jobs: number;
  /** From its coming to its end, on average; and what nine of ten waited at most before they began. */
  readonly meanSeconds: number;
  readonly waitP90Seconds: number;
  readonly machineHours: number;
  readonly rented: number;
  /** Machines that were rented right after one was given back. */
  readonly regretted: number;
  /** Changes of how many jobs a machine does at once, for each machine and hour. */
  readonly slotChanges: number;
  readonly lost: number;
}

interface Job {
  readonly at: number;
  readonly work: number;
  left: number;
  beganAt: number;
}

interface Machine {
  readonly id: number;
  readonly readyAt: number;
  readonly speed: number;
  /** Beyond so many at once its jobs stand in each other's way. */
  readonly knee: number;
  readonly jobs: Job[];
  slots: number;
  idleSince: number;
  doneJobs: number;
  doneWork: number;
}

const KNEES = [8, 6, 5, 8, 4];

const machineOf = (id: number, readyAt: number, random: Random): Machine => ({
  id,
  readyAt,
  speed: 0.8 + 0.4 * random.next(),
  knee: KNEES[Math.floor(random.next() * KNEES.length)]!,
  jobs: [],
  slots: worldLimits.cpus,
  idleSince: readyAt,
  doneJobs: 0,
  doneWork: 0,
});

/** Work that a machine does in a second with so many jobs at once. */
const paceOf = ({ speed, knee }: Machine, jobs: number): number =>
  speed * (jobs <= knee ? jobs : knee * Math.max(0.35, 1 - 0.07 * (jobs - knee)));

const normal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());

function poisson(mean: number, random: Random): number {
  const limit = Math.exp(-mean);
  let n = 0;
  for (let p = random.next(); p > limit; p *= random.next()) n += 1;
  return n;
}

export function simulateLoad(trace: Trace, seed: number, policy: LoadPolicy): DayFigures {
  const { stepSeconds, lookSeconds, cpus, minMachines, maxMachines, idleSeconds, bootSeconds } = worldLimits;
  const [arrivals, sizes, market] = [seededRandom(seed), seededRandom(seed + 7_919), seededRandom(seed + 104_729)];
  const rates = traceOf(trace);
  const day = 86_400;
  const queue: Job[] = [];
  let machines = Array.from({ length: minMachines }, (_, id) => machineOf(id, 0, market));
  let nextId = machines.length;
  let wanted = minMachines;
  let tooManySince: number | null = null;
  let lastReturnAt = Number.NEGATIVE_INFINITY;
  let addedWork = 0;
  let dayFactor = 1;
  const figures = { jobs: 0, seconds: 0, machineSeconds: 0, rented: 0, regretted: 0, slotChanges: 0 };
  const waits: number[] = [];
  const lastDay = (worldLimits.days - 1) * day;

  const look = (now: number) => {
    const ready = machines.filter(({ readyAt }) => readyAt <= now);
    const { machines: asked, slots } = policy({
      atSeconds: now,
      machines: ready.map(({ id, slots: own, jobs, doneJobs, doneWork }) => ({
        ...{ id, cpus, slots: own, held: jobs.length, doneJobs, doneWork },
      })),
      booting: machines.length - ready.length,
      waiting: queue.length,
      waitingWork: queue.reduce((sum, { work }) => sum + work, 0),
      addedWork,
    });
    addedWork = 0;
    wanted = Math.min(maxMachines, Math.max(minMachines, Math.ceil(asked)));
    for (const machine of ready) {
      machine.doneJobs = 0;
      machine.doneWork = 0;
      const next = Math.min(cpus, Math.max(1, Math.round(slots.get(machine.id) ?? cpus)));
      if (next !== machine.slots && now >= lastDay) figures.slotChanges += 1;
      machine.slots = next;
    }
    while (machines.length < wanted) {
      machines.push(machineOf(nextId++, now + bootSeconds, market));
      if (now < lastDay) continue;
      figures.rented += 1;
      if (now - lastReturnAt < worldLimits.regretSeconds) figures.regretted += 1;
    }
    tooManySince = machines.length > wanted ? (tooManySince ?? now) : null;
  };

  for (let now = 0; now < worldLimits.days * day; now += stepSeconds) {
    if (now % day === 0) dayFactor = 0.85 + 0.3 * arrivals.next();
    const expected = (dayFactor * rates[Math.floor((now % day) / 300)]! * stepSeconds) / 300;
    for (let n = poisson(expected, arrivals); n > 0; n -= 1) {
      const work = worldLimits.jobSeconds * Math.exp(0.5 * normal(sizes) - 0.125);
      queue.push({ at: now, work, left: work, beganAt: 0 });
      addedWork += work;
    }
    if (now % lookSeconds === 0) look(now);
    // Who is too many for as long as one may be idle gets nothing new; the youngest first.
    const spare =
      tooManySince !== null && now - tooManySince >= idleSeconds ? new Set(machines.slice(wanted)) : new Set<Machine>();
    for (const machine of machines) {
      if (now >= lastDay) figures.machineSeconds += stepSeconds;
      if (machine.readyAt > now) continue;
      while (!spare.has(machine) && machine.jobs.length < machine.slots && queue.length > 0) {
        const job = queue.shift()!;
        job.beganAt = now;
        machine.jobs.push(job);
      }
      if (machine.jobs.length > 0) machine.idleSince = now + stepSeconds;
      const share =
        machine.jobs.length === 0 ? 0 : (paceOf(machine, machine.jobs.length) * stepSeconds) / machine.jobs.length;
      for (let n = machine.jobs.length - 1; n >= 0; n -= 1) {
        const job = machine.jobs[n]!;
        job.left -= share;
        if (job.left > 0) continue;
        machine.jobs.splice(n, 1);
        machine.doneJobs += 1;
        machine.doneWork += job.work;
        if (job.at < lastDay) continue;
        figures.jobs += 1;
        figures.seconds += now + stepSeconds - job.at;
        waits.push(job.beganAt - job.at);
      }
    }
    const gone = machines.filter(
      (machine) => spare.has(machine) && machine.jobs.length === 0 && now - machine.idleSince >= idleSeconds,
    );
    if (gone.length === 0) continue;
    lastReturnAt = now;
    machines = machines.filter((machine) => !gone.includes(machine));
  }
  waits.sort((a, b) => a - b);
  return {
    jobs: figures.jobs,
    meanSeconds: figures.seconds / figures.jobs,
    waitP90Seconds: waits[Math.floor(0.9 * waits.length)] ?? 0,
    machineHours: figures.machineSeconds / 3_600,
    rented: figures.rented,
    regretted: figures.regretted,
    slotChanges: figures.slotChanges / Math.max(1, figures.machineSeconds / 3_600),
    lost: queue.length + machines.reduce((sum, { jobs }) => sum + jobs.length, 0),
  };
}

/** The mean of each figure over some seeds. */
export function meanFigures(days: readonly DayFigures[]): DayFigures {
  const mean = (of: keyof DayFigures) => days.reduce((sum, day) => sum + day[of], 0) / days.length;
  return {
    jobs: mean("jobs"),
    meanSeconds: mean("meanSeconds"),
    waitP90Seconds: mean("waitP90Seconds"),
    machineHours: mean("machineHours"),
    rented: mean("rented"),
    regretted: mean("regretted"),
    slotChanges: mean("slotChanges"),
    lost: mean("lost"),
  };
}
