import type { ConfigSnapshot, PipelineSnapshot } from "../../pipeline/index.ts";
import { number, plural } from "../cli/text.ts";
import { booksOffBy, byWords, nameOf, rejectedGames, rejectedReasons, shortModel } from "../pipeline/words.ts";
import type { ReportAbout } from "./about.ts";
import { curvesTable } from "./curves-table.ts";
import { clockTime, headlines, planRows, span, utc } from "./figures.ts";
import { gamesPlot } from "./games-plot.ts";
import { gateTable } from "./gate-table.ts";
import { Html, html, nothing } from "./html.ts";
import { ladderPlot } from "./ladder-plot.ts";
import { lossPlot } from "./loss-plot.ts";
import { nextSteps } from "./next-steps.ts";
import { STYLE } from "./style.ts";
import { troublesOf } from "./troubles.ts";

const tiles = (config: ConfigSnapshot): Html =>
  html`<dl class="tiles">${headlines(config).map(
    ({ name, value, note }) =>
      html`<div class="tile"><dt>${name}</dt><dd class="value">${value}</dd><dd class="note">${note}</dd></div>`,
  )}</dl>`;

/** Who was champion when. */
function championTable(config: ConfigSnapshot): Html {
  if (config.champions.length === 0) return nothing;
  const rows = config.champions
    .toReversed()
    .map(
      (champion) =>
        html`<tr><td class="right">${champion.generation}</td><td class="right">${champion.iteration}</td><td>${clockTime(champion.since)}</td><td>${byWords(champion)}</td><td>${nameOf(config, champion.model)}</td><td><code>${shortModel(champion.model)}</code></td></tr>`,
    );
  return html`<details><summary>${`${plural(config.champions.length, "champion")}, newest first`}</summary><div class="card"><table><thead><tr><th class="right">Generation</th><th class="right">Iteration</th><th>Since (UTC)</th><th>Crowned</th><th>Name</th><th>Model</th></tr></thead><tbody>${rows}</tbody></table></div></details>`;
}

const section = (config: ConfigSnapshot, about: ReportAbout): Html =>
  html`<section><h2>${config.config_key} <span class="soft">${`${config.state}, iteration ${config.iteration}, seed ${config.seed}`}</span></h2>${tiles(config)}${ladderPlot(config)}<div class="pair">${lossPlot(config)}${gamesPlot(config, about)}</div>${curvesTable(config)}<h3>Decisions of the gate</h3>${gateTable(config)}${championTable(config)}</section>`;

function books({ configs }: PipelineSnapshot): Html {
  const rows = configs.map(({ books: book }) => {
    const off = booksOffBy(book);
    return html`<tr><td>${book.config_key}</td><td class="right">${number(book.produced)}</td><td class="right">${number(book.durable)}</td><td class="right">${number(book.in_flight)}</td><td class="right">${number(rejectedGames(book))}</td><td class="words">${rejectedReasons(book)}</td><td class="${book.balanced ? "good" : "bad"}">${book.balanced ? "balanced" : `off by ${number(Math.abs(off))}`}</td></tr>`;
  });
  return html`<h2>Books</h2><p class="note">Games produced = durable + in flight + rejected.</p><div class="card"><table><thead><tr><th>Config</th><th class="right">Produced</th><th class="right">Durable</th><th class="right">In flight</th><th class="right">Rejected</th><th>Why</th><th></th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function troubles(snapshot: PipelineSnapshot, about: ReportAbout): Html {
  const found = troublesOf(snapshot, about);
  if (found.length === 0) return html`<h2>What went wrong</h2><p class="good">Nothing, as far as we know.</p>`;
  const rows = found.map(
    ({ at, config_key, what, outcome }) =>
      html`<tr><td>${at === null ? "" : clockTime(at)}</td><td>${config_key ?? ""}</td><td class="words">${what}</td><td>${outcome}</td></tr>`,
  );
  return html`<h2>What went wrong</h2><div class="card stack"><table><thead><tr><th>At (UTC)</th><th>Config</th><th>What</th><th>Result</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

/** The last words for who reads on: what to type. */
const steps = (snapshot: PipelineSnapshot, about: ReportAbout): Html =>
  pairs(nextSteps(snapshot, about).map(({ why, command }): [string, string] => [why, command]));

const pairs = (rows: readonly (readonly [string, string])[]): Html =>
  html`<div class="card stack"><table><tbody>${rows.map(
    ([name, value]) => html`<tr><td>${name}</td><td class="words"><code>${value}</code></td></tr>`,
  )}</tbody></table></div>`;

const plans = ({ plans: given }: ReportAbout): Html[] =>
  Object.entries(given).map(
    ([configKey, plan]) =>
      html`<details><summary>${`Plan of ${configKey}`}</summary>${pairs(planRows(plan))}</details>`,
  );

/** One file with everything in it: no script, and nothing is fetched. */
export function reportHtml(snapshot: PipelineSnapshot, about: ReportAbout): string {
  const { configs } = snapshot;
  const names = configs.map(({ config_key }) => config_key).join(", ");
  const expected = configs.reduce((sum, config) => sum + config.expected_false_promotions, 0);
  const promotions = configs.reduce((sum, { verdicts }) => sum + verdicts.promote, 0);
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${`RingRift: ${names === "" ? "no config" : names}, ${utc(about.started_at)}`}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<main>
<h1>RingRift run report</h1>
<p class="soft">${`${utc(about.started_at)}, ${span(about.ended_at - about.started_at)}; it ended because ${about.ended_by}.`}</p>
<p><code>${about.command}</code></p>
${configs.length === 0 ? html`<p>No config was opened.</p>` : configs.map((config) => section(config, about))}
${configs.length === 0 ? nothing : books(snapshot)}
${troubles(snapshot, about)}
<h2>How it was run</h2>
${pairs([...configs.map(({ config_key, seed }): [string, string] => [`seed of ${config_key}`, String(seed)]), ...Object.entries(about.versions)])}
${plans(about)}
<h2>What to do next</h2>
${steps(snapshot, about)}
<footer><p>${`Of ${plural(promotions, "promotion")}, about ${expected.toFixed(1)} are expected to be mistakes: a gate promotes a player that is not better with the probability alpha of its plan. Ratings come from separate games, never from the gates. Bars and bands are 95 % intervals. Do not compare the Elo of different configs.`}</p></footer>
</main>
</body>
</html>
`;
  return page.text;
}
