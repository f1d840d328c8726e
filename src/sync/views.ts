/** What surfaces read of the artifacts as a whole. */
import type { Store } from "../router/index.ts";
import type { ArtifactState } from "./states.ts";

export interface ArtifactTally {
  readonly kind: string;
  readonly state: ArtifactState;
  readonly files: number;
  readonly bytes: number;
}

/** Kinds are words of workloads, so there may be any number; those with the most files are the ones worth counting apart. */
const MAX_ROWS = 100;

/** Files by kind and state. It goes through all rows, and so does it on the thread of the readers. */
export const artifactTally = (store: Pick<Store, "scan">): Promise<readonly ArtifactTally[]> =>
  store.scan<ArtifactTally>(
    `SELECT kind, state, count(*) AS files, sum(bytes) AS bytes FROM sync_artifacts
     GROUP BY kind, state ORDER BY files DESC, kind, state LIMIT ?`,
    [MAX_ROWS],
  );
