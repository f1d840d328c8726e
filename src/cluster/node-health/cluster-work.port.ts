/** What the whole cluster does, as other rooms know it. `app` connects it. */
export interface ClusterWork {
  /** Jobs that are not finished. */
  unfinished(): number;
  /** When a job was last done anywhere, or last went on; null where nobody knows. */
  usefulAt(): number | null;
  /** What stands in the way, worst first, as `why` tells it; undefined where nothing is known to. */
  cause(): string | undefined;
}

export const noWork: ClusterWork = { unfinished: () => 0, usefulAt: () => null, cause: () => undefined };
