import { z } from "zod";
import { canonicalJson, lazy } from "../../kernel/index.ts";

const tag = z.string().regex(/^[\w.:+-]{1,64}$/, "must be 1 to 64 letters, digits or . : + - _");

/** What a job needs of its node while it runs. */
export const needsSchema = lazy(() =>
  z.strictObject({
    cpu: z.number().min(0).max(4_096).default(0),
    // Each is one job's alone: there are no parts of one.
    gpu: z.int().min(0).max(64).default(0),
    memory_gb: z.number().min(0).max(65_536).default(0),
    gpu_memory_gb: z.number().min(0).max(4_096).default(0),
    tags: z.array(tag).max(32).default([]),
  }),
);
export type Needs = z.output<ReturnType<typeof needsSchema>>;

/** What a node has free at the moment. Memory of an accelerator is meant for each one. */
export interface Offer {
  readonly cpu: number;
  readonly gpu: number;
  readonly memory_gb: number;
  readonly gpu_memory_gb: number;
  readonly tags: readonly string[];
}

/** Jobs that every node looks at alike stand in one lane: a claim looks at lanes, not at jobs. */
export interface Lane {
  readonly lane: number;
  readonly workType: string;
  readonly configKey: string | null;
  readonly needs: Needs;
  /** The only nodes that may take it; null for all. */
  readonly targets: readonly string[] | null;
  readonly excluded: readonly string[];
}

export const laneSignature = ({ workType, configKey, needs, targets, excluded }: Omit<Lane, "lane">): string =>
  canonicalJson({
    c: configKey,
    e: [...excluded].sort(),
    n: { ...needs, tags: [...needs.tags].sort() },
    t: targets === null ? null : [...targets].sort(),
    w: workType,
  });

/** Whether the offer is enough for one more such job. */
export const fits = (needs: Needs, offer: Offer): boolean =>
  needs.cpu <= offer.cpu &&
  needs.gpu <= offer.gpu &&
  needs.memory_gb <= offer.memory_gb &&
  (needs.gpu === 0 || needs.gpu_memory_gb <= offer.gpu_memory_gb) &&
  needs.tags.every((wanted) => offer.tags.includes(wanted));

/** What is left of an offer once such a job has taken its part. */
export const without = (offer: Offer, needs: Needs): Offer => ({
  ...offer,
  cpu: offer.cpu - needs.cpu,
  gpu: offer.gpu - needs.gpu,
  memory_gb: offer.memory_gb - needs.memory_gb,
});

/** Why a node may not take jobs of a lane, whatever it has free; undefined if it may. */
export function whyNotThere(lane: Lane, nodeId: string, kinds: ReadonlySet<string> | undefined): string | undefined {
  if (kinds !== undefined && !kinds.has(lane.workType)) return `the node has no executor for ${lane.workType}`;
  if (lane.targets !== null && !lane.targets.includes(nodeId)) return "the job is for other nodes";
  if (lane.excluded.includes(nodeId)) return "the job must not run on this node";
  return undefined;
}
