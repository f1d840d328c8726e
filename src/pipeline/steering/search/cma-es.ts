/**
 * CMA-ES: finds the lowest point of a function that can only be asked, noisy or not, for up to some dozen numbers. As in Hansen's
 * tutorial (arXiv 1604.00772), with negative weights for the worse half.
 *
 * It is three pure functions over one value: `askCma` draws the candidates of a generation, `tellCma` makes the next state of their
 * scores. Where all candidates have become one point it begins anew with more of them. What is drawn follows from the state alone. The state is plain numbers and survives JSON bit for bit, so a search that was
 * killed goes on as if nothing had happened.
 */
import { OperatingError, type Random, seededRandom } from "../../../kernel/index.ts";
import { seedFor } from "../../stage/index.ts";
import { type Eigen, eigenOf } from "./eigen.ts";

export type CmaState = {
  readonly seed: number;
  /** Generations that were told. */
  readonly generation: number;
  readonly population: number;
  readonly mean: readonly number[];
  readonly sigma: number;
  readonly covariance: readonly (readonly number[])[];
  readonly path_sigma: readonly number[];
  readonly path_c: readonly number[];
  /** Of each number; null where there is none. */
  readonly bounds: readonly (readonly [low: number, high: number])[] | null;
  /** Where it began, and begins again. */
  readonly start: { readonly mean: readonly number[]; readonly sigma: number };
};

export interface CmaStart {
  readonly seed: number;
  readonly mean: readonly number[];
  readonly sigma: number;
  readonly bounds?: CmaState["bounds"];
  /** Candidates of a generation; follows from how many numbers there are unless given. */
  readonly population?: number;
}

const MAX_DIMENSIONS = 64;
const MAX_POPULATION = 10_000;
/** Tries to draw within the bounds, before what is beyond them is moved onto them. */
const MAX_REDRAWS = 100;
/** No direction is ever flatter: its eigenvalue would be rounding noise. */
const LEAST_EIGENVALUE = 1e-16;
const MAX_SIGMA = 1e32;
const LEAST_SPREAD = 1e-12;

const wrong = (code: string, message: string, hint?: string) =>
  OperatingError.invalid(code, message, hint === undefined ? {} : { hint });

/** The sum over all, each as `of` has it. */
const total = (values: readonly number[], of: (value: number, i: number) => number = (value) => value): number => {
  let sum = 0;
  for (let i = 0; i < values.length; i += 1) sum += of(values[i]!, i);
  return sum;
};

const areFinite = (values: readonly number[]): boolean => values.every(Number.isFinite);

export function startCma({ seed, mean, sigma, bounds = null, population }: CmaStart): CmaState {
  const n = mean.length;
  if (n < 1 || n > MAX_DIMENSIONS)
    throw wrong("SEARCH_EMPTY", `a search is over 1 to ${MAX_DIMENSIONS} numbers, not over ${n}`);
  if (!areFinite(mean) || !(sigma > 0) || !Number.isFinite(sigma))
    throw wrong("SEARCH_START_NOT_FINITE", "a search starts from finite numbers and a step above zero");
  const size = population ?? 4 + Math.floor(3 * Math.log(n));
  if (!Number.isInteger(size) || size < 4 || size > MAX_POPULATION)
    throw wrong("SEARCH_POPULATION", `a generation has 4 to ${MAX_POPULATION} candidates, not ${size}`);
  if (bounds !== null)
    for (const [i, value] of mean.entries()) {
      const [low, high] = bounds[i] ?? [Number.NaN, Number.NaN];
      if (!(low < high && value >= low && value <= high))
        throw wrong("SEARCH_OUT_OF_BOUNDS", `${value} is not within ${low} and ${high}`);
    }
  return {
    ...{ seed, generation: 0, population: size, mean: plain(mean), sigma, bounds, start: { mean: plain(mean), sigma } },
    covariance: mean.map((_, i) => mean.map((__, j) => (i === j ? 1 : 0))),
    path_sigma: mean.map(() => 0),
    path_c: mean.map(() => 0),
  };
}

/** JSON knows no negative zero: a state must not hold one. */
const plain = (values: readonly number[]): number[] => values.map((value) => value + 0);

/** All that follows from how many numbers and how many candidates there are. */
function constantsOf(n: number, population: number) {
  const mu = Math.floor(population / 2);
  const raw = Array.from({ length: population }, (_, i) => Math.log((population + 1) / 2) - Math.log(i + 1));
  const effective = (part: readonly number[]) => total(part) ** 2 / total(part, (w) => w * w);
  const muEff = effective(raw.slice(0, mu));
  const muEffMinus = effective(raw.slice(mu));
  const c1 = 2 / ((n + 1.3) ** 2 + muEff);
  const cMu = Math.min(1 - c1 - 1e-8, (2 * (muEff - 2 + 1 / muEff)) / ((n + 2) ** 2 + muEff));
  const least = Math.min(1 + c1 / cMu, 1 + (2 * muEffMinus) / (muEff + 2), (1 - c1 - cMu) / (n * cMu));
  const positive = total(raw.filter((w) => w > 0));
  const negative = total(
    raw.filter((w) => w < 0),
    Math.abs,
  );
  const cSigma = (muEff + 2) / (n + muEff + 5);
  return {
    ...{ mu, muEff, c1, cMu, cSigma },
    weights: raw.map((w) => (w >= 0 ? w / positive : (least * w) / negative)),
    dSigma: 1 + 2 * Math.max(0, Math.sqrt((muEff - 1) / (n + 1)) - 1) + cSigma,
    cC: (4 + muEff / n) / (n + 4 + (2 * muEff) / n),
    chi: Math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n)),
  };
}

/** Standard normal numbers, by the polar method. */
function gaussian(random: Random): number {
  for (;;) {
    const u = 2 * random.next() - 1;
    const v = 2 * random.next() - 1;
    const s = u * u + v * v;
    if (s > 0 && s < 1) return u * Math.sqrt((-2 * Math.log(s)) / s);
  }
}

/** The matrix with these eigenvectors, its eigenvalues changed by `change`, times a vector. */
const apply = ({ values, vectors }: Eigen, change: (root: number) => number, y: readonly number[]): number[] => {
  const inner = values.map((value, k) => {
    const along = total(y, (each, i) => each * vectors[i]![k]!);
    return along * change(Math.sqrt(Math.max(value, LEAST_EIGENVALUE)));
  });
  return vectors.map((row) => total(row, (each, k) => each * inner[k]!));
};

function draw(state: CmaState, eigen: Eigen, random: Random): number[] {
  const roots = eigen.values.map((value) => Math.sqrt(Math.max(value, LEAST_EIGENVALUE)));
  const z = roots.map((root) => root * gaussian(random));
  return state.mean.map((mean, i) => mean + state.sigma * total(z, (each, k) => each * eigen.vectors[i]![k]!));
}

/** The candidates of the generation that the state is at: always the same ones. */
export const askCma = (state: CmaState): number[][] => drawAll(state, eigenOf(state.covariance));

function drawAll(state: CmaState, eigen: Eigen): number[][] {
  const random = seededRandom(seedFor(state.seed, "cma-es", state.generation));
  const { bounds } = state;
  const isWithin = (x: readonly number[]) =>
    bounds === null || x.every((value, i) => value >= bounds[i]![0] && value <= bounds[i]![1]);
  return Array.from({ length: state.population }, () => {
    let x = draw(state, eigen, random);
    for (let redraw = 0; redraw < MAX_REDRAWS && !isWithin(x); redraw += 1) x = draw(state, eigen, random);
    if (bounds === null) return x;
    return x.map((value, i) => Math.min(bounds[i]![1], Math.max(bounds[i]![0], value)));
  });
}

/** The state after the scores of `askCma`'s candidates, in their order; the lowest is the best. */
export function tellCma(state: CmaState, scores: readonly number[]): CmaState {
  const { mean, sigma, generation, population } = state;
  const n = mean.length;
  if (scores.length !== population)
    throw wrong("SEARCH_SCORES_MISSING", `${population} candidates have ${scores.length} scores`);
  if (!areFinite(scores))
    throw wrong("SEARCH_SCORE_NOT_FINITE", `the scores ${scores.join(", ")} are not all numbers`, "Ask again.");
  const { mu, muEff, weights, c1, cMu, cC, cSigma, dSigma, chi } = constantsOf(n, population);
  const eigen = eigenOf(state.covariance);
  const candidates = drawAll(state, eigen);
  const order = scores.map((_, i) => i).sort((a, b) => scores[a]! - scores[b]! || a - b);
  const steps = order.map((i) => candidates[i]!.map((value, k) => (value - mean[k]!) / sigma));
  const step = mean.map((_, k) => total(weights.slice(0, mu), (w, i) => w * steps[i]![k]!));
  const whitened = apply(eigen, (root) => 1 / root, step);
  const path_sigma = state.path_sigma.map(
    (p, k) => (1 - cSigma) * p + Math.sqrt(cSigma * (2 - cSigma) * muEff) * whitened[k]!,
  );
  const length = Math.sqrt(total(path_sigma, (p) => p * p));
  const isMoving = length / Math.sqrt(1 - (1 - cSigma) ** (2 * (generation + 1))) < (1.4 + 2 / (n + 1)) * chi;
  const h = isMoving ? 1 : 0;
  const path_c = state.path_c.map((p, k) => (1 - cC) * p + h * Math.sqrt(cC * (2 - cC) * muEff) * step[k]!);
  const scaled = weights.map((w, i) => {
    if (w >= 0) return w;
    const white = apply(eigen, (root) => 1 / root, steps[i]!);
    return (w * n) / (total(white, (each) => each * each) + 1e-8);
  });
  const keep = 1 + c1 * (1 - h) * cC * (2 - cC) - c1 - cMu * total(weights);
  const covariance = state.covariance.map((row, i) =>
    row.map((value, j) => {
      const rankMu = total(scaled, (w, k) => w * steps[k]![i]! * steps[k]![j]!);
      return keep * value + c1 * path_c[i]! * path_c[j]! + cMu * rankMu;
    }),
  );
  const next: CmaState = {
    ...state,
    generation: generation + 1,
    mean: plain(mean.map((value, k) => value + sigma * step[k]!)),
    sigma: Math.min(MAX_SIGMA, sigma * Math.exp((cSigma / dSigma) * (length / chi - 1))),
    covariance: covariance.map((row, i) => plain(row.map((value, j) => (value + covariance[j]![i]!) / 2))),
    path_sigma: plain(path_sigma),
    path_c: plain(path_c),
  };
  if (!areFinite([next.sigma, ...next.mean, ...next.covariance.flat(), ...path_sigma, ...path_c]) || next.sigma === 0)
    throw wrong("SEARCH_DIVERGED", "the search has left the numbers", "Start it anew with narrower bounds.");
  return isSpent(next) ? beginAgain(next) : next;
}

/** Whether all candidates are one point, as far as numbers can tell: it has found a lowest point, which need not be the lowest of all. */
const isSpent = ({ sigma, covariance, start }: CmaState): boolean =>
  sigma * Math.sqrt(Math.max(...covariance.map((row, i) => row[i]!))) < LEAST_SPREAD * start.sigma;

/** From the start, with twice as many candidates: a larger generation sees further over the hills (IPOP). */
const beginAgain = (state: CmaState): CmaState => ({
  ...startCma({ ...state, ...state.start, population: Math.min(MAX_POPULATION, 2 * state.population) }),
  generation: state.generation,
});
