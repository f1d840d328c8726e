/** Axes: where a value lies, and which round numbers to write beside it. Pure arithmetic. */

export interface Scale {
  readonly from: number;
  readonly to: number;
  /** The place of a value on the page. */
  (value: number): number;
}

export function scale(from: number, to: number, first: number, last: number): Scale {
  const place = (value: number) =>
    to > from ? first + ((value - from) / (to - from)) * (last - first) : (first + last) / 2;
  return Object.assign(place, { from, to });
}

const STEPS = [1, 2, 2.5, 5, 10];

/** The round step that gives at most so many of them. */
function stepFor(span: number, max: number, whole: boolean): number {
  if (!(span > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(span / max));
  for (const factor of [...STEPS, 20, 50, 100]) {
    const step = factor * power;
    if (span / step > max || (whole && !Number.isInteger(step))) continue;
    return step;
  }
  return power * 100;
}

/** Round numbers from `from` to `to`, at most about `most`. */
export function ticks(from: number, to: number, max: number, whole = false): number[] {
  const step = stepFor(to - from, Math.max(1, max), whole);
  const first = Math.ceil(from / step - 1e-9);
  // Counted, not walked: beside a huge number a small step would lead nowhere.
  const count = Math.min(Math.floor(to / step + 1e-9) - first, max) + 1;
  return Array.from({ length: Math.max(0, count) }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** All values, with some room beside them; never narrower than `least`. */
export function paddedRange(values: readonly number[], share: number, least: number): readonly [number, number] {
  const finite = values.filter(Number.isFinite);
  if (finite.length === 0) return [0, 1];
  const low = Math.min(...finite);
  const high = Math.max(...finite);
  const room = Math.max((high - low) * share, (least - (high - low)) / 2);
  return [low - room, high + room];
}

/** A range that begins and ends at round numbers, so that no value lies on the edge of the figure. */
export function roundRange(values: readonly number[], max: number): readonly [number, number] {
  const finite = values.filter(Number.isFinite);
  if (finite.length === 0) return [0, 1];
  const low = Math.min(...finite);
  const high = Math.max(...finite);
  const span = Math.max(high - low, Math.abs(high) * 1e-9, 1e-9);
  const step = stepFor(span, max, false);
  const from = Math.floor((low - span * 0.02) / step) * step;
  const to = Math.ceil((high + span * 0.02) / step) * step;
  return [from, to];
}

/** Labels beside their places, moved as little as keeps them `gap` apart, all between `first` and `last`. */
export function apart(places: readonly number[], gap: number, first: number, last: number): number[] {
  const order = places.map((place, i) => ({ place, i })).sort((a, b) => a.place - b.place || a.i - b.i);
  const moved = order.map(({ place }) => Math.min(last, Math.max(first, place)));
  for (let k = 1; k < moved.length; k += 1) moved[k] = Math.max(moved[k]!, moved[k - 1]! + gap);
  if (moved.length > 0 && moved.at(-1)! > last) {
    moved[moved.length - 1] = last;
    for (let k = moved.length - 2; k >= 0; k -= 1) moved[k] = Math.min(moved[k]!, moved[k + 1]! - gap);
  }
  const result = places.map(() => 0);
  for (const [k, { i }] of order.entries()) result[i] = moved[k]!;
  return result;
}
