import type { Edges, Environment, Random } from "../../../../kernel/index.ts";
import type { Store } from "../../../../router/index.ts";
import type { ArtifactCatalog } from "../../../../sync/index.ts";
import type { LocalWorker } from "../../../worker/local-worker.ts";

/** The system as far as chaos touches it and looks at it. */
export interface ChaosWorld extends Edges {
  readonly store: Pick<Store, "read">;
  readonly catalog: Pick<ArtifactCatalog, "get" | "list" | "books">;
  readonly dataDir: string;
  /** The node of the main process, in whose name its worker works. */
  readonly nodeId: string;
  readonly worker: LocalWorker;
  readonly env: Environment;
  /** Where a node joins. */
  readonly url: URL;
  readonly socketPath: string;
  readonly configKeys: readonly string[];
}

/** What was done, and how it is seen that it was caught. */
export interface Act {
  readonly configKey: string | null;
  readonly what: string;
  /** How it was caught, from the system's own books; undefined while it was not. Times are milliseconds. */
  caught(now: number): string | undefined;
  /** Takes back what is still there of it. */
  end?(): Promise<void>;
  /** Whether it may be ended, once it is caught; at once unless said. */
  isOver?(): boolean;
}

export const seconds = (ms: number): string => `${(Math.max(0, ms) / 1_000).toFixed(1)} s`;
export const pick = <T>(random: Random, from: readonly T[]): T | undefined =>
  from[Math.floor(random.next() * from.length)];
