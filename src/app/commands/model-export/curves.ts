/** What the training runs of a config reported until a model was made, as points of curves. */
import type { LossPoint } from "../../../pipeline/index.ts";

export interface CurvePoint {
  readonly name: string;
  readonly iteration: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly value: number;
}

/** Every number that was reported, in the order of the iterations; a loss that an older main process kept is there too. */
export const curvePoints = (losses: readonly LossPoint[], untilIteration: number): CurvePoint[] =>
  losses
    .filter(({ iteration }) => iteration <= untilIteration)
    .sort((a, b) => a.iteration - b.iteration)
    .flatMap(({ iteration, at, metrics, loss, validation_loss, policy_loss, value_loss }) => {
      const older = metrics === undefined ? { policy_loss, value_loss, validation_loss } : {};
      return Object.entries({ ...older, loss, ...metrics }).flatMap(([name, value]) =>
        typeof value === "number" && Number.isFinite(value) ? [{ name, iteration, at, value }] : [],
      );
    });

/** A field of a CSV file, as RFC 4180 has it. */
const field = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export const curvesCsv = (points: readonly CurvePoint[]): string =>
  [
    "iteration,time,name,value",
    ...points.map(({ iteration, at, name, value }) =>
      [String(iteration), new Date(at).toISOString(), field(name), String(value)].join(","),
    ),
    "",
  ].join("\n");
