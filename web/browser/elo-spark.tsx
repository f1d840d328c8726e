/** How strong the champions were, one after the other, in the room of a word. */
import type { ConfigSnapshot } from "../../src/pipeline/snapshot.ts";
import { plural } from "../../src/surfaces/cli/text.ts";
import { strengthsOf } from "../../src/surfaces/pipeline/strength.ts";
import { signed } from "../../src/surfaces/pipeline/words.ts";

const WIDTH = 96;
const HEIGHT = 26;
const MAX_POINTS = 60;

export function EloSpark({ config }: { config: Pick<ConfigSnapshot, "ladder" | "champions" | "gates"> }) {
  const points = strengthsOf(config)
    .slice(-MAX_POINTS)
    .map(({ elo, rated }) => ({ elo, low: rated?.low ?? elo, high: rated?.high ?? elo }));
  if (points.length < 2) return <span class="dim">–</span>;
  const low = Math.min(...points.map((each) => each.low));
  const high = Math.max(...points.map((each) => each.high));
  const x = (i: number) => 2 + (i / (points.length - 1)) * (WIDTH - 4);
  const y = (value: number) => 2 + (1 - (value - low) / Math.max(1, high - low)) * (HEIGHT - 4);
  const line = points.map(({ elo: value }, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const band = [
    ...points.map((each, i) => `${x(i).toFixed(1)},${y(each.high).toFixed(1)}`),
    ...points.map((each, i) => `${x(i).toFixed(1)},${y(each.low).toFixed(1)}`).reverse(),
  ].join(" ");
  const gain = points.at(-1)!.elo - points[0]!.elo;
  const label = `${signed(gain)} Elo over ${plural(points.length, "champion")}`;
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img" aria-label={label}>
      <title>{label}</title>
      <polygon class="band" points={band} />
      <polyline points={line} />
      <circle cx={x(points.length - 1)} cy={y(points.at(-1)!.elo)} r="2" />
    </svg>
  );
}
