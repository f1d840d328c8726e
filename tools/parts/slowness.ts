/**
 * How slow this machine is just now, as a factor on every time limit: 1 on the machine for which the limits were set, or a
 * faster one. It is measured before each step of a run, and handed on in the environment (`test/support/patience.ts`).
 */
import { hash } from "node:crypto";
import { availableParallelism, loadavg } from "node:os";

/** Milliseconds of the fixed work below on the machine for which the limits were set, when it was quiet. */
const REFERENCE_MS = 60;
const REFERENCE_CORES = 2;
const MAX_SLOWNESS = 20;

/** A little of what tests do: text, objects, hashes. */
function fixedWork(): void {
  let text = "ringrift";
  for (let i = 0; i < 6_000; i += 1) {
    const row = { i, text, list: Array.from({ length: 20 }, (_, n) => n * i) };
    text = hash("sha256", JSON.stringify(JSON.parse(JSON.stringify(row))), "hex");
  }
}

export interface Speed {
  /** Milliseconds that went by during the fixed work: others on the machine count. */
  readonly workMs: number;
  readonly cores: number;
  /** Processes that wanted a core in the last minute, those of others among them. */
  readonly load: number;
}

export function measureSpeed(): Speed {
  fixedWork();
  const samples = Array.from({ length: 5 }, () => {
    const begun = performance.now();
    fixedWork();
    return performance.now() - begun;
  });
  return { workMs: samples.sort((a, b) => a - b)[2]!, cores: availableParallelism(), load: loadavg()[0]! };
}

/** The factor: how slow one core is, how many fewer there are, and how many others want them. */
export function slownessOf({ workMs, cores, load }: Speed): number {
  const slow = Math.max(1, workMs / REFERENCE_MS);
  const few = Math.max(1, REFERENCE_CORES / cores);
  // Others that already slowed the fixed work down would be counted twice: the larger of the two says it.
  const crowded = Math.max(1, (load + cores) / cores);
  return Math.min(MAX_SLOWNESS, Math.round(Math.max(slow, crowded) * few * 10) / 10);
}
