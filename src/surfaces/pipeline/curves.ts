/** What training runs reported, as curves: the loss with its parts, and every other number by its name. */
import type { LossPoint } from "../../pipeline/index.ts";

/** Drawn as the loss; the rest are curves of their own. */
const OF_THE_LOSS: ReadonlySet<string> = new Set(["loss", "policy_loss", "value_loss", "validation_loss"]);

/** Whether a run told of policy and value apart. An older main process does not say, and always had both. */
const hasParts = ({ metrics }: LossPoint): boolean =>
  metrics === undefined || metrics.policy_loss !== undefined || metrics.value_loss !== undefined;

/** What a run minimised. */
export const totalLoss = ({
  loss,
  policy_loss,
  value_loss,
}: Pick<LossPoint, "loss" | "policy_loss" | "value_loss">): number => loss ?? policy_loss + value_loss;

/** The lines of the loss: policy and value where a run has them, and else the plain loss. */
export const LOSS_LINES: readonly { readonly name: string; readonly of: (point: LossPoint) => number | null }[] = [
  { name: "loss", of: (point) => (hasParts(point) ? null : totalLoss(point)) },
  { name: "policy", of: (point) => (hasParts(point) ? point.policy_loss : null) },
  { name: "value", of: (point) => (hasParts(point) ? point.value_loss : null) },
  { name: "held out", of: ({ validation_loss }) => validation_loss },
];

/** `policy 1.203  value 0.411  held out 1.702`, or nothing where the loss says all. */
export const lossWords = (point: LossPoint, between = "  "): string =>
  LOSS_LINES.filter(({ name }) => name !== "loss")
    .flatMap(({ name, of }) => {
      const value = of(point);
      return value === null ? [] : [`${name} ${value.toFixed(3)}`];
    })
    .join(between);

export interface Curve {
  readonly name: string;
  readonly points: readonly { readonly iteration: number; readonly value: number }[];
}

/** Every other number that runs reported, by name; each run that told it is a point. */
export function otherCurves(losses: readonly LossPoint[]): Curve[] {
  const curves = new Map<string, { iteration: number; value: number }[]>();
  for (const { iteration, metrics = {} } of losses)
    for (const [name, value] of Object.entries(metrics)) {
      if (OF_THE_LOSS.has(name)) continue;
      const points = curves.get(name) ?? [];
      points.push({ iteration, value });
      curves.set(name, points);
    }
  return [...curves].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, points]) => ({ name, points }));
}

/** Four figures that count, whatever the size. */
export const figureOf = (value: number): string =>
  Number.isInteger(value) && Math.abs(value) < 1e9
    ? value.toLocaleString("en-US")
    : String(Number(value.toPrecision(4)));
