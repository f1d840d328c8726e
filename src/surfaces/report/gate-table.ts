import type { ConfigSnapshot, GateView } from "../../pipeline/index.ts";
import { number } from "../cli/text.ts";
import { endedGates, intervalWords, lastRatio, nameOf, shortModel, signed, VERDICT_WORDS } from "../pipeline/words.ts";
import { boundsWords, clockTime } from "./figures.ts";
import { at, type Html, html, nothing } from "./html.ts";
import { path } from "./plot.ts";
import { scale } from "./scale.ts";

/** So many stand on the page; the others are a click away. */
const MAX_OPEN = 12;
const INTERVAL = { width: 150, height: 16 };
const RATIO = { width: 76, height: 20 };

/** The interval on the scale of all of them, with zero marked. */
function interval({ elo }: GateView, reach: number): Html {
  if (elo === null) return nothing;
  const { width, height } = INTERVAL;
  const x = scale(-reach, reach, 4, width - 4);
  const inside = (value: number) => x(Math.max(-reach, Math.min(reach, value)));
  return html`<svg class="interval" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" aria-hidden="true"><line class="zero" x1="${at(x(0))}" x2="${at(x(0))}" y1="0" y2="${height}"/><line class="reach" x1="${at(inside(elo.low))}" x2="${at(inside(elo.high))}" y1="8" y2="8"/><circle cx="${at(inside(elo.estimate))}" cy="8" r="3.5"/></svg>`;
}

/** The way of the ratio between its bounds. */
function ratio({ llr, lower, upper }: GateView): Html {
  const { width, height } = RATIO;
  const y = scale(Math.min(lower, ...llr), Math.max(upper, ...llr), height - 2, 2);
  const x = scale(0, Math.max(1, llr.length), 2, width - 4);
  const trace = path([0, ...llr].map((value, i): [number, number] => [x(i), y(value)]));
  const bound = (value: number) =>
    html`<line class="bound" x1="0" x2="${width}" y1="${at(y(value))}" y2="${at(y(value))}"/>`;
  return html`<svg class="ratio" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" aria-hidden="true">${[bound(lower), bound(upper)]}<path class="trace" d="${trace}"/></svg>`;
}

const head = html`<thead><tr><th class="right">Iteration</th><th>Verdict</th><th>Elo after stopping</th><th></th><th class="right">LLR</th><th></th><th class="right">Games</th><th>Blocks by score</th><th>Bounds</th><th>Against</th><th>At (UTC)</th><th>Candidate</th></tr></thead>`;

function table(config: ConfigSnapshot, gates: ReturnType<typeof endedGates>, reach: number): Html {
  const rows = gates.map(
    (gate) =>
      html`<tr class="${gate.verdict}"><td class="right">${gate.iteration}</td><td class="verdict">${VERDICT_WORDS[gate.verdict]}</td><td>${gate.elo === null ? "" : intervalWords(gate.elo)}</td><td>${interval(gate, reach)}</td><td class="right">${signed(lastRatio(gate), 2)}</td><td>${ratio(gate)}</td><td class="right">${number(gate.games)}</td><td>${gate.counts.join(" ")}</td><td>${boundsWords(gate)}</td><td>${nameOf(config, gate.opponent)}</td><td>${gate.ended_at === null ? "" : clockTime(gate.ended_at)}</td><td><code>${shortModel(gate.candidate)}</code></td></tr>`,
  );
  return html`<div class="card"><table>${head}<tbody>${rows}</tbody></table></div>`;
}

/** Every decision with its numbers, newest first. */
export function gateTable(config: ConfigSnapshot): Html {
  const gates = endedGates(config);
  if (gates.length === 0) return html`<p class="soft">No gate has ended.</p>`;
  const reach = Math.max(
    20,
    ...gates.flatMap(({ elo }) => (elo === null ? [] : [Math.abs(elo.low), Math.abs(elo.high)])),
  );
  const older = gates.slice(MAX_OPEN);
  return html`${table(config, gates.slice(0, MAX_OPEN), reach)}${
    older.length === 0
      ? nothing
      : html`<details><summary>${`${older.length} earlier decisions`}</summary>${table(config, older, reach)}</details>`
  }`;
}
