import type { Json } from "../../kernel/index.ts";
import { resultLimits } from "../limits.ts";

/** Counts of a result that follow from its job: no more than a parameter of it, so many times. */
export type CountBounds = Readonly<Record<string, { readonly parameter: string; readonly times: number }>>;

/** What a result says in numbers. */
interface Numbers {
  readonly outputs: readonly { readonly name: string; readonly bytes: number }[];
  readonly counts: Readonly<Record<string, number>>;
  readonly summary?: Readonly<Record<string, Json>> | undefined;
}

/**
 * What cannot be true of a result; undefined where all of it may be. A worker is believed within the job's own order only, so
 * that no number of one result can spoil a sum over many.
 */
export function implausible(
  { outputs, counts, summary }: Numbers,
  bounds: CountBounds,
  parameters: () => Readonly<Record<string, Json>>,
): string | undefined {
  const { maxCount, maxNumber, maxFileBytes } = resultLimits;
  for (const { name, bytes } of outputs)
    if (bytes > maxFileBytes) return `its file ${name} has ${bytes} bytes, ${maxFileBytes} are possible`;
  for (const [name, count] of Object.entries(counts))
    if (count > maxCount) return `it counts ${count} ${name}, ${maxCount} are possible`;
  for (const [name, value] of Object.entries(summary ?? {}))
    if (typeof value === "number" && !(Math.abs(value) <= maxNumber))
      return `its ${name} is ${value}, which is beyond ${maxNumber}`;
  for (const [name, { parameter, times }] of Object.entries(bounds)) {
    const count = counts[name] ?? 0;
    const asked = count === 0 ? undefined : parameters()[parameter];
    if (typeof asked === "number" && asked > 0 && count > asked * times)
      return `it counts ${count} ${name}, and its job asks for ${asked} ${parameter}`;
  }
  return undefined;
}
