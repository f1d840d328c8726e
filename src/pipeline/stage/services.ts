import type { Store } from "../../router/index.ts";
import type { ArtifactCatalog, SpreadView } from "../../sync/index.ts";
import type { WorkQueue } from "../../work/index.ts";
import type { PipelineSettings } from "./settings.ts";

/** What the units of every stage work with. */
export interface StageServices {
  readonly queue: WorkQueue;
  readonly store: Store;
  readonly catalog: ArtifactCatalog;
  readonly settings: PipelineSettings;
  /** The node whose files these are. */
  readonly nodeId: string;
  /** How far champions are on their way to the nodes, and who cannot play with one. */
  readonly spread: Pick<SpreadView, "unfit" | "isOut">;
  /** Nodes that have a worker for this kind of job and may have it now. */
  workersFor(kind: string): readonly string[];
  /** Jobs that workers would take at once, now. */
  freeSlots(): number;
  /** Reads a whole file of the store by its hash. Small ones only: results of matches. */
  readArtifact(file: { readonly sha256: string; readonly bytes: number }): Promise<Uint8Array>;
  /** Has files looked at again; what is found stands in the catalog afterwards. Asked twice it is done once. */
  verify(sha256s: readonly string[]): void;
  /** Pause of all loops; each has its own unless said. */
  readonly everyMs?: number;
}

/** How often a unit looks without being woken. Where units are only declared nothing is said of it. */
export const everyMs = (services: Pick<StageServices, "everyMs">, own = 2_000): number =>
  typeof services.everyMs === "number" ? services.everyMs : own;
