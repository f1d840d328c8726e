/** What training runs reported: the loss with its parts, and every other number by its name. */
import type { LossPoint } from "../../src/pipeline/snapshot.ts";
import { figureOf, LOSS_LINES, lossWords, otherCurves } from "../../src/surfaces/pipeline/curves.ts";
import { Figure, Line } from "./figure.tsx";
import { Empty, Panel } from "./parts.tsx";

const STYLES = ["first", "second", "third"];

export function LossFigure({ losses }: { losses: readonly LossPoint[] }) {
  const lines = LOSS_LINES.map(({ name, of }) => ({
    name,
    points: losses.map((point) => [point.iteration, of(point)] as const),
  })).filter(({ points }) => points.some(([, value]) => value !== null));
  const last = losses.at(-1);
  if (last === undefined)
    return (
      <div class="empty">
        <Empty
          title="Nothing was trained yet."
          todo="Each training run that ends adds a point; the first needs games."
        />
      </div>
    );
  const iterations = losses.map(({ iteration }) => iteration);
  return (
    <Figure
      title="Loss of training runs"
      caption={
        <span class="legend">
          {lines.map(({ name }, i) => (
            <span key={name} class={STYLES[i]}>
              <i />
              {name}
            </span>
          ))}
          <span class="dim">last: {lossWords(last)}</span>
        </span>
      }
      x={{ from: iterations[0]!, to: Math.max(iterations[0]! + 1, iterations.at(-1)!), label: "iteration" }}
      y={{ values: lines.flatMap(({ points }) => points.flatMap(([, value]) => value ?? [])), label: "loss" }}
      draw={(frame) =>
        lines.map(({ name, points }, i) => (
          <Line key={name} name={STYLES[i] ?? "third"} frame={frame} points={points} />
        ))
      }
      table={{
        head: ["iteration", ...lines.map(({ name }) => name)],
        rows: losses.map((point, i) => [
          String(point.iteration),
          ...lines.map(({ points }) => points[i]?.[1]?.toFixed(4) ?? ""),
        ]),
      }}
    />
  );
}

const MAX_CURVES = 12;

export const OtherCurves = ({ losses }: { losses: readonly LossPoint[] }) => (
  <>
    {otherCurves(losses)
      .filter(({ points }) => new Set(points.map(({ value }) => value)).size > 1)
      .slice(0, MAX_CURVES)
      .map(({ name, points }) => (
        <Panel key={name} title={name.replaceAll("_", " ")} aside={`last ${figureOf(points.at(-1)!.value)}`}>
          <Figure
            title={`${name} of training runs`}
            height={150}
            x={{
              from: points[0]!.iteration,
              to: Math.max(points[0]!.iteration + 1, points.at(-1)!.iteration),
              label: "iteration",
            }}
            y={{ values: points.map(({ value }) => value), label: name, words: figureOf }}
            draw={(frame) => (
              <Line name="first" frame={frame} points={points.map(({ iteration, value }) => [iteration, value])} />
            )}
            table={{
              head: ["iteration", name],
              rows: points.map(({ iteration, value }) => [String(iteration), figureOf(value)]),
            }}
          />
        </Panel>
      ))}
  </>
);
