/** What runs said of themselves while they ran: each number over how far the run was. */
import { printable } from "../../src/surfaces/cli/text.ts";
import { figureOf } from "../../src/surfaces/pipeline/curves.ts";
import { Figure, Line } from "./figure.tsx";

type Points = readonly { readonly progress: number | null; readonly metrics: Readonly<Record<string, number>> }[];

/** So many lines can be told apart. */
export const STYLES = ["first", "second", "third"] as const;
/** How far the run was at each point: as it told, or by the place of the point among all. */
const placesOf = (points: Points): readonly number[] =>
  points.map(({ progress }, i) => 100 * (progress ?? i / Math.max(1, points.length - 1)));

export interface Drawn {
  readonly name: string;
  readonly points: readonly (readonly [number, number])[];
}

export const drawnOf = (name: string, points: Points, metric: string): Drawn => {
  const places = placesOf(points);
  return {
    name,
    points: points.flatMap(({ metrics }, i) => {
      const value = metrics[metric];
      return value === undefined ? [] : [[places[i]!, value] as const];
    }),
  };
};

const percent = (share: number): string => `${Math.round(share)} %`;

export const Curve = ({ title, lines, height }: { title: string; lines: readonly Drawn[]; height?: number }) => (
  <Figure
    title={title}
    {...(height === undefined ? {} : { height })}
    caption={
      lines.length < 2 ? undefined : (
        <span class="legend">
          {lines.map(({ name }, i) => (
            <span key={name} class={STYLES[i] ?? "third"}>
              <i />
              {printable(name)}
            </span>
          ))}
        </span>
      )
    }
    x={{ from: 0, to: 100, label: "share of the run", words: percent }}
    y={{
      values: lines.flatMap(({ points }) => points.map(([, value]) => value)),
      label: lines.length === 1 ? printable(lines[0]!.name) : "loss",
      words: figureOf,
    }}
    draw={(frame) =>
      lines.map(({ name, points }, i) => <Line key={name} name={STYLES[i] ?? "third"} frame={frame} points={points} />)
    }
    table={{
      head: ["share", "line", "value"],
      rows: lines.flatMap(({ name, points }) =>
        points.map(([share, value]) => [percent(share), printable(name), figureOf(value)]),
      ),
    }}
  />
);
