import type { Random } from "../kernel/index.ts";
import type { Deficits, SharePolicy } from "./fair-share.ts";
import type { WorkKinds } from "./kinds.ts";
import type { LaneBook } from "./lane-book.ts";
import type { LeasePolicy, WorkLimits } from "./limits.ts";
import type { AgeingPolicy } from "./urgency.ts";

/** Whether a node may take work at the moment, and why not. */
export type NodeVerdict =
  | {
      readonly accepts: true;
      /** How many more it may hold; as many as it asks for unless said. */
      readonly room?: number;
      readonly exceptConfigs?: readonly string[];
      readonly exceptKinds?: readonly string[];
    }
  | { readonly accepts: false; readonly reason: string };
export type NodePolicy = (nodeId: string, now: number) => NodeVerdict;

/** What all changes of the queue are decided with. */
export interface QueueParts {
  readonly kinds: WorkKinds;
  readonly limits: WorkLimits;
  readonly lease: LeasePolicy;
  readonly ageing: AgeingPolicy;
  readonly shares: SharePolicy;
  readonly nodePolicy: NodePolicy;
  readonly lanes: LaneBook;
  readonly random: Random;
  /** What configs are owed. Only fairness hangs on it: it may begin anew with the process. */
  deficits: Deficits;
  /** The number of the next job. */
  nextSeq: number;
  /** Jobs that are not finished, those on their way to the disk included. */
  unfinished: number;
}
