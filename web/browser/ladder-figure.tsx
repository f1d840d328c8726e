/** How strong the champions were when they came, how sure that is, and which named opponents lie behind. */
import type { ConfigSnapshot, Rated } from "../../src/pipeline/snapshot.ts";
import { number, plural, printable } from "../../src/surfaces/cli/text.ts";
import { eloWords, signed } from "../../src/surfaces/pipeline/words.ts";
import { apart } from "../../src/surfaces/report/scale.ts";
import { Figure, type Frame, Line } from "./figure.tsx";
import { Empty } from "./parts.tsx";

interface Point {
  readonly generation: number;
  readonly iteration: number;
  readonly rated: Rated;
}

const pointsOf = ({ champions, ladder }: Pick<ConfigSnapshot, "champions" | "ladder">): Point[] => {
  const rating = new Map(ladder.map((rated) => [rated.player, rated]));
  return champions.flatMap(({ model, generation, iteration }) => {
    const rated = rating.get(model);
    return rated === undefined ? [] : [{ generation, iteration, rated }];
  });
};

const Whiskers = ({ points, frame }: { points: readonly Point[]; frame: Frame }) => (
  <>
    {points.map(({ iteration, generation, rated: { low, high } }) => (
      <line
        key={generation}
        class="whisker"
        x1={frame.x(iteration)}
        x2={frame.x(iteration)}
        y1={frame.y(low)}
        y2={frame.y(high)}
      />
    ))}
  </>
);

export function EloOverTime({ config, beside }: { config: ConfigSnapshot; beside?: ConfigSnapshot | undefined }) {
  const points = pointsOf(config);
  const others = beside === undefined ? [] : pointsOf(beside);
  if (points.length === 0)
    return (
      <div class="empty">
        <Empty title="No champion is rated yet." todo="The first ratings come after the first gate." />
      </div>
    );
  const anchors = config.ladder.filter(({ is_anchor }) => is_anchor).sort((a, b) => b.elo - a.elo);
  const all = [...points, ...others];
  const iterations = all.map(({ iteration }) => iteration);
  const last = points.at(-1)!;
  return (
    <Figure
      title={`Elo of the champions of ${config.config_key}`}
      caption={
        <>
          <b>{eloWords(last.rated)}</b> Elo now, {signed(last.rated.elo - points[0]!.rated.elo)} since the first of{" "}
          {plural(points.length, "champion")}.
          {beside !== undefined && (
            <span class="legend">
              <span>
                <i />
                {config.config_key}
              </span>
              <span class="second">
                <i />
                {beside.config_key}
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
        values: [...all.flatMap(({ rated: { low, high } }) => [low, high]), ...anchors.map(({ elo }) => elo)],
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
            <Whiskers points={points} frame={frame} />
            <Line name="first" frame={frame} points={points.map(({ iteration, rated }) => [iteration, rated.elo])} />
            {others.length > 0 && (
              <Line name="second" frame={frame} points={others.map(({ iteration, rated }) => [iteration, rated.elo])} />
            )}
          </>
        );
      }}
      table={{
        head: ["generation", "iteration", "Elo", "from", "to", "games"],
        rows: points.map(({ generation, iteration, rated }) => [
          String(generation),
          String(iteration),
          signed(rated.elo),
          signed(rated.low),
          signed(rated.high),
          number(rated.games),
        ]),
      }}
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
        <Empty title="Nobody is rated yet." />
      </div>
    );
  const from = Math.min(...rungs.map(({ low }) => low));
  const to = Math.max(...rungs.map(({ high }) => high));
  const x = (elo: number) => 2 + ((elo - from) / Math.max(1, to - from)) * 196;
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
              <circle cx={x(rated.elo)} cy="7" r="4" />
            </svg>
            <span class="dim">{rated.is_anchor ? "anchor" : isNow ? "now" : plural(rated.games, "game")}</span>
          </li>
        );
      })}
    </ul>
  );
}
