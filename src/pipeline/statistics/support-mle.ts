import { assert } from "../../kernel/index.ts";

/**
 * The distribution on given scores that is most likely for observed frequencies and obeys a constraint. With a linear
 * constraint sum(p * g) = 0 the method of Lagrange gives p = frequency / (1 + x * g) for the one x that obeys it.
 *
 * A t-value, (mean - reference) / deviation = t, is not linear, but it is an extremum of linear ones: the deviation
 * is the least value over all s and c of (E(score - c)^2 / s + s) / 2, taken at the distribution's own deviation and
 * mean. So each (s, c) gives a linear constraint, and the next (s, c) is read off its solution. Where the wanted t lies
 * beyond the observed one, every step brings a likelier distribution; where it lies inside, the linear problems are
 * relaxations whose divergence must climb, and a step that falls back is halved until it does.
 */

export interface Fit {
  readonly distribution: Float64Array;
  /** Sum of frequency * ln(frequency / probability): how much likelihood the constraint costs, a block. */
  readonly divergence: number;
  readonly multiplier: number;
}

const MAX_ROUNDS = 500;

/** The fit under sum(p * g) = 0, with a first guess of its multiplier; undefined when no distribution obeys it. */
function fitLinear(frequencies: ArrayLike<number>, g: Float64Array, guess: number): Fit | undefined {
  let smallest = Number.POSITIVE_INFINITY;
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < g.length; i += 1) {
    smallest = Math.min(smallest, g[i]!);
    largest = Math.max(largest, g[i]!);
  }
  if (!(smallest < 0 && largest > 0)) return undefined;
  // The sum below falls from +infinity to -infinity between the two poles: Newton, with bisection as the net.
  let low = -1 / largest;
  let high = -1 / smallest;
  let x = guess > low && guess < high ? guess : 0;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    let value = 0;
    let slope = 0;
    for (let i = 0; i < g.length; i += 1) {
      const ratio = g[i]! / (1 + x * g[i]!);
      value += frequencies[i]! * ratio;
      slope -= frequencies[i]! * ratio * ratio;
    }
    if (value > 0) low = x;
    else high = x;
    let next = x - value / slope;
    if (!(next > low && next < high)) next = (low + high) / 2;
    const moved = Math.abs(next - x);
    x = next;
    if (moved <= 1e-15 * Math.max(1, Math.abs(x))) break;
  }
  const distribution = new Float64Array(g.length);
  let divergence = 0;
  for (let i = 0; i < g.length; i += 1) {
    distribution[i] = frequencies[i]! / (1 + x * g[i]!);
    divergence += frequencies[i]! * Math.log1p(x * g[i]!);
  }
  return { distribution, divergence, multiplier: x };
}

/** The likeliest distribution with the given mean, which must lie strictly between the least and the greatest score. */
export function fitMean(frequencies: ArrayLike<number>, scores: readonly number[], mean: number): Fit {
  const fit = fitLinear(
    frequencies,
    Float64Array.from(scores, (score) => score - mean),
    0,
  );
  assert(fit !== undefined, `no distribution on ${scores[0]}..${scores.at(-1)} has the mean ${mean}`);
  return fit;
}

interface Spread {
  readonly center: number;
  readonly deviation: number;
}

const spreadOf = (distribution: ArrayLike<number>, scores: readonly number[]): Spread => {
  let center = 0;
  for (let i = 0; i < scores.length; i += 1) center += distribution[i]! * scores[i]!;
  let variance = 0;
  for (let i = 0; i < scores.length; i += 1) variance += distribution[i]! * (scores[i]! - center) ** 2;
  return { center, deviation: Math.sqrt(variance) };
};

const middle = (a: Spread, b: Spread): Spread => ({
  center: (a.center + b.center) / 2,
  deviation: (a.deviation + b.deviation) / 2,
});

/** The likeliest distribution whose (mean - reference) / deviation is t. The reference lies strictly inside the scores. */
export function fitTValue(
  frequencies: ArrayLike<number>,
  scores: readonly number[],
  reference: number,
  t: number,
): Fit {
  if (t === 0) return fitMean(frequencies, scores, reference);
  const g = new Float64Array(scores.length);
  const solve = ({ center, deviation }: Spread, guess: number): Fit | undefined => {
    for (let i = 0; i < g.length; i += 1) {
      const score = scores[i]!;
      g[i] = score - reference - (t / 2) * ((score - center) ** 2 / deviation + deviation);
    }
    return fitLinear(frequencies, g, guess);
  };
  const observed = spreadOf(frequencies, scores);
  const excess = observed.center - reference - t * observed.deviation;
  const beyond = t > 0 ? excess < 0 : excess > 0;

  const settle = (start: Spread): Fit | undefined => {
    let at = start;
    let fit = solve(at, 0);
    for (let round = 0; fit !== undefined && round < MAX_ROUNDS; round += 1) {
      let to = spreadOf(fit.distribution, scores);
      let next = solve(to, fit.multiplier);
      for (let halvings = 0; !beyond && halvings < 40; halvings += 1) {
        if (next !== undefined && next.divergence >= fit.divergence - 1e-12) break;
        to = middle(at, to);
        next = solve(to, fit.multiplier);
      }
      if (next === undefined) return undefined;
      const moved = Math.abs(to.center - at.center) + Math.abs(to.deviation - at.deviation);
      at = to;
      fit = next;
      if (moved < 1e-10) break;
    }
    return fit;
  };

  if (!beyond) {
    const fit = settle(observed);
    assert(fit !== undefined, "a constraint that cuts off the observed distribution has a solution");
    return fit;
  }
  // Beyond the observed value the problem is not convex: climb from three sides and keep the likeliest. The last start
  // always has a solution, as all weight on the extreme score obeys its constraint.
  const extreme = t > 0 ? scores.at(-1)! : scores[0]!;
  const starts: Spread[] = [
    spreadOf(new Float64Array(scores.length).fill(1 / scores.length), scores),
    observed,
    { center: extreme, deviation: Math.abs((extreme - reference) / t) },
  ];
  let best: Fit | undefined;
  for (const start of starts) {
    const fit = settle(start);
    if (fit !== undefined && (best === undefined || fit.divergence < best.divergence)) best = fit;
  }
  assert(best !== undefined, "all weight on the extreme score obeys the constraint");
  return best;
}
