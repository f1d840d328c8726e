import type { Random } from "../../kernel/index.ts";
import type { Durations } from "../job/durations.ts";
import type { WorkKinds } from "../job/kinds.ts";
import type { AgeingPolicy } from "../job/urgency.ts";
import type { WorkLimits } from "../limits.ts";
import type { LeasePolicy } from "../settings.ts";
import type { Deficits, SharePolicy } from "./fair-share.ts";
import type { KnownWorkers } from "./known-workers.ts";
import type { Lanes } from "./lanes.ts";
import type { LeaseTimes } from "./lease-times.ts";
import type { NodeOutcomes } from "./node-outcomes.ts";

/** Whether a node may take work at the moment, and why not. */
export type NodeVerdict =
  | {
      readonly accepts: true;
      /** How many more it may hold; as many as it asks for unless said. */
      readonly room?: number;
      readonly exceptConfigs?: readonly string[];
      readonly exceptKinds?: readonly string[];
      /** Those that its operators never want there. */
      readonly excludedKinds?: readonly string[];
      /** Why it gets fewer than it could. */
      readonly slowed?: string;
    }
  | {
      readonly accepts: false;
      readonly reason: string;
      /** It gets more as soon as what it holds has ended. */
      readonly slowed?: true;
      /** It holds as many as it may. */
      readonly isFull?: true;
      /** The resource that is short, where that is the reason. */
      readonly shortOf?: string;
    };
/** `given`: jobs by node that are handed out, and not on disk yet. */
export type NodePolicy = (nodeId: string, now: number, given?: ReadonlyMap<string, number>) => NodeVerdict;

/** What all changes of the queue are decided with. */
export interface QueueState {
  readonly kinds: WorkKinds;
  readonly limits: WorkLimits;
  readonly lease: LeasePolicy;
  readonly ageing: AgeingPolicy;
  readonly shares: SharePolicy;
  readonly nodePolicy: NodePolicy;
  readonly lanes: Lanes;
  readonly times: LeaseTimes;
  readonly durations: Durations;
  readonly workers: KnownWorkers;
  /** How the last attempts on each node ended. */
  readonly outcomes: NodeOutcomes;
  readonly random: Random;
  /** Jobs by node that are handed out, and not on disk yet. */
  readonly given: Map<string, number>;
  /** What configs are owed. Only fairness hangs on it: it may begin anew with the process. */
  deficits: Deficits;
  /** The number of the next job. */
  nextSeq: number;
  /** Jobs that are not finished, those on their way to the disk included. */
  unfinished: number;
}
