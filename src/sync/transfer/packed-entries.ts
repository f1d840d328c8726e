import { closeSync, openSync, rmSync } from "node:fs";
import { systemCode } from "../../kernel/index.ts";
import type { Wanted } from "../transport.port.ts";
import { OPEN_PACKS } from "./limits.ts";
import { PACK_HEAD_BYTES } from "./pack.ts";
import { markGone, type PackIndex, readAll } from "./pack-file.ts";

/** One that lies in a pack. */
export interface PackedFile extends Wanted {
  /** What it takes of the disk, with its share of what is gone from its pack. */
  readonly diskBytes: number;
  /** When it came or was asked for last, in milliseconds since the epoch. */
  readonly usedMs: number;
}

/** Where one lies: its bytes, in the midst of a file. */
export interface PackedPlace extends Wanted {
  readonly path: string;
  readonly at: number;
}

interface Pack {
  readonly path: string;
  /** All of it, and what its files had when it came. */
  readonly bytes: number;
  readonly filesBytes: number;
  /** Where the bytes stand that say what is gone. */
  readonly marksAt: number;
  readonly names: Set<string>;
  leftBytes: number;
}

interface Entry {
  readonly pack: Pack;
  /** Which of its files it is. */
  readonly place: number;
  readonly at: number;
  readonly bytes: number;
  usedMs: number;
}

/** Files that are held open, the one that was used last at the end. */
function createOpenFiles() {
  const open = new Map<string, number>();
  const close = (path: string): void => {
    const file = open.get(path);
    open.delete(path);
    if (file !== undefined) closeSync(file);
  };
  return {
    of(path: string): number {
      const file = open.get(path) ?? openSync(path, "r");
      open.delete(path);
      open.set(path, file);
      const [oldest] = open.keys();
      if (open.size > OPEN_PACKS && oldest !== undefined) close(oldest);
      return file;
    },
    close,
    closeAll(): void {
      for (const path of [...open.keys()]) close(path);
    },
  };
}

/** What lies in packs, and where. */
export function createPackedEntries() {
  const entries = new Map<string, Entry>();
  const packs = new Map<string, Pack>();
  const opened = createOpenFiles();

  const remove = (pack: Pack): void => {
    opened.close(pack.path);
    for (const sha256 of pack.names) entries.delete(sha256);
    packs.delete(pack.path);
    rmSync(pack.path, { force: true });
  };
  /** A pack that somebody has taken away has nothing in it. */
  const unlessGone = <T>(pack: Pack, act: () => T): T | undefined => {
    try {
      return act();
    } catch (thrown) {
      if (systemCode(thrown) !== "ENOENT") throw thrown;
      remove(pack);
      return undefined;
    }
  };

  return {
    get size(): number {
      return entries.size;
    },
    get: (sha256: string): Entry | undefined => entries.get(sha256),
    list: (): PackedFile[] =>
      [...entries].map(([sha256, { pack, bytes, usedMs }]) => {
        const diskBytes = Math.ceil((pack.bytes * (bytes + PACK_HEAD_BYTES)) / pack.leftBytes);
        return { sha256, bytes, diskBytes, usedMs };
      }),
    placeOf(sha256: string): PackedPlace | null {
      const entry = entries.get(sha256);
      return entry === undefined ? null : { sha256, path: entry.pack.path, at: entry.at, bytes: entry.bytes };
    },
    /** Fills just these bytes; false if it is not here, or not as large. */
    readInto({ sha256, bytes }: Wanted, content: Buffer): boolean {
      const entry = entries.get(sha256);
      if (entry?.bytes !== bytes) return false;
      const { pack, at } = entry;
      return unlessGone(pack, () => readAll(opened.of(pack.path), content, at)) ?? false;
    },
    /** Its files are there from now on. One that is there already stays where it is. */
    enter(path: string, index: PackIndex, usedMs: number, isElsewhere: (sha256: string) => boolean): void {
      const filesBytes = index.files.reduce((sum, { bytes }) => sum + PACK_HEAD_BYTES + bytes, 0);
      const { bytes: all, marks, marksAt } = index;
      const pack: Pack = { path, bytes: all, filesBytes, marksAt, names: new Set(), leftBytes: 0 };
      packs.set(path, pack);
      let at = 0;
      const doubled: number[] = [];
      for (const [place, { sha256, bytes }] of index.files.entries()) {
        at += PACK_HEAD_BYTES;
        if (marks[place] === 0 && (entries.has(sha256) || isElsewhere(sha256))) doubled.push(place);
        else if (marks[place] === 0) {
          entries.set(sha256, { pack, place, at, bytes, usedMs });
          pack.names.add(sha256);
          pack.leftBytes += PACK_HEAD_BYTES + bytes;
        }
        at += bytes;
      }
      if (pack.names.size === 0) remove(pack);
      else markGone(path, marksAt, doubled);
    },
    /** They are gone, also for the next life; a pack of which nothing is left goes. */
    forget(sha256s: readonly string[]): void {
      const here = [...new Set(sha256s)].filter((sha256) => entries.has(sha256));
      for (const [pack, gone] of Map.groupBy(here, (sha256) => entries.get(sha256)!.pack)) {
        if (gone.length === pack.names.size) {
          remove(pack);
          continue;
        }
        const places = gone.map((sha256) => entries.get(sha256)!.place);
        unlessGone(pack, () => markGone(pack.path, pack.marksAt, places));
        for (const sha256 of gone.filter((one) => entries.has(one))) {
          pack.leftBytes -= entries.get(sha256)!.bytes + PACK_HEAD_BYTES;
          entries.delete(sha256);
          pack.names.delete(sha256);
        }
      }
    },
    /** What is left of packs of which less than half is. */
    leftOvers: (): string[][] =>
      [...packs.values()]
        .filter(({ leftBytes, filesBytes }) => leftBytes < filesBytes / 2)
        .map(({ names }) => [...names]),
    close: opened.closeAll,
  };
}
