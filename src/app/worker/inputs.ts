/** Inputs by their hash, kept on this node: a model serves many jobs and is fetched once, or never where it was made here. */
import { link, readdir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../kernel/index.ts";
import type { PackedFiles } from "../../sync/index.ts";
import { whatGoes } from "./evict.ts";

export interface InputsOptions {
  readonly folder: string;
  /** How a file comes here. */
  readonly bring: BringFile;
  readonly clock: Clock;
  /** What may lie here, and how long without use; what is in use stays beyond both. */
  readonly maxBytes?: number;
  readonly idleMs: number;
  /** Models, the newest first, as the main process has told; none unless said. */
  readonly newest?: () => readonly string[];
  /** On a node that has joined: what lies here are copies of the cluster's files, which go only when they may. */
  readonly copies?: CopyWatch | undefined;
  /** Others of its files, which lie together until somebody needs one by its path. */
  readonly packed?: PackedFiles | undefined;
}

/** Puts the file of this hash into the folder under its name, whole and checked, or rejects. */
export type BringFile = (sha256: string, signal: AbortSignal, options: FetchOptions) => Promise<void>;

export interface FetchOptions {
  /** Bytes a second. */
  readonly maxRate?: number | undefined;
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

export interface Freed {
  readonly sha256s: string[];
  bytes: number;
}

export interface CopyWatch {
  /** A file is here, and its bytes are what its name says. */
  held(sha256: string): void;
  /** Files that nobody here needs any more; who keeps the copies removes them when they may go. */
  unneeded(sha256s: readonly string[]): void;
  /** A file may not be what its name says. */
  doubted(sha256: string): void;
}

const MAX_BYTES = 4e9;
/** The time of use need not be exact, and a file that was touched has to be hashed anew. */
const TOUCH_MS = 3_600_000;
const TIDY_MS = 60_000;

const isArtifact = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);

export function keepInputs(options: InputsOptions) {
  const { folder, bring, clock, idleMs, maxBytes = MAX_BYTES, copies, packed, newest = () => [] } = options;
  const fetching = new Map<string, Promise<string>>();
  const inUse = new Map<string, number>();
  const leaving = new Map<string, Promise<void>>();
  /** When a file was used last by this process, in milliseconds since the epoch; before that its own time counts. */
  const lastUsed = new Map<string, number>();
  let tidiedMs = Number.NEGATIVE_INFINITY;
  /** What went since somebody asked, for want of room or use. */
  let freed: Freed = { sha256s: [], bytes: 0 };

  const fetchOne = async (
    sha256: string,
    path: string,
    signal: AbortSignal,
    options: FetchOptions,
  ): Promise<string> => {
    await bring(sha256, signal, options);
    copies?.held(sha256);
    return path;
  };

  /** Whoever wants it meanwhile waits until it is gone, and fetches it. */
  const remove = async (name: string): Promise<void> => {
    // From its pack first: what moves becomes a file before it is gone from there.
    const gone = (async () => {
      if (isArtifact(name)) await packed?.drop([name]);
      await rm(join(folder, name), { force: true });
    })().finally(() => leaving.delete(name));
    leaving.set(name, gone);
    lastUsed.delete(name);
    await gone;
  };

  const isBusy = (name: string): boolean => {
    const sha256 = name.replace(/\.part$/, "");
    return inUse.has(sha256) || fetching.has(sha256);
  };

  /** On a node of its own what goes is asked for first: it may be a copy that the cluster needs. */
  const evict = async (bound: number, idleForMs: number): Promise<void> => {
    const files = await Promise.all(
      (await readdir(folder)).map(async (name) => {
        const about = await stat(join(folder, name)).catch(() => undefined);
        const usedMs = lastUsed.get(name) ?? about?.mtimeMs ?? 0;
        return { name, bytes: about?.size ?? 0, usedMs, isBusy: isBusy(name) };
      }),
    );
    // What is gone from a pack takes room until the pack goes: those that are left in it count for it.
    for (const { sha256: name, diskBytes: bytes, usedMs } of (await packed?.list()) ?? [])
      files.push({ name, bytes, usedMs: Math.max(usedMs, lastUsed.get(name) ?? 0), isBusy: isBusy(name) });
    const unneeded: string[] = [];
    for (const { name } of whatGoes(files, newest(), { maxBytes: bound, idleBefore: clock.now() - idleForMs }))
      if (copies !== undefined && isArtifact(name)) unneeded.push(name);
      else if (!isBusy(name)) await free(name);
    if (unneeded.length > 0) copies?.unneeded(unneeded);
  };

  /** Removes a file for want of room or use, and counts it. */
  const free = async (name: string): Promise<void> => {
    const [inPack] = isArtifact(name) ? ((await packed?.find([name])) ?? []) : [];
    const about = await stat(join(folder, name)).catch(() => undefined);
    await remove(name);
    if (isArtifact(name)) freed.sha256s.push(name);
    freed.bytes += about?.size ?? inPack?.bytes ?? 0;
  };

  const tidy = async (): Promise<void> => {
    if (clock.monotonic() - tidiedMs < TIDY_MS) return;
    tidiedMs = clock.monotonic();
    await evict(maxBytes, idleMs);
  };

  const done = (sha256: string): void => {
    lastUsed.set(sha256, clock.now());
    const count = (inUse.get(sha256) ?? 1) - 1;
    if (count > 0) inUse.set(sha256, count);
    else inUse.delete(sha256);
  };

  const found = async (sha256: string, signal: AbortSignal, options: FetchOptions): Promise<string> => {
    await leaving.get(sha256);
    const path = join(folder, sha256);
    const ifFile = () => stat(path).catch(() => undefined);
    let about = await ifFile();
    if (about === undefined && packed !== undefined) {
      await packed.makeFiles([sha256]);
      about = await ifFile();
    }
    if (about !== undefined) {
      const now = clock.now();
      if (Math.abs(now - about.mtimeMs) > TOUCH_MS) await utimes(path, now / 1_000, now / 1_000);
      return path;
    }
    const under = fetching.get(sha256);
    if (under !== undefined) return under;
    const fetched = fetchOne(sha256, path, signal, options).finally(() => fetching.delete(sha256));
    fetching.set(sha256, fetched);
    const here = await fetched;
    await tidy();
    return here;
  };

  return {
    folder,
    /** Where the file of this hash lies; it is fetched if it is not here. It stays until `done`, once for each time. */
    async at(sha256: string, signal: AbortSignal, options: FetchOptions = {}): Promise<string> {
      inUse.set(sha256, (inUse.get(sha256) ?? 0) + 1);
      try {
        return await found(sha256, signal, options);
      } catch (thrown) {
        done(sha256);
        throw thrown;
      }
    },
    done,
    /** Somebody brings these files here itself: they are in use until `done`. */
    claim(sha256s: readonly string[]): void {
      for (const sha256 of sha256s) inUse.set(sha256, (inUse.get(sha256) ?? 0) + 1);
    },
    /** A file that was made here and whose hash was checked: it need not be fetched. */
    async keep(sha256: string, file: string): Promise<void> {
      try {
        const [inPack] = (await packed?.find([sha256])) ?? [];
        if (inPack != null) return;
        await link(file, join(folder, sha256));
        lastUsed.set(sha256, clock.now());
        copies?.held(sha256);
        await tidy();
      } catch {
        // It is here already, or this disk knows no links: then it is fetched when it is wanted.
      }
    },
    /** The file may not be what its name says: if nobody else uses it, the next one who wants it fetches it. */
    async forget(sha256: string): Promise<void> {
      if ((inUse.get(sha256) ?? 0) > 1) return;
      await remove(sha256);
      copies?.doubted(sha256);
    },
    /** Removes a file that nobody uses; false if somebody does. */
    async drop(sha256: string): Promise<boolean> {
      if (isBusy(sha256)) return false;
      await free(sha256);
      return true;
    },
    /** Keeps a share of the quota, at least what runs; what goes on a node of its own goes when it may. */
    makeRoom: (share: number): Promise<void> => evict(maxBytes * share, idleMs),
    /** What went since the last time that this was asked. */
    takeFreed(): Freed {
      const taken = freed;
      freed = { sha256s: [], bytes: 0 };
      return taken;
    },
  };
}

export type Inputs = ReturnType<typeof keepInputs>;
