import type { WriteSet } from "../../router/index.ts";
import type { ConfigPlan } from "../config-plan.ts";

/** What is written down of a file that a job made. */
export interface ArtifactEntry {
  readonly sha256: string;
  readonly kind: string;
  readonly bytes: number;
  readonly rows: number;
  readonly games: number;
  readonly config_key: ConfigPlan["config_key"];
  /** The node that made it. */
  readonly producer: string;
  /** Files that it was made from. */
  readonly parents: readonly string[];
  readonly work_id: string;
  /** The part of its undertaking that the job did. */
  readonly part: string;
  readonly iteration: number;
}

/** The catalog of artifacts, as far as models need it. Changes belong to the commit of the unit that makes them. */
export interface ModelArtifacts {
  join(context: { readonly rows: Pick<WriteSet, "apply">; afterCommit(run: () => void): void }): {
    /** New files, in flight until somebody accepts them. */
    record(entries: readonly ArtifactEntry[]): void;
    accept(sha256s: readonly string[]): void;
    /** The whole set that this owner wants kept; an empty one lets all go. */
    pin(owner: string, sha256s: readonly string[]): void;
  };
  /** What is known of a file; a catalog that cannot say never clears a model of damage. */
  get?(sha256: string): { readonly state: string; readonly verified_at: number | null } | undefined;
}
