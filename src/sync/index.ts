/**
 * sync: the files that work produces and needs, by their content; what is known of them; and the books.
 *
 * It guarantees that
 * - a name is only ever given to the bytes it stands for: they are hashed while they come, flushed, and renamed into place;
 *   what is interrupted is continued where it stopped, and what turns out wrong never gets the name;
 * - a damaged file is not handed out as good: it is hashed before it is given out, in the background, and by whoever receives
 *   it; it is set aside, its row says so, an event tells, and the catalog knows the job that can make it again;
 * - what became of every game is in the books: produced = durable + in flight + rejected, by config and by producer, through
 *   repeats, crashes, damage and garbage collection;
 * - nothing that is pinned, in flight, or was used within the grace is removed; that a file is given up is on disk before the
 *   file goes;
 * - a copy counts when its node has hashed and flushed it and its receipt is committed; a node lets go of a copy only against
 *   as many others as there must be, one of them locked; the last one goes with its artifact alone;
 * - nothing big is read or hashed on the main loop.
 *
 * `ArtifactStore` is the files, `ArtifactCatalog` the rows (changed in units' own commits through `join`), `ArtifactInspector` the
 * part that looks at bytes and emits what it found, `Sweeper` the garbage collection. `createSyncServices` builds them.
 */

export type { ArtifactEntryInput, ArtifactRow } from "./artifact.ts";
export { artifactStorePart } from "./artifact-inspector.ts";
export { ADOPTED, type ArtifactStat, type ArtifactStore, createArtifactStore } from "./artifact-store.ts";
export { awaitedFiles } from "./awaited-files.ts";
export { type Backups, createBackups, type DrillReport, placeNamed } from "./backup/backups.ts";
export { booksOf, filesToBackUp } from "./backup/facts.ts";
export { MAX_PRIVATE_BYTES, MAX_PRIVATE_FILES } from "./backup/limits.ts";
export { placesOf } from "./backup/places.ts";
export { pruneBackups } from "./backup/prune-backups.ts";
export { restoreBackup } from "./backup/restore-backup.ts";
export { type BackupSnapshot, type BackupSource, runBackup } from "./backup/run-backup.ts";
export type { BackupPlace, BackupReports, BackupRunner, BackupTask } from "./backup/task.ts";
export { verifyBackup } from "./backup/verify-backup.ts";
export { type BackupProgress, type BackupWorld, listBackups } from "./backup/world.ts";
export { BOOKS_UNBALANCED, type BookFault, type ConfigBooks } from "./books.ts";
export type { Brought } from "./brought/brought.ts";
export type { Imports } from "./brought/imports.ts";
export { broughtPin, foundAs } from "./brought/names.ts";
export { type ArtifactCatalog, createArtifactCatalog } from "./catalog.ts";
export { type ArtifactConsole, createArtifactConsole } from "./console.ts";
export { packSeqs } from "./copies/bitset.ts";
export { createCopies, type HolderFacts } from "./copies/copies.ts";
export type { NodeDesk } from "./copies/node-desk.ts";
export { makeFolder } from "./disk.ts";
export type { Cleaning, DiskSpace, DiskView } from "./disk-space.ts";
export type { Explanation } from "./facade/explain.ts";
export { type PrioritySync, SyncFacade, type SyncShown, syncFacadePart } from "./facade/facade.ts";
export type { SyncBackend, SyncDataType, SyncRequest, SyncResponse } from "./facade/request.ts";
export type { Distribution, SyncBatch } from "./inspection-runs.ts";
export { memberLimits, rescueLimits } from "./limits.ts";
export type { MemberDesk, MemberStock } from "./members/member-desk.ts";
export { createMemberFiles, type Fetched, type MemberFileNews, type MemberFiles } from "./members/member-files.ts";
export { orderHome } from "./orders/order-home.ts";
export { createOrphanSearch, type OrphanFolder, type OrphanSearchPorts } from "./orphans/find-orphans.ts";
export { type Rescue, rescues } from "./orphans/orphan.ts";
export { setOrphanAside } from "./orphans/set-aside.ts";
export { createReservations } from "./reservations.ts";
export { disownFile } from "./retention-operations.ts";
export { createSyncServices, type ScrubPace, type SyncUnitServices } from "./services.ts";
export { createSources } from "./sources/sources.ts";
export type { SpreadPorts, SpreadView, TrialPort } from "./spread.ts";
export { storedFiles } from "./stored-files.ts";
export { sweepPolicy } from "./sweep.ts";
export { syncModule } from "./tables.ts";
export {
  createTransferNews,
  nodeIn,
  type PackedFiles,
  type TransferNews,
  type TransferPurpose,
  type Ways,
} from "./transfer/index.ts";
export {
  type CoordinatorPlace,
  type FetchRequest,
  type Shelf,
  type Shelved,
  type Source,
  TRANSFER_PRIORITIES,
  type TransferPriority,
  type TransferProgress,
  type TransferReport,
  type Transfers,
  type TransferTry,
  type Transport,
  type TransportName,
  type Wanted,
  type WriteOptions,
} from "./transport.port.ts";
export { autoSync } from "./units/auto-sync/auto-sync.unit.ts";
export { diskSpaceManager } from "./units/disk-space-manager/disk-space-manager.unit.ts";
export { orphanDetection } from "./units/orphan-detection/orphan-detection.unit.ts";
export { freshness } from "./units/training-activity/tables.ts";
export { transferVerifier } from "./units/transfer-verifier/transfer-verifier.unit.ts";
export { syncUnits } from "./units.ts";
export { type ArtifactTally, artifactTally } from "./views.ts";
