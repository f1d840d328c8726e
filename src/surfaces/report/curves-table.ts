import type { ConfigSnapshot } from "../../pipeline/index.ts";
import { plural } from "../cli/text.ts";
import { type Curve, figureOf, otherCurves } from "../pipeline/curves.ts";
import { type Html, html, nothing } from "./html.ts";
import { path, thinned } from "./plot.ts";
import { scale } from "./scale.ts";

const SIZE = { width: 220, height: 36 };
const MAX_POINTS = 120;

/** A line without axes: its first and last value stand beside it. */
function line({ name, points }: Curve): Html {
  const drawn = thinned(points, MAX_POINTS);
  const values = drawn.map(({ value }) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = scale(0, Math.max(1, drawn.length - 1), 2, SIZE.width - 2);
  const y = scale(low, high, SIZE.height - 3, 3);
  const about = `${name}, ${figureOf(low)} to ${figureOf(high)}`;
  return html`<svg viewBox="0 0 ${SIZE.width} ${SIZE.height}" width="${SIZE.width}" height="${SIZE.height}" role="img" aria-label="${about}"><g class="c1"><path class="line" d="${path(
    values.map((value, i): [number, number] => [x(i), y(value)]),
  )}"/></g></svg>`;
}

/** Every number that training runs reported beside the loss, one line each. */
export function curvesTable({ losses }: ConfigSnapshot): Html {
  const curves = otherCurves(losses);
  if (curves.length === 0) return nothing;
  const rows = curves.map(
    (curve) =>
      html`<tr><td><code>${curve.name}</code></td><td class="right">${figureOf(curve.points[0]!.value)}</td><td>${line(curve)}</td><td class="right">${figureOf(curve.points.at(-1)!.value)}</td></tr>`,
  );
  return html`<details><summary>${`${plural(curves.length, "other curve")} of training`}</summary><div class="card"><table><thead><tr><th>Metric</th><th class="right">First</th><th></th><th class="right">Last</th></tr></thead><tbody>${rows}</tbody></table></div></details>`;
}
