/** Speed as ratios: the contenders of one run take turns, so that a busy machine slows all of them alike. */

export interface Contender {
  readonly name: string;
  /** Does the thing `times` times and returns once all of it has ended. */
  readonly run: (times: number) => void | Promise<void>;
  /** What is needed for one round and is no part of what is measured. */
  readonly prepare?: (times: number) => void | Promise<void>;
}

export interface Measured {
  readonly name: string;
  /** Microseconds for one, in the round that was disturbed least. */
  readonly costUs: number;
  readonly perSecond: number;
}

export interface Comparison {
  readonly contenders: readonly Measured[];
  /** How many times the cost of contender `b` contender `a` has. */
  costRatio(a: string, b: string): number;
}

/** Microseconds that went by. */
const wallUs = (): number => performance.now() * 1_000;

/** Microseconds that this process computed: for what waits for nothing, on a machine where others compute too. */
export const cpuUs = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** Lets all contenders warm up, then lets them take turns, each round in another order. */
export async function compare(
  contenders: readonly Contender[],
  times: number,
  rounds: number,
  nowUs: () => number = wallUs,
): Promise<Comparison> {
  const costs = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  for (const { run, prepare } of contenders) {
    await prepare?.(times);
    await run(times);
  }
  for (let round = 0; round < rounds; round += 1)
    for (let turn = 0; turn < contenders.length; turn += 1) {
      const { name, run, prepare } = contenders[(turn + round) % contenders.length]!;
      await prepare?.(times);
      const begun = nowUs();
      await run(times);
      costs.get(name)!.push((nowUs() - begun) / times);
    }
  // Whatever else runs on the machine only ever adds to a round: the best one is nearest to the thing itself.
  const costOf = (name: string) => {
    const found = costs.get(name);
    if (found === undefined) throw new Error(`nobody measured is called ${name}`);
    return Math.min(...found);
  };
  return {
    contenders: contenders.map(({ name }) => {
      const costUs = costOf(name);
      return { name, costUs, perSecond: 1_000_000 / costUs };
    }),
    costRatio: (a, b) => costOf(a) / costOf(b),
  };
}

/** A measured figure beside what it should be. */
export interface Goal {
  readonly what: string;
  readonly value: number;
  readonly goal: { readonly atMost: number } | { readonly atLeast: number };
  readonly met: boolean;
}

export const atMost = (what: string, value: number, most: number): Goal => ({
  what,
  value,
  goal: { atMost: most },
  met: value <= most,
});

export const atLeast = (what: string, value: number, least: number): Goal => ({
  what,
  value,
  goal: { atLeast: least },
  met: value >= least,
});
