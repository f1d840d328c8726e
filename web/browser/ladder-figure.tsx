/** How strong the champions were when they came, how sure that is, and which named opponents lie behind. */
import type { ConfigSnapshot } from "../../src/pipeline/snapshot.ts";
import { number, plural, printable } from "../../src/surfaces/cli/text.ts";
import type { Compared } from "../../src/surfaces/pipeline/other-run.ts";
import { type Strength, strengthsOf } from "../../src/surfaces/pipeline/strength.ts";
import { eloWords, signed } from "../../src/surfaces/pipeline/words.ts";
import { apart } from "../../src/surfaces/report/scale.ts";
import { Figure, type Frame, Line } from "./figure.tsx";
import { Empty } from "./parts.tsx";

const Whiskers = ({ points, frame }: { points: readonly Strength[]; frame: Frame }) => (
  <>
    {points.map(({ iteration, generation, elo, rated }) =>
      rated === null ? (
        <circle key={generation} class="guess" cx={frame.x(iteration)} cy={frame.y(elo)} r="4" />
      ) : (
        <line
          key={generation}
          class="whisker"
          x1={frame.x(iteration)}
          x2={frame.x(iteration)}
          y1={frame.y(rated.low)}
          y2={frame.y(rated.high)}
        />
      ),
    )}
  </>
);

/** How strong it is now, in a sentence. */
const Now = ({ points }: { points: readonly Strength[] }) => {
  const [first, last] = [points[0]!, points.at(-1)!];
  const gain = `${signed(last.elo - first.elo)} since the first of ${plural(points.length, "champion")}`;
  return last.rated === null ? (
    <>
      About <b>{signed(last.elo)}</b> Elo now by its gates, {gain}. Rings are not rated yet.
    </>
  ) : (
    <>
      <b>{eloWords(last.rated)}</b> Elo now, {gain}.
    </>
  );
};

const numbersOf = ({ generation, iteration, elo, rated }: Strength): string[] => [
  String(generation),
  String(iteration),
  signed(elo),
  rated === null ? "" : signed(rated.low),
  rated === null ? "" : signed(rated.high),
  rated === null ? "by its gate" : number(rated.games),
];

/** Another config, or another run of this one. */
export interface Beside {
  readonly name: string;
  readonly about: string;
  readonly shown: Compared;
}

export function EloOverTime({ config, beside }: { config: ConfigSnapshot; beside?: Beside | undefined }) {
  const points = strengthsOf(config);
  const others = beside === undefined ? [] : strengthsOf(beside.shown);
  if (points.length === 0)
    return (
      <div class="empty">
        <Empty
          title="No champion is rated yet."
          todo={
            <>
              The first rating comes after the first gate. <a href={`/why/${config.config_key}`}>Why</a> says what it
              waits for.
            </>
          }
        />
      </div>
    );
  const anchors = config.ladder.filter(({ is_anchor }) => is_anchor).sort((a, b) => b.elo - a.elo);
  const all = [...points, ...others];
  const iterations = all.map(({ iteration }) => iteration);
  return (
    <Figure
      title={`Elo of the champions of ${config.config_key}`}
      caption={
        <>
          <Now points={points} />
          {beside !== undefined && (
            <span class="legend">
              <span>
                <i />
                {config.config_key}
              </span>
              <span class="second">
                <i />
                {printable(beside.name)}, {beside.about}
              </span>
            </span>
          )}
        </>
      }
      x={{
        from: Math.min(...iterations),
        to: Math.max(Math.min(...iterations) + 1, ...iterations),
        label: "iteration",
      }}
      y={{
        values: [
          ...all.flatMap(({ elo, rated }) => (rated === null ? [elo] : [rated.low, rated.high])),
          ...anchors.map(({ elo }) => elo),
        ],
        label: "Elo",
        words: signed,
      }}
      height={280}
      right={96}
      draw={(frame) => {
        const places = apart(
          anchors.map(({ elo }) => frame.y(elo)),
          12,
          frame.edge.top,
          frame.height - frame.edge.bottom,
        );
        return (
          <>
            {anchors.map(({ elo, name, player }, i) => (
              <g class="anchor" key={player}>
                <line x1={frame.edge.left} x2={frame.width - frame.edge.right} y1={frame.y(elo)} y2={frame.y(elo)} />
                <text x={frame.width - frame.edge.right + 6} y={places[i]} dy="0.32em">
                  {printable(name)}
                </text>
              </g>
            ))}
            <Line name="first" frame={frame} points={points.map(({ iteration, elo }) => [iteration, elo])} />
            <Whiskers points={points} frame={frame} />
            {others.length > 0 && (
              <Line name="second" frame={frame} points={others.map(({ iteration, elo }) => [iteration, elo])} />
            )}
          </>
        );
      }}
      table={{ head: ["generation", "iteration", "Elo", "from", "to", "games"], rows: points.map(numbersOf) }}
    />
  );
}

const MAX_RUNGS = 24;

/** Everybody who is rated, best first. */
export function Ladder({ config }: { config: ConfigSnapshot }) {
  const rungs = config.ladder.toSorted((a, b) => b.elo - a.elo).slice(0, MAX_RUNGS);
  if (rungs.length === 0)
    return (
      <div class="empty">
        <Empty title="Nobody is rated yet." todo="Models come onto the ladder with their first gate." />
      </div>
    );
  const from = Math.min(...rungs.map(({ low }) => low));
  const to = Math.max(...rungs.map(({ high }) => high));
  const x = (elo: number) => 4 + ((elo - from) / Math.max(1, to - from)) * 192;
  return (
    <ul class="rungs">
      {rungs.map((rated) => {
        const isNow = rated.player === config.champion?.model;
        return (
          <li key={rated.player} class={`rung ${isNow ? "now" : rated.is_anchor ? "anchor" : ""}`}>
            <span class={isNow ? "strong" : ""}>
              {rated.is_anchor ? (
                printable(rated.name)
              ) : (
                <a href={`/models/${rated.player}`}>{printable(rated.name)}</a>
              )}
            </span>
            <span class="num">{eloWords(rated)}</span>
            <svg viewBox="0 0 200 14" preserveAspectRatio="none" aria-hidden="true">
              <line x1={x(rated.low)} x2={x(rated.high)} y1="7" y2="7" />
              <path class="dot" d={`M${x(rated.elo)} 7h0`} />
            </svg>
            <span class="dim">{rated.is_anchor ? "anchor" : isNow ? "now" : plural(rated.games, "game")}</span>
          </li>
        );
      })}
    </ul>
  );
}
