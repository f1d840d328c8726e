/**
 * sync: the files that work produces and needs, by their content; what is known of them; and the books.
 *
 * It guarantees that
 * - a name is only ever given to the bytes it stands for: they are hashed while they come, flushed, and renamed into place;
 *   what is interrupted is continued where it stopped, and what turns out wrong leaves nothing;
 * - a damaged file is not handed out as good: it is hashed before it is given out, in the background, and by whoever receives
 *   it; it is set aside, its row says so, an event tells, and the catalog knows the job that can make it again;
 * - what became of every game is in the books: produced = durable + in flight + rejected, by config and by producer, through
 *   repeats, crashes, damage and garbage collection;
 * - nothing that is pinned, in flight, or was used within the grace is removed; that a file is given up is on disk before the
 *   file goes;
 * - nothing big is read or hashed on the main loop.
 *
 * `ArtifactStore` is the files, `ArtifactCatalog` the rows (changed in units' own commits through `join`), `ArtifactDesk` the
 * part that looks at bytes and tells of it, `Sweeper` the garbage collection.
 */
export { type ArtifactEntry, type ArtifactEntryInput, type ArtifactRow, artifactEntrySchema } from "./artifact.ts";
export {
  ARTIFACT_STORE,
  type ArtifactDesk,
  type ArtifactDeskPorts,
  artifactStorePart,
  createArtifactDesk,
  type ScrubOptions,
  scrubDefaults,
} from "./artifact-desk.ts";
export {
  type ArtifactStat,
  type ArtifactStore,
  type ArtifactStoreOptions,
  artifactStoreDefaults,
  createArtifactStore,
  type Damage,
  type Inspection,
} from "./artifact-store.ts";
export type { BookFault, ConfigBooks, Sums } from "./books.ts";
export {
  type ArtifactCatalog,
  type ArtifactFilter,
  createArtifactCatalog,
  type JoinedArtifacts,
  type Rebuild,
} from "./catalog.ts";
export type { Lineage, Relative } from "./lineage.ts";
export {
  ARTIFACT_STATES,
  type ArtifactState,
  artifactSteps,
  drawArtifactStates,
  printArtifactSteps,
} from "./states.ts";
export { syncModule } from "./store-module.ts";
export {
  createSweeper,
  type Sweeper,
  type Sweeping,
  type SweepPolicy,
  type SweepReport,
  sweepDefaults,
} from "./sweep.ts";
export type { WriteRequest } from "./upload.ts";
