/**
 * How much work comes in the next hours: from what came lately, from what came at this time of the days before, and from what is planned.
 * Pure. Work is milliseconds that it usually takes; a bin is a quarter of an hour. How far each way of looking was off is kept, and
 * decides how much it counts.
 */

export const BIN_MS = 900_000;
const DAY = 86_400_000 / BIN_MS;

export const forecastLimits = {
  /** So many bins are remembered: a week. */
  maxBins: 7 * DAY,
  /** So far it looks ahead: a day. */
  aheadBins: DAY,
  /** An error that is older than this many bins counts less than half. */
  errorBins: DAY / 2,
};

/** How far ahead errors are kept for, in bins: an hour and four hours. */
const HORIZONS = [4, 16] as const;

const WAYS = ["lately", "this_time"] as const;
type Way = (typeof WAYS)[number];

/** Sums of how far a forecast was off and of what came, the newest counting most. */
export type ErrorSums = { readonly off: number; readonly came: number };

export type ForecastState = {
  /** The number of the last bin, from the epoch on, and what came in each up to it. */
  readonly bin: number;
  readonly work: readonly number[];
  /** What was foreseen for bins that have not come yet, by way and horizon; oldest first. */
  readonly foreseen: readonly {
    readonly bin: number;
    readonly ahead: number;
    readonly all: number;
    readonly by: Readonly<Partial<Record<Way, number>>>;
  }[];
  readonly errors: Readonly<Record<string, ErrorSums>>;
};

const binOf = (now: number): number => Math.floor(now / BIN_MS);

export const beginForecast = (now: number): ForecastState => ({ bin: binOf(now), work: [0], foreseen: [], errors: {} });

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

/** What came in a bin; undefined where nobody knows. The last bin is not over: it is left out. */
const cameIn = ({ bin, work }: ForecastState, asked: number): number | undefined =>
  asked >= bin ? undefined : work[work.length - 1 - (bin - asked)];

const NEAR = 3;

/** The same time of the days before, with the bins beside it, as much more or less as today is beside them. */
function thisTime(state: ForecastState, asked: number): number | undefined {
  const around = (bin: number): number | undefined => {
    const days = Array.from({ length: 7 }, (_, day) => bin - (day + 1) * DAY);
    const beside = (wanted: number) =>
      [wanted - 1, wanted, wanted, wanted, wanted, wanted + 1].flatMap((one) => cameIn(state, one) ?? []);
    const all = days.map(beside).filter(({ length }) => length > 0);
    // Yesterday counts as much as all days before it.
    return all.length === 0 ? undefined : 0.5 * mean(all[0]!) + 0.5 * mean(all.flat());
  };
  const usual = around(asked);
  if (usual === undefined) return undefined;
  const lately = Array.from({ length: 8 }, (_, n) => state.bin - 1 - n);
  const pairs = lately.flatMap((bin) => {
    const then = around(bin);
    const now = cameIn(state, bin);
    return then === undefined || now === undefined ? [] : [{ then, now }];
  });
  const then = mean(pairs.map((pair) => pair.then));
  const scale = then <= 0 ? 1 : Math.min(1.6, Math.max(0.6, mean(pairs.map((pair) => pair.now)) / then));
  return usual * scale;
}

const lately = (state: ForecastState): number => {
  const values = Array.from({ length: NEAR }, (_, n) => cameIn(state, state.bin - 1 - n)).filter(
    (v) => v !== undefined,
  );
  return mean(values);
};

const keyOf = (ahead: number, way: Way | "all"): string => `${ahead}/${way}`;

/** A horizon for which errors are kept, nearest to the one that is asked for. */
const horizonOf = (ahead: number): number => (ahead <= HORIZONS[0] ? HORIZONS[0] : HORIZONS[1]);

/** A way that nothing was seen of yet counts as one that is off by a third. */
const UNJUDGED = { off: 1, came: 3 };
const SHARPNESS = 3;

function expected(state: ForecastState, ahead: number): { all: number; by: Partial<Record<Way, number>> } {
  const near = lately(state);
  const seasonal = thisTime(state, state.bin + ahead);
  if (seasonal === undefined) return { all: near, by: { lately: near } };
  const by = { lately: near, this_time: seasonal };
  const weights = WAYS.map((way) => {
    const { off, came } = state.errors[keyOf(horizonOf(ahead), way)] ?? UNJUDGED;
    return (1 / Math.max(0.02, came <= 0 ? 1 : off / came)) ** SHARPNESS;
  });
  const total = weights[0]! + weights[1]!;
  return { all: (weights[0]! * near + weights[1]! * seasonal) / total, by };
}

/** What came since the last look is entered; bins that are over are closed, and what was foreseen for them is judged. */
export function noteWork(
  before: ForecastState,
  now: number,
  work: number,
  limits: typeof forecastLimits = forecastLimits,
): ForecastState {
  const bin = binOf(now);
  const added = Number.isFinite(work) && work > 0 ? work : 0;
  // A clock that was set back far, or a pause that is longer than all that is remembered: it begins anew.
  if (bin < before.bin - 1 || bin - before.bin > limits.maxBins) return { ...beginForecast(now), work: [added] };
  const last = before.work.length - 1;
  const entered = { ...before, work: before.work.with(last, before.work[last]! + added) };
  let state = bin <= before.bin ? entered : before;
  if (bin <= before.bin) return state;
  while (state.bin < bin) state = closeBin(state, limits);
  return { ...state, work: state.work.with(state.work.length - 1, added) };
}

function closeBin(state: ForecastState, limits: typeof forecastLimits): ForecastState {
  const came = state.work.at(-1)!;
  const decay = 0.5 ** (1 / limits.errorBins);
  const errors: Record<string, ErrorSums> = { ...state.errors };
  const note = (key: string, foreseen: number) => {
    const known = errors[key] ?? { off: 0, came: 0 };
    errors[key] = { off: decay * known.off + Math.abs(foreseen - came), came: decay * known.came + came };
  };
  for (const { bin, ahead, all, by } of state.foreseen) {
    if (bin !== state.bin) continue;
    note(keyOf(ahead, "all"), all);
    for (const way of WAYS) {
      const foreseen = by[way];
      if (foreseen !== undefined) note(keyOf(ahead, way), foreseen);
    }
  }
  const closed: ForecastState = {
    bin: state.bin + 1,
    work: [...state.work, 0].slice(-limits.maxBins),
    foreseen: state.foreseen.filter(({ bin }) => bin > state.bin),
    errors,
  };
  const looked = HORIZONS.map((ahead) => ({ bin: closed.bin + ahead, ahead, ...expected(closed, ahead) }));
  return { ...closed, foreseen: [...closed.foreseen, ...looked] };
}

export interface ForecastBin {
  /** When it begins, in milliseconds since the epoch. */
  readonly at: number;
  readonly work: number;
}

/** What the next hours bring. `planned`: work that is known to come within the hour, whatever usually comes. */
export function forecastOf(state: ForecastState, planned = 0, bins = forecastLimits.aheadBins): ForecastBin[] {
  return Array.from({ length: bins }, (_, ahead) => {
    const soon = ahead < HORIZONS[0] ? planned / HORIZONS[0] : 0;
    return { at: (state.bin + ahead) * BIN_MS, work: Math.max(soon, expected(state, ahead).all) };
  });
}

/** How far forecasts were off lately, as a share of what came, by horizon; null while nothing was judged. */
export const forecastErrors = ({ errors }: ForecastState): { ahead_seconds: number; error: number | null }[] =>
  HORIZONS.map((ahead) => {
    const sums = errors[keyOf(ahead, "all")];
    const error = sums === undefined || sums.came <= 0 ? null : sums.off / sums.came;
    return { ahead_seconds: (ahead * BIN_MS) / 1_000, error };
  });
