import type { Iteration, Waiting } from "../stage/index.ts";

/** A stage that lasts longer than this has room for them all the same. */
const LONG_STAGE_MS = 30_000;

/**
 * Games that no stage waits for are played while the network is trained: then most workers have nothing else to do, and a
 * short stage would have to wait for them. What they wait for; undefined if they may be played now.
 */
export function quietTime(
  iteration: Pick<Iteration, "state" | "stage" | "stage_since"> | undefined,
  now: number,
): Waiting | undefined {
  if (iteration === undefined || iteration.state !== "running" || iteration.stage === "training") return undefined;
  if (now - iteration.stage_since >= LONG_STAGE_MS) return undefined;
  return { for: "quiet_time", actual: null, required: null };
}
