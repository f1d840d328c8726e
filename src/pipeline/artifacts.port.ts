import type { WriteSet } from "../router/index.ts";
import type { ConfigPlan } from "./config-plan.ts";

/** A file that was made, and what is known of it when it enters the books. */
export interface ArtifactEntry {
  readonly sha256: string;
  readonly kind: string;
  readonly bytes: number;
  readonly rows: number;
  /** Games that it stands for in the books; 0 for what is made from other files, or their games would count twice. */
  readonly games: number;
  readonly config_key: ConfigPlan["config_key"];
  readonly producer: string;
  /** Hashes of what it was made from. */
  readonly parents: readonly string[];
  readonly work_id: string;
  /** The part of its batch that the job did. */
  readonly part: string;
  readonly iteration: number;
}

/** What the catalog says of a file. */
export interface ArtifactState {
  readonly state: "in_flight" | "durable" | "rejected" | "quarantined" | "freed";
  readonly reason: string | null;
  /** When its bytes were last found to be what its name says; null before that. Milliseconds since the epoch. */
  readonly verified_at: number | null;
}

/** Changes of the catalog within the commit of a unit. */
export interface JoinedCatalog {
  /** New ones are in flight. The same file of the same job is recorded once. */
  record(entries: readonly ArtifactEntry[]): void;
  accept(sha256s: readonly string[]): void;
  reject(sha256s: readonly string[], reason: string): void;
  /** Replaces all that this owner holds on to. */
  pin(owner: string, sha256s: readonly string[]): void;
  /** The count for the books that does not come from the files; once for each job. */
  produced(configKey: ConfigPlan["config_key"], producer: string, workId: string, games: number): void;
}

/** The catalog as far as models need it. */
export interface ModelArtifacts {
  join(context: Parameters<ArtifactCatalog["join"]>[0]): Pick<JoinedCatalog, "record" | "accept" | "pin">;
  /** A catalog that cannot say never clears a model of damage. */
  get?: ArtifactCatalog["get"];
}

/** What the pipeline needs of the store of files. */
export interface ArtifactCatalog {
  join(context: { readonly rows: Pick<WriteSet, "apply">; afterCommit(run: () => void): void }): JoinedCatalog;
  get(sha256: string): ArtifactState | undefined;
}
