/**
 * How files travel, without the rest of the room: what the threads of transfers load. They hold little in memory for it, so the collector
 * of garbage, which runs for every few megabytes that come, has little to look at. What has come whole and right gets its name, and
 * nothing else does.
 */
export { isSha256, makeFolder } from "../disk.ts";
export { type Budget, createBudget } from "./budget.ts";
export { fetchAll } from "./fetch.ts";
export { fetchFile } from "./fetch-file.ts";
export type { Expected } from "./fetch-pack.ts";
export { type FileMaker, type NewFile, writeWhole } from "./file-maker.ts";
export { createFlusher } from "./flush.ts";
export { createGrowingFiles, type GrowingFiles } from "./growing.ts";
export { MAX_PACK_BYTES, MAX_PACK_FILES, PACKED_BYTES, transferDefaults } from "./limits.ts";
export { PACK_HEAD_BYTES, packHeads, packOf, readPackHead } from "./pack.ts";
export { openPackStore, type PackedFiles, type PackStore } from "./pack-store.ts";
export { putAll } from "./put.ts";
export { runSome } from "./run-some.ts";
export { prefixDigests } from "./running-hash.ts";
export { readSmallFile } from "./small-file.ts";
export { checkTicket, listClaim, listName, signTicket, type TicketClaim } from "./ticket.ts";
export {
  createTransferNews,
  nodeIn,
  type TransferNews,
  type TransferPurpose,
  type WrongCopy,
} from "./transfer-news.ts";
export { type TransferWorld, transferWorld } from "./transfer-world.ts";
export { createWays, type Ways } from "./ways.ts";
