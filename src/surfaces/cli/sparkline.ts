const LEVELS = "▁▂▃▄▅▆▇█";

/** The last `width` values as small bars; the scale is theirs unless it is given. */
export function sparkline(
  values: readonly number[],
  width: number,
  { low, high }: { readonly low?: number; readonly high?: number } = {},
): string {
  const shown = width < 1 ? [] : values.slice(-width);
  const from = low ?? Math.min(...shown);
  const to = high ?? Math.max(...shown);
  return shown
    .map((value) => {
      const share = to > from ? Math.min(1, Math.max(0, (value - from) / (to - from))) : 0.5;
      return LEVELS[Math.round(share * (LEVELS.length - 1))];
    })
    .join("");
}
