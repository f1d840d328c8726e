/**
 * Brings a backup into a folder from which the system starts again. Nothing that is there is written over: the folder holds nothing, or
 * what an interrupted restore of this very backup left. Every file is hashed as it comes; the database gets its name last, when
 * all the rest is there, so that nobody starts from half of it.
 */

import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import {
  listeningTime,
  OperatingError,
  type Random,
  syncFolder,
  translateDiskFault,
  writeDurably,
} from "../../kernel/index.ts";
import { makeFolder } from "../disk.ts";
import {
  createBudget,
  createFlusher,
  createWays,
  fetchFile,
  runSome,
  type TransferWorld,
  transferDefaults,
  transferWorld,
} from "../transfer/index.ts";
import { type BackupKey, damagedBackup, unseal } from "./cipher.ts";
import { COPIED_AT_ONCE, RESTORE_RESERVE_BYTES } from "./limits.ts";
import { type BackedUpFile, type Manifest, whatLies } from "./manifest.ts";
import { type BackupView, type BackupWorld, backupView, findBackup, openPlace, progressOf } from "./world.ts";

export interface RestoreOrder {
  readonly backup: string | undefined;
  /** The data folder to be. */
  readonly to: string;
  readonly dryRun: boolean;
  /** Goes on where files of the backup are damaged or gone: what was made of others is made again after the start. */
  readonly allowMissing: boolean;
  readonly random: Random;
}

export interface RestoreReport extends BackupView {
  readonly place: string;
  readonly to: string;
  readonly dry_run: boolean;
  readonly restored_files: number;
  readonly restored_bytes: number;
  readonly failed: readonly { readonly sha256: string; readonly kind: string; readonly why: string }[];
  /** Where tokens, keys and settings lie that were sealed in it. */
  readonly private_files: readonly string[];
  readonly books: Manifest["books"];
}

const MARKER = "restoring.json";
const WORK = ".restoring";
const DATABASE = "coordination.db";
/** These go where the program looks for them; others are laid beside it for a person to put where they belong. */
const IN_PLACE: ReadonlySet<string> = new Set(["token"]);

/** The folder is empty, or holds what a restore of this backup left. */
async function assertOurs(to: string, backupId: string): Promise<void> {
  const names = await readdir(to).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return [];
    throw translateDiskFault(thrown);
  });
  if (names.length === 0) return;
  const left = await readFile(join(to, MARKER), "utf8").catch(() => undefined);
  if (left === undefined)
    throw OperatingError.conflict("RESTORE_TARGET_TAKEN", `${to} is not empty; nothing is written over`, {
      hint: "Restore into another folder with --to, or move this one away first.",
    });
  const { backup_id } = JSON.parse(left) as { backup_id?: string };
  if (backup_id !== backupId)
    throw OperatingError.conflict("RESTORE_TARGET_TAKEN", `${to} holds half of the backup ${backup_id}`, {
      hint: `Go on with 'ringrift backup restore ${backup_id}', or remove the folder.`,
    });
}

async function assertRoom(to: string, bytes: number): Promise<void> {
  let at = to;
  for (;;)
    try {
      const { bavail, bsize } = await statfs(at);
      if (bavail * bsize >= bytes + RESTORE_RESERVE_BYTES) return;
      throw OperatingError.unavailable(
        "STORE_FULL",
        `${at} has ${bavail * bsize} bytes left, the backup needs ${bytes + RESTORE_RESERVE_BYTES}`,
        { hint: "Make room, or restore to another disk with --to." },
      );
    } catch (thrown) {
      if ((thrown as { code?: string }).code !== "ENOENT" || dirname(at) === at) throw thrown;
      at = dirname(at);
    }
}

async function isWhole(path: string, { sha256, bytes }: BackedUpFile): Promise<boolean> {
  if ((await stat(path).catch(() => undefined))?.size !== bytes) return false;
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1_024 ** 2 })) hash.update(chunk as Buffer);
  return hash.digest("hex") === sha256;
}

/** From what lies at the place to the file: opened where it was sealed, and right in any case. */
function createBringer(world: BackupWorld, work: string, transfers: TransferWorld) {
  const open = async (from: string, file: BackedUpFile, key: BackupKey, to: string): Promise<void> => {
    const part = `${to}.part`;
    const hash = createHash("sha256");
    await rm(part, { force: true });
    await pipeline(
      createReadStream(from, { highWaterMark: 1_024 ** 2 }),
      (chunks: AsyncIterable<Buffer>) => unseal(chunks, key, file.sha256, file.sha256),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(part, { mode: 0o600, flush: true }),
      { signal: world.signal },
    );
    if (hash.digest("hex") !== file.sha256) throw damagedBackup(file.sha256, "its bytes are others");
    await rename(part, to);
    await syncFolder(dirname(to));
  };
  return async (file: BackedUpFile, key: BackupKey | undefined, to: string): Promise<void> => {
    // What an interrupted restore brought need not come again, if it is what it should be.
    if (await isWhole(to, file)) return;
    await makeFolder(dirname(to));
    if (key === undefined) return fetchFile(file, { path: to, part: `${to}.part` }, [world.transport], transfers);
    const lies = whatLies(file);
    const sealed = join(work, lies.sha256);
    await fetchFile(lies, { path: sealed, part: `${sealed}.part` }, [world.transport], transfers);
    try {
      await open(sealed, file, key, to);
    } finally {
      await rm(sealed, { force: true });
    }
  };
}

export async function restoreBackup(world: BackupWorld, order: RestoreOrder): Promise<RestoreReport> {
  const { transport, clock, signal } = world;
  const { to, dryRun, allowMissing, random } = order;
  const place = await openPlace(world);
  const found = await findBackup(world, place, order.backup);
  const { key } = found;
  const manifest = found.manifest!;
  await assertOurs(to, manifest.backup_id);
  const all = [manifest.database, ...manifest.private, ...manifest.files];
  await assertRoom(
    to,
    all.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  const about = { ...backupView(found), place: transport.place, to, books: manifest.books };
  const nothing = { restored_files: 0, restored_bytes: 0, failed: [], private_files: [] };
  if (dryRun) return { ...about, ...nothing, dry_run: true };

  const work = join(to, WORK);
  await mkdir(work, { recursive: true, mode: 0o700 });
  await writeDurably(join(to, MARKER), `${JSON.stringify({ backup_id: manifest.backup_id })}\n`);
  const progress = progressOf(world, "fetch");
  progress.begin(all);
  const listening = listeningTime(clock);
  const transfers = transferWorld(
    {
      clock,
      random,
      listening,
      ways: createWays(clock),
      budget: createBudget({ bytesPerSecond: Number.POSITIVE_INFINITY, clock }),
      flusher: createFlusher(),
      stallMs: transferDefaults.stallMs,
      chunkBytes: transferDefaults.chunkBytes,
    },
    { signal, priority: "high", onMoved: (_, bytes) => progress.moved(bytes) },
  );
  const bring = createBringer(world, work, transfers);
  const failed: { sha256: string; kind: string; why: string }[] = [];
  const pathOf = ({ sha256 }: BackedUpFile) => join(to, "artifacts", sha256.slice(0, 2), sha256);
  try {
    await runSome(
      manifest.files.map((file) => async () => {
        try {
          await bring(file, key, pathOf(file));
          progress.fileDone();
        } catch (thrown) {
          signal.throwIfAborted();
          const fault = translateDiskFault(thrown) as { code?: string; message: string };
          if (fault.code?.startsWith("STORE_") || !allowMissing) throw fault;
          failed.push({ sha256: file.sha256, kind: file.kind, why: fault.message });
        }
      }),
      COPIED_AT_ONCE,
    );
    const private_files: string[] = [];
    for (const file of manifest.private) {
      const path = IN_PLACE.has(file.name) ? join(to, file.name) : join(to, "restored", file.name);
      await bring(file, key, path);
      private_files.push(path);
      progress.fileDone();
    }
    await bring(manifest.database, key, join(to, DATABASE));
    progress.fileDone();
    progress.end();
    await rm(work, { recursive: true, force: true });
    await rm(join(to, MARKER), { force: true });
    await syncFolder(to);
    const restored = [manifest.database, ...manifest.private, ...manifest.files].filter(
      ({ sha256 }) => !failed.some((one) => one.sha256 === sha256),
    );
    return {
      ...about,
      dry_run: false,
      restored_files: restored.length,
      restored_bytes: restored.reduce((sum, { bytes }) => sum + bytes, 0),
      failed,
      private_files,
    };
  } finally {
    listening.stop();
  }
}
