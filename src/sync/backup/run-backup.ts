/**
 * Copies what is needed to start again to a place: the database as it was at one moment, the files that it counts on, and, where the
 * backup is sealed, tokens, keys and settings. What lies there already is not copied again. The manifest comes last, after a
 * second listing has shown that everything is there: what is interrupted leaves no half a backup, only a head start.
 */

import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { isOperatingError, OperatingError, systemCode, translateDiskFault } from "../../kernel/index.ts";
import { runSome } from "../transfer/index.ts";
import type { Shelved } from "../transport.port.ts";
import { type BackupKey, SALT_BYTES, seal, sealedBytes } from "./cipher.ts";
import { COPIED_AT_ONCE } from "./limits.ts";
import {
  type BackedUpBooks,
  type BackedUpFile,
  type FoundBackup,
  type Manifest,
  nameOfArtifact,
  newBackupId,
  openBackups,
  partsOf,
  whatLies,
  writeManifest,
} from "./manifest.ts";
import { type BackupWorld, type OpenPlace, openPlace, progressOf } from "./world.ts";

/** A file of this machine that a backup shall hold. */
export interface BackupSource {
  readonly sha256: string;
  readonly bytes: number;
  readonly kind: string;
  readonly path: string;
  /** Whether somebody needs it: one that nobody does may go while the backup runs. */
  readonly isNeeded: boolean;
}

/** What the database says at one moment, and the copy of it. */
export interface BackupSnapshot {
  readonly database: BackupSource;
  readonly files: readonly BackupSource[];
  readonly books: readonly BackedUpBooks[];
}

export interface BackupOrder {
  readonly nodeId: string;
  readonly version: string;
  /** An empty folder of this task, which goes with it. */
  readonly scratch: string;
  readonly snapshot: (folder: string) => Promise<BackupSnapshot>;
  /** Files that only a sealed backup gets. */
  readonly privateFiles: () => Promise<readonly (BackupSource & { readonly name: string })[]>;
}

export interface BackupReport {
  readonly backup_id: string;
  readonly place: string;
  readonly sealed: boolean;
  readonly files: number;
  readonly bytes: number;
  readonly copied_files: number;
  readonly copied_bytes: number;
  /** Models that it holds, newest last, as many as an event tells. */
  readonly models: readonly string[];
  /** Needed, and not to be had. */
  readonly missing: readonly { readonly sha256: string; readonly kind: string; readonly why: string }[];
}

const MAX_MODELS_TOLD = 100;

/** Sealed under the key of the last backup, if that was made with the same secret: then what lies there is known again. */
async function lastOf(world: BackupWorld, { shelf, keys, names }: OpenPlace): Promise<FoundBackup | undefined> {
  const [last] = await openBackups(names.slice(0, 1), shelf, keys, world.signal);
  if (last?.error?.code === "BACKUP_KEY_MISSING")
    throw OperatingError.denied(
      "BACKUP_KEY_MISSING",
      `the backups at ${world.transport.place} are sealed, and no key was given; nothing is written there in the open`,
      { hint: "Set RINGRIFT_BACKUP_KEY_FILE, or use another place." },
    );
  return last;
}

/** One file on its way: as it is, or sealed beside the others in the scratch folder first. */
function createCopier(world: BackupWorld, order: Pick<BackupOrder, "scratch">, key: BackupKey | undefined) {
  const { transport, signal } = world;
  const damaged = ({ sha256 }: BackupSource) =>
    OperatingError.internal("ARTIFACT_DAMAGED", `the file of ${sha256} is damaged and was not copied`);

  const sealInto = async (source: BackupSource, path: string, by: BackupKey): Promise<string> => {
    const [plain, sealed] = [createHash("sha256"), createHash("sha256")];
    await pipeline(
      createReadStream(source.path, { highWaterMark: 1_024 ** 2 }),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          plain.update(chunk);
          yield chunk;
        }
      },
      (chunks: AsyncIterable<Buffer>) => seal(chunks, by, source.sha256),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          sealed.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(path, { flags: "wx", mode: 0o600 }),
      { signal },
    );
    if (plain.digest("hex") !== source.sha256) throw damaged(source);
    return sealed.digest("hex");
  };

  return async (source: BackupSource, moved: (bytes: number) => void): Promise<BackedUpFile> => {
    const { sha256, bytes, kind } = source;
    const spend = async (more: number) => moved(more);
    if (key === undefined) {
      await transport.write!({ sha256, bytes, path: source.path }, { signal, spend });
      return { sha256, bytes, kind };
    }
    const path = join(order.scratch, `${sha256}.sealed`);
    try {
      const stored = { sha256: await sealInto(source, path, key), bytes: sealedBytes(bytes) };
      await transport.write!({ ...stored, path }, { signal, spend });
      return { sha256, bytes, kind, stored };
    } finally {
      await rm(path, { force: true });
    }
  };
}

/** Whose trouble it is that a file was not copied: that of the file alone, or one that ends the backup. */
async function whyMissing(source: BackupSource, thrown: unknown): Promise<string> {
  const isGone = (await stat(source.path).catch(() => undefined)) === undefined;
  if (isGone) return "its file is gone";
  if (isOperatingError(thrown, "ARTIFACT_DAMAGED")) return "its file is damaged";
  const code = systemCode(thrown);
  if (code === "EIO" || code === "EACCES") return `its file cannot be read (${code})`;
  throw translateDiskFault(thrown);
}

async function assertAllThere(world: BackupWorld, manifest: Manifest): Promise<void> {
  const there = sizesOf(await world.transport.shelf!.list(world.signal));
  const lost = partsOf(manifest).filter((one) => there.get(nameOfArtifact(one)) !== one.bytes);
  if (lost.length > 0)
    throw OperatingError.unavailable(
      "BACKUP_NOT_KEPT",
      `${world.transport.place} does not list ${lost.length} of the files that it was given, such as ${lost[0]!.sha256}`,
      { hint: "No manifest was written; the next backup brings them again." },
    );
}

const sizesOf = (listed: readonly Shelved[]): Map<string, number> =>
  new Map(listed.map(({ name, bytes }) => [name, bytes]));

export async function runBackup(world: BackupWorld, order: BackupOrder): Promise<BackupReport> {
  const { transport, clock, signal } = world;
  const place = await openPlace(world);
  const last = await lastOf(world, place);
  const key = place.keys.isEmpty ? undefined : place.keys.of(last?.key?.salt ?? randomBytes(SALT_BYTES));
  await mkdir(order.scratch, { recursive: true, mode: 0o700 });
  const snapping = progressOf(world, "snapshot");
  snapping.begin([]);
  const { database, files, books } = await order.snapshot(order.scratch);
  const privateFiles = key === undefined ? [] : await order.privateFiles();
  const backup_id = newBackupId(clock.now(), place.names, randomBytes(3).toString("hex"));

  const there = sizesOf(place.listed);
  const isThere = (one: { readonly sha256: string; readonly bytes: number }) =>
    there.get(nameOfArtifact(one)) === one.bytes;
  const before = new Map<string, BackedUpFile>();
  if (last?.manifest !== undefined && (last.key === undefined) === (key === undefined))
    for (const file of last.manifest.files) if (isThere(whatLies(file))) before.set(file.sha256, file);
  const known = (source: BackupSource): BackedUpFile | undefined => {
    const { sha256, bytes, kind } = source;
    const found = before.get(sha256) ?? (key === undefined && isThere(source) ? { sha256, bytes, kind } : undefined);
    return found?.bytes === bytes ? { ...found, kind } : undefined;
  };

  // Somebody who asks for a file keeps it for the grace of the garbage collection.
  const now = clock.now() / 1_000;
  for (const { path } of files) await utimes(path, now, now).catch(() => undefined);
  const held: BackedUpFile[] = [];
  const open: BackupSource[] = [];
  for (const source of files) {
    const found = known(source);
    if (found === undefined) open.push(source);
    else held.push(found);
  }
  const copy = createCopier(world, order, key);
  const progress = progressOf(world, "copy");
  progress.begin([...open, ...privateFiles, database]);
  const missing: Manifest["missing"] = [];
  const copyOne = async (source: BackupSource): Promise<BackedUpFile> => {
    const copied = await copy(source, progress.moved);
    progress.fileDone();
    return copied;
  };
  await runSome(
    open.map((source) => async () => {
      try {
        held.push(await copyOne(source));
      } catch (thrown) {
        signal.throwIfAborted();
        const why = await whyMissing(source, thrown);
        if (source.isNeeded) missing.push({ sha256: source.sha256, kind: source.kind, why });
      }
    }),
    COPIED_AT_ONCE,
  );
  const sealedOnes: Manifest["private"] = [];
  for (const source of privateFiles) sealedOnes.push({ ...(await copyOne(source)), name: source.name });
  const manifest: Manifest = {
    backup_id,
    made_at: Math.round(clock.now()),
    node_id: order.nodeId,
    version: order.version,
    database: await copyOne(database),
    files: held,
    private: sealedOnes,
    missing,
    books: [...books],
  };
  progress.end();
  await assertAllThere(world, manifest);
  const document = await writeManifest(manifest, key);
  await place.shelf.put(document.name, document.content, signal);
  return {
    backup_id,
    place: transport.place,
    sealed: key !== undefined,
    files: held.length,
    bytes: [database, ...held].reduce((sum, { bytes }) => sum + bytes, 0),
    copied_files: open.length - missing.length,
    copied_bytes: progress.bytesDone(),
    models: held
      .filter(({ kind }) => kind === "model")
      .slice(-MAX_MODELS_TOLD)
      .map(({ sha256 }) => sha256),
    missing,
  };
}
