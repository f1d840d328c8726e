/** What every task of a backup works with. All of them hash, seal and copy, and so none runs on a main loop. */
import { type Clock, OperatingError } from "../../kernel/index.ts";
import type { Shelf, Shelved, Transport } from "../transport.port.ts";
import {
  backupTime,
  type FoundBackup,
  type KeyRing,
  keyRing,
  type ManifestName,
  manifestsIn,
  openBackups,
} from "./manifest.ts";

export interface BackupProgress {
  /** What it is at: `snapshot`, `copy`, `check`, `fetch`, `remove`. */
  readonly phase: string;
  readonly files: number;
  readonly files_done: number;
  readonly bytes: number;
  readonly bytes_done: number;
}

export interface BackupWorld {
  /** The way to the place. */
  readonly transport: Transport;
  /** The user's key; undefined where backups are not sealed. */
  readonly secret: string | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BackupProgress) => void;
}

export interface OpenPlace {
  readonly shelf: Shelf;
  readonly keys: KeyRing;
  readonly listed: readonly Shelved[];
  /** Newest first. */
  readonly names: readonly ManifestName[];
}

/** A place that is there and says what it holds. */
export async function openPlace({ transport, secret, signal }: BackupWorld): Promise<OpenPlace> {
  const { shelf, place } = transport;
  if (shelf === undefined || transport.write === undefined)
    throw OperatingError.invalid("PLACE_UNWRITABLE", `${place} is no place for backups`);
  const listed = await shelf.list(signal);
  return { shelf, keys: keyRing(secret), listed, names: manifestsIn(listed) };
}

/** Backups of a place as people see them. */
export interface BackupView {
  readonly backup_id: string;
  readonly made_at: number;
  readonly node_id: string | null;
  readonly version: string | null;
  readonly files: number | null;
  readonly bytes: number | null;
  readonly games: number | null;
  readonly missing: number | null;
  readonly sealed: boolean | null;
  /** Why it cannot be used. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

export function backupView(found: FoundBackup): BackupView {
  const { manifest, error, backupId: backup_id } = found;
  if (manifest === undefined)
    return {
      backup_id,
      made_at: backupTime(found),
      node_id: null,
      version: null,
      files: null,
      bytes: null,
      games: null,
      missing: null,
      sealed: null,
      error: { code: error.code, message: error.message },
    };
  const all = [manifest.database, ...manifest.files];
  return {
    backup_id,
    made_at: manifest.made_at,
    node_id: manifest.node_id,
    version: manifest.version,
    files: manifest.files.length,
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    games: manifest.books.reduce((sum, { durable, in_flight }) => sum + durable + in_flight, 0),
    missing: manifest.missing.length,
    sealed: found.key !== undefined,
    error: null,
  };
}

/** All backups of a place, newest first. */
export async function listBackups(world: BackupWorld): Promise<BackupView[]> {
  const { shelf, keys, names } = await openPlace(world);
  return (await openBackups(names, shelf, keys, world.signal)).map(backupView);
}

const noBackup = (place: string, meant: string | undefined) =>
  OperatingError.notFound(
    "BACKUP_NOT_FOUND",
    meant === undefined ? `${place} holds no backup` : `${place} holds no backup '${meant}'`,
    { hint: "'ringrift backup list' shows what there is." },
  );

/** The backup that is meant: the newest, or the one whose id begins so. One that cannot be used is an error, never another one. */
export async function findBackup(
  { transport, signal }: BackupWorld,
  { shelf, keys, names }: OpenPlace,
  meant: string | undefined,
): Promise<FoundBackup & { readonly error?: undefined }> {
  const fitting = meant === undefined ? names.slice(0, 1) : names.filter(({ backupId }) => backupId.startsWith(meant));
  if (fitting.length > 1)
    throw OperatingError.conflict("BACKUP_AMBIGUOUS", `several backups begin with '${meant}'`, {
      hint: "'ringrift backup list' shows them.",
    });
  const [found] = await openBackups(fitting, shelf, keys, signal);
  if (found === undefined) throw noBackup(transport.place, meant);
  if (found.error !== undefined) throw found.error;
  return found;
}

/** Counts what was done and tells it, now and then. */
export function progressOf(world: Pick<BackupWorld, "clock" | "onProgress">, phase: string) {
  const EVERY_MS = 250;
  let [files, files_done, bytes, bytes_done] = [0, 0, 0, 0];
  let toldAt = Number.NEGATIVE_INFINITY;
  const tell = (): void => {
    toldAt = world.clock.monotonic();
    world.onProgress({ phase, files, files_done, bytes, bytes_done });
  };
  const now = (): void => {
    if (world.clock.monotonic() - toldAt >= EVERY_MS) tell();
  };
  return {
    begin(all: readonly { readonly bytes: number }[]): void {
      files = all.length;
      bytes = all.reduce((sum, one) => sum + one.bytes, 0);
      tell();
    },
    moved(more: number): void {
      bytes_done += more;
      now();
    },
    fileDone(): void {
      files_done += 1;
      now();
    },
    end: tell,
    bytesDone: () => bytes_done,
  };
}
