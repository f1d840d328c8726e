/** What other rooms know of how nodes work. `cluster` and `work` do not know each other: `app` connects them. */

/** How an attempt on a node ended. */
export interface JobOutcome {
  /** Kind and config of the job. */
  readonly sort: string;
  readonly ok: boolean;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly error: string | null;
}

/** The work of one node, as far as it is known now. */
export interface WorkSigns {
  /** Its last attempts, oldest first. */
  readonly outcomes: readonly JobOutcome[];
  /** When jobs stood still there, oldest first. */
  readonly stuckAt: readonly number[];
  /** How many times as long as usual its jobs take; undefined while too few are known. */
  readonly pace: number | undefined;
  /** Why its disk takes no more; undefined while it does. */
  readonly disk: string | undefined;
}

export interface NodeSigns {
  of(nodeId: string): WorkSigns;
  /** Whether another node was done with such work lately. */
  othersDo(sort: string, nodeId: string): boolean;
  /** How far its results are from those of the others since then, in standard deviations; null where nothing can be compared. */
  resultsResidual(nodeId: string, since: number, signal?: AbortSignal): Promise<number | null>;
  /** Nodes whose workers ask for jobs. */
  workers(): readonly string[];
}

/** Where nobody works, nothing speaks against anybody. */
export const noSigns: NodeSigns = {
  of: () => ({ outcomes: [], stuckAt: [], pace: undefined, disk: undefined }),
  othersDo: () => false,
  resultsResidual: async () => null,
  workers: () => [],
};
