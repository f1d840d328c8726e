/** The report of an experiment, as a page that people read and a picture of its differences. */
import type { Book } from "./book.ts";
import { bookKey } from "./book.ts";
import { armsOf, type Experiment, seedsOf } from "./definition.ts";
import type { ArmResult } from "./verdicts.ts";

const whole = (value: number): string => (value >= 0 ? "+" : "") + String(Math.round(value));
const percent = (value: number): string => `${Number((100 * value).toPrecision(2))} %`;

const VERDICTS: Readonly<Record<ArmResult["verdict"], string>> = {
  better: "better",
  worse: "worse",
  "not shown": "no difference shown",
};

const escapeXml = (text: string): string =>
  text.replace(/[&<>"]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[char]!);

/** Every seed's difference as a dot, the mean with its interval as a bar: one line for each arm. */
export function experimentPlot(results: readonly ArmResult[]): string {
  const all = results.flatMap(({ differences, difference }) => [
    ...differences.map(({ elo }) => elo),
    difference.low,
    difference.high,
  ]);
  const reach = Math.max(10, ...all.map(Math.abs)) * 1.05;
  const [width, row, left] = [720, 44, 170];
  const height = row * results.length + 50;
  const x = (elo: number) => Math.round(left + ((elo + reach) / (2 * reach)) * (width - left - 20));
  const ticks = [-1, -0.5, 0, 0.5, 1].map((share) => Math.round((share * reach) / 1.05));
  const axis = ticks
    .map(
      (elo) =>
        `<line x1="${x(elo)}" x2="${x(elo)}" y1="10" y2="${height - 40}" stroke="#bbb" stroke-dasharray="${elo === 0 ? "" : "2 3"}"/>` +
        `<text x="${x(elo)}" y="${height - 22}" text-anchor="middle">${whole(elo)}</text>`,
    )
    .join("");
  const lines = results.map(({ arm, differences, difference: { estimate, low, high } }, i) => {
    const y = 10 + row * i + row / 2;
    const dots = differences
      .map(({ elo }) => `<circle cx="${x(elo)}" cy="${y - 8}" r="3.5" fill="#2563c9" opacity="0.6"/>`)
      .join("");
    return (
      `<text x="${left - 12}" y="${y + 4}" text-anchor="end">${escapeXml(arm)}</text>${dots}` +
      `<line x1="${x(low)}" x2="${x(high)}" y1="${y + 8}" y2="${y + 8}" stroke="#b4540a" stroke-width="3"/>` +
      `<circle cx="${x(estimate)}" cy="${y + 8}" r="5" fill="#b4540a"/>`
    );
  });
  const title = "Elo over the control: each seed (dots), mean with 95 % interval (bar)";
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${title}" font-family="sans-serif" font-size="12">` +
    `<rect width="${width}" height="${height}" fill="#fff"/>${axis}${lines.join("")}` +
    `<text x="${left}" y="${height - 5}" fill="#555">${title}</text></svg>\n`
  );
}

const seconds = (value: number): string => (value < 90 ? `${Math.round(value)} s` : `${Math.round(value / 60)} min`);

export function experimentReport(
  experiment: Experiment,
  book: Book,
  results: readonly ArmResult[],
  about: { readonly rate: number; readonly compared: number; readonly version: string; readonly workers: number },
): string {
  const { name, config_key, iterations, seeds, match, beside, games: budget } = experiment;
  const [control = ""] = armsOf(experiment);
  const verdicts = results.map(
    ({ arm, difference: { estimate, low, high, deviation, pValue }, rate, verdict }) =>
      `| \`${arm}\` | ${whole(estimate)} | ${whole(low)} to ${whole(high)} | ${Math.round(deviation)} | ${percent(pValue)} | ${percent(rate)} | ${VERDICTS[verdict]} |`,
  );
  const runs = armsOf(experiment).flatMap((arm) =>
    seedsOf(experiment).map((seed) => {
      const { champion, games, promotions, seconds: took } = book.runs[bookKey(arm, seed)]!;
      const played = results.find((result) => result.arm === arm)?.differences.find((each) => each.seed === seed);
      return `| \`${arm}\` | ${seed} | \`${champion.slice(0, 12)}\` | ${promotions} | ${games} | ${seconds(took)} | ${played === undefined ? "" : whole(played.elo)} |`;
    }),
  );
  const { about: words, fingerprint: _print, name: _name, ...definition } = experiment;
  return `# Experiment: ${name}

${words === "" ? "" : `${words}\n\n`}Made by \`ringrift experiment ${name}\` (version ${about.version}, ${about.workers} workers). ${[config_key, ...beside].join(", ")}, ${budget === null ? `${iterations} iterations` : `${budget} games in all`},
${seeds} seeds an arm. The last champions of an arm and of the control with the same seed played ${match.blocks} blocks against each other, with openings of their own
and apart from all gates. A seed is one observation${beside.length === 0 ? "" : ", with the mean of all configs"}. The control is \`${control}\`.

![Differences](${name}.svg)

| Arm | Elo over \`${control}\` | 95 % interval | SD of a seed | p | False discovery rate | Verdict |
| --- | --- | --- | --- | --- | --- | --- |
${verdicts.join("\n")}

A verdict other than "no difference shown" needs a false discovery rate of at most ${percent(about.rate)} over all ${about.compared} comparisons of this run
(Benjamini-Hochberg).

## Runs

| Arm | Seed | Champion | Promotions | Games | Time | Elo over the control |
| --- | --- | --- | --- | --- | --- | --- |
${runs.join("\n")}

## Definition

\`\`\`json
${JSON.stringify(definition, undefined, 2)}
\`\`\`
`;
}
