/** All that one job said of itself while it ran. */
import { plural, printable } from "../../src/surfaces/cli/text.ts";
import { getCurve } from "../../src/surfaces/queue/wire.ts";
import { Curve, drawnOf, STYLES } from "./curve-figure.tsx";
import { Panel } from "./parts.tsx";
import { useAnswer } from "./use-answer.ts";

/** Beside the losses, which share one figure. */
const MAX_OTHERS = 6;
const EVERY_MS = 5_000;

const isLoss = (name: string): boolean => name === "loss" || name.endsWith("_loss");

/** All that one job said: its losses together, every other number by itself. */
export function JobCurve({ id, isOver }: { id: string; isOver: boolean }) {
  const { answer } = useAnswer(getCurve, { params: { id } }, isOver ? { once: true } : { everyMs: EVERY_MS });
  // The newest try counts; those before it are in the JSON.
  const points = answer?.curves.at(-1)?.points ?? [];
  if (points.length < 2) return null;
  const names = [...new Set(points.flatMap(({ metrics }) => Object.keys(metrics)))];
  const order = ["validation_loss", "loss"];
  const losses = names
    .filter(isLoss)
    .sort((a, b) => order.indexOf(b) - order.indexOf(a))
    .slice(0, STYLES.length);
  const others = names.filter((name) => !losses.includes(name)).slice(0, MAX_OTHERS);
  return (
    <>
      {losses.length > 0 && (
        <Panel title="Loss, step by step" aside={plural(points.length, "point")}>
          <Curve title={`Loss of ${id}, step by step`} lines={losses.map((name) => drawnOf(name, points, name))} />
        </Panel>
      )}
      {others.map((name) => (
        <Panel key={name} title={printable(name).replaceAll("_", " ")}>
          <Curve title={`${name} of ${id}`} lines={[drawnOf(name, points, name)]} height={150} />
        </Panel>
      ))}
    </>
  );
}
