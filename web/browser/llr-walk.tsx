/** The walk of a sequential test between its bounds: above the upper one it promotes, below the lower one it rejects. */
import type { GateView } from "../../src/pipeline/snapshot.ts";
import { plural } from "../../src/surfaces/cli/text.ts";
import { intervalWords, lastRatio, signed } from "../../src/surfaces/pipeline/words.ts";
import { Figure, Line } from "./figure.tsx";

export function LlrWalk({ gate }: { gate: GateView }) {
  const walk = [0, ...gate.llr];
  return (
    <Figure
      title={`Log-likelihood ratio of the gate of iteration ${gate.iteration}`}
      caption={
        <>
          LLR <b>{signed(lastRatio(gate), 2)}</b>
          {gate.elo === null ? "" : `, ${intervalWords(gate.elo)}`}, {plural(gate.games, "game")}, asks for{" "}
          {signed(gate.elo0)} against {signed(gate.elo1)} Elo.
        </>
      }
      x={{ from: 0, to: Math.max(4, walk.length - 1), label: "batch" }}
      y={{ values: [...walk, gate.lower, gate.upper], label: "LLR" }}
      right={70}
      draw={(frame) => (
        <>
          {(
            [
              [gate.upper, "promote"],
              [gate.lower, "reject"],
            ] as const
          ).map(([bound, word]) => (
            <g class="bound" key={word}>
              <line x1={frame.edge.left} x2={frame.width - frame.edge.right} y1={frame.y(bound)} y2={frame.y(bound)} />
              <text x={frame.width - frame.edge.right + 6} y={frame.y(bound)} dy="0.32em">
                {word}
              </text>
            </g>
          ))}
          <Line name="first" frame={frame} points={walk.map((value, i) => [i, value])} />
        </>
      )}
      table={{ head: ["batch", "LLR"], rows: walk.map((value, i) => [String(i), value.toFixed(3)]) }}
    />
  );
}

const WIDTH = 90;
const HEIGHT = 22;

/** The same in the room of a word. */
export function GateSpark({ gate: { llr, lower, upper } }: { gate: Pick<GateView, "llr" | "lower" | "upper"> }) {
  const walk = [0, ...llr];
  if (walk.length < 2) return <span class="dim">–</span>;
  const [low, high] = [Math.min(lower, ...walk), Math.max(upper, ...walk)];
  const x = (i: number) => 1 + (i / (walk.length - 1)) * (WIDTH - 2);
  const y = (value: number) => 1 + (1 - (value - low) / (high - low)) * (HEIGHT - 2);
  const label = `LLR ${signed(walk.at(-1)!, 2)} between ${lower.toFixed(2)} and ${upper.toFixed(2)}`;
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img" aria-label={label}>
      <title>{label}</title>
      {[lower, upper].map((bound) => (
        <line key={bound} class="limit" x1="0" x2={WIDTH} y1={y(bound)} y2={y(bound)} />
      ))}
      <polyline points={walk.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" ")} />
    </svg>
  );
}
