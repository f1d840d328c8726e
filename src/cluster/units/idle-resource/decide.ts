/** Whether a node could do more than it does: pure, from what it measures of itself and from what its worker has room for. */
import type { ResourceLevel } from "../../resources/levels.ts";
import type { GpuSample } from "../../resources/sample.ts";

const idlePolicyDefaults = {
  /** Below this share of use a processor or an accelerator counts as free. */
  cpuBusy: 0.7,
  gpuBusy: 0.1,
};

export interface IdleFacts {
  /** Jobs that its worker does, and how many it would do at once. */
  readonly running: number;
  readonly slots: number;
  /** Null in the first sample. */
  readonly cpuUsage: number | null;
  readonly gpus: readonly GpuSample[];
  /** The worst level of its resources. */
  readonly level: ResourceLevel;
}

export interface IdleVerdict {
  readonly idle: boolean;
  /** Jobs that it could take at once. */
  readonly freeSlots: number;
  /** Of accelerators that have nothing to do. */
  readonly idleGpus: number;
}

/** A node that is short of something is not idle, however little it does: one job more would make it worse. */
export function judgeIdle(facts: IdleFacts, policy = idlePolicyDefaults): IdleVerdict {
  const { running, slots, cpuUsage, gpus, level } = facts;
  const freeSlots = Math.max(0, slots - running);
  const idleGpus = gpus.filter(({ usage }) => usage < policy.gpuBusy).length;
  const hasFree = idleGpus > 0 || (cpuUsage !== null && cpuUsage < policy.cpuBusy);
  return { idle: level === "none" && freeSlots > 0 && hasFree, freeSlots, idleGpus };
}
