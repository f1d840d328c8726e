/**
 * Small artifacts that came together and stay together. A pack on the disk (`pack-file.ts`) is the stream as it came, with an
 * index behind it. It gets its name when all of it is flushed, and only one byte for each file that goes is ever changed in it.
 *
 * An artifact lies in a pack or as a file of its own. It moves one way: the file is whole, flushed and named before it goes from its pack, so that whoever
 * looks into the packs first and at the files then always finds it. A pack of which less than half is left becomes files.
 *
 * All of it belongs to one thread, and never to a main loop: it reads and writes without waiting.
 */
import { hash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { type Clock, messageOf, syncFolder, translateDiskFault } from "../../kernel/index.ts";
import { isSha256, makeFolder } from "../disk.ts";
import type { Wanted } from "../transport.port.ts";
import { placeAside } from "./aside.ts";
import { writeWhole } from "./file-maker.ts";
import type { Flusher } from "./flush.ts";
import { footerOf, newIndex, readIndex, walk, writeAll } from "./pack-file.ts";
import { createPackedEntries, type PackedFile, type PackedPlace } from "./packed-entries.ts";
import type { Landing } from "./part-file.ts";

/** What the others of a node ask of it, whatever thread they are on. */
export interface PackedFiles {
  list(): Promise<readonly PackedFile[]>;
  /** In the same order; null for those that lie in no pack. */
  find(sha256s: readonly string[]): Promise<readonly (PackedPlace | null)[]>;
  /** Makes files of their own of those that lie in packs. One that is damaged is set aside, and is not here any more. */
  makeFiles(sha256s: readonly string[]): Promise<void>;
  /** The hash of what lies there, null if nothing does. What is damaged is set aside. */
  check(sha256: string): Promise<string | null>;
  /** Moves one out of the way of those who would use it. */
  setAside(sha256: string): Promise<void>;
  drop(sha256s: readonly string[]): Promise<void>;
  /** Gives back the room of those that went, where it is more than half of a pack. */
  compact(): Promise<void>;
}

/** A pack that is being written. */
export interface PackWriter {
  /** Bytes as they came, heads included; they are in the file when this returns. */
  append(framed: Uint8Array, files: readonly Wanted[]): void;
  /** Flushes it and gives it its name. What was appended is there then, or none of it is. */
  seal(): Promise<void>;
}

/** The same, as the thread that owns the packs sees it. */
export interface PackStore extends PackedFiles {
  readonly files: number;
  begin(): PackWriter;
  /** Whether it is here; it counts as asked for. */
  has(wanted: Wanted): boolean;
  /** Fills just these bytes, or says that it cannot. */
  readInto(wanted: Wanted, content: Buffer): boolean;
  read(sha256: string): Buffer | undefined;
  close(): void;
}

export interface PackStoreOptions {
  readonly folder: string;
  /** Where files of their own lie, all in one folder. */
  readonly landingOf: (sha256: string) => Landing;
  readonly flusher: Flusher;
  readonly clock: Pick<Clock, "now">;
  /** A pack could not be read as a whole, and why. */
  readonly onBroken?: ((path: string, why: string) => void) | undefined;
}

const NAME = /^(\d+)-\d+\.pack$/;
const flushFile = promisify(fsync);
/** An artifact that lies as a file of its own too. */
type IsElsewhere = (sha256: string) => boolean;

/** One after the other, whatever came of the one before. */
function createTurns() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(act: () => Promise<T>): Promise<T> => {
    const next = last.then(act).catch((thrown: unknown) => {
      throw translateDiskFault(thrown);
    });
    last = next.catch(() => undefined);
    return next;
  };
}

type Entries = ReturnType<typeof createPackedEntries>;

const bytesOf = (entries: Entries, sha256: string): Buffer | undefined => {
  const entry = entries.get(sha256);
  if (entry === undefined) return undefined;
  const content = Buffer.allocUnsafe(entry.bytes);
  // A pack that has lost its end has lost this one: it is not what its name says.
  if (entries.readInto({ sha256, bytes: entry.bytes }, content)) return content;
  return entries.get(sha256) === undefined ? undefined : Buffer.from("gone");
};

/** How what lies in packs becomes files of its own. */
function createFileMaking({ landingOf, flusher, clock }: PackStoreOptions, entries: Entries) {
  /** For a person to look at, where there is room for it. */
  const keepAside = (sha256: string, content: Uint8Array): void => {
    const aside = placeAside(landingOf(sha256), { sha256, bytes: content.length }, clock.now());
    try {
      if (aside !== undefined) writeWhole({ path: aside, content });
    } catch {
      // It is of no use to anybody, and on a full disk least of all.
      rmSync(aside!, { force: true });
    }
  };

  /** They get their names once all of them are on the disk. */
  const nameFiles = async (sha256s: readonly string[]): Promise<void> => {
    if (sha256s.length === 0) return;
    const landings = sha256s.map(landingOf);
    await flusher.files(landings.map(({ part }) => part));
    for (const { part, path } of landings) renameSync(part, path);
    await flusher.folders([...new Set(landings.map(({ path }) => dirname(path)))]);
  };

  return {
    keepAside,
    async make(sha256s: readonly string[]): Promise<void> {
      const made: string[] = [];
      for (const sha256 of new Set(sha256s)) {
        const content = bytesOf(entries, sha256);
        if (content === undefined) continue;
        if (hash("sha256", content, "hex") !== sha256) {
          keepAside(sha256, content);
          entries.forget([sha256]);
          continue;
        }
        const { part } = landingOf(sha256);
        writeWhole({ path: part, content });
        // It is as old as it was.
        const usedSeconds = entries.get(sha256)!.usedMs / 1_000;
        utimesSync(part, usedSeconds, usedSeconds);
        made.push(sha256);
      }
      await nameFiles(made);
      entries.forget(made);
    },
    /** Of a pack that is not whole: what is right becomes files, and the pack goes. Gives how many. */
    async save(path: string, file: number, isElsewhere: IsElsewhere): Promise<number> {
      const saved = new Set<string>();
      for (const { sha256, content } of walk(file))
        if (hash("sha256", content, "hex") !== sha256) keepAside(sha256, content);
        else if (!saved.has(sha256) && !isElsewhere(sha256)) {
          writeWhole({ path: landingOf(sha256).part, content });
          saved.add(sha256);
        }
      await nameFiles([...saved]);
      rmSync(path, { force: true });
      return saved.size;
    },
  };
}

/** Finds what an earlier life left. What had no name yet was told to nobody. */
async function load(
  { folder, landingOf, onBroken }: PackStoreOptions,
  entries: Entries,
  { save, keepAside }: ReturnType<typeof createFileMaking>,
): Promise<void> {
  await makeFolder(folder);
  const plain = dirname(landingOf("0".repeat(64)).path);
  mkdirSync(plain, { recursive: true, mode: 0o700 });
  const own = new Set(readdirSync(plain).filter(isSha256));
  /** It was made a file of its own, and an earlier life ended before it was gone from its pack. */
  const isElsewhere: IsElsewhere = (sha256) => {
    if (!own.has(sha256)) return false;
    const { path } = landingOf(sha256);
    const content = readFileSync(path);
    if (hash("sha256", content, "hex") === sha256) return true;
    keepAside(sha256, content);
    rmSync(path, { force: true });
    own.delete(sha256);
    return false;
  };
  const take = async (path: string, cameMs: number): Promise<void> => {
    const file = openSync(path, "r");
    try {
      const index = readIndex(file);
      if (index !== undefined) return entries.enter(path, index, cameMs, isElsewhere);
      const saved = await save(path, file, isElsewhere);
      onBroken?.(path, `its index is not whole; ${saved} of its files were saved`);
    } finally {
      closeSync(file);
    }
  };
  for (const name of readdirSync(folder).sort()) {
    const path = join(folder, name);
    const [, cameMs] = NAME.exec(name) ?? [];
    if (cameMs === undefined) {
      if (name.endsWith(".pack.part")) rmSync(path, { force: true });
      continue;
    }
    // One that cannot be looked at, or that there is no room to save, waits for the next start. The others are here all the same.
    await take(path, Number(cameMs)).catch((thrown: unknown) => onBroken?.(path, messageOf(thrown)));
  }
}

function createWriter(folder: string, id: number, cameMs: number, entries: Entries): PackWriter {
  let path: string;
  for (let more = 0; ; more += 1) {
    path = join(folder, `${Math.floor(cameMs)}-${id + more}.pack`);
    if (!existsSync(path) && !existsSync(`${path}.part`)) break;
  }
  const part = `${path}.part`;
  const file = openSync(part, "wx", 0o600);
  const files: Wanted[] = [];
  let end = 0;
  const discard = (): void => {
    closeSync(file);
    rmSync(part, { force: true });
    rmSync(path, { force: true });
  };
  return {
    append(framed, more) {
      writeAll(file, framed, end);
      end += framed.length;
      for (const one of more) files.push(one);
    },
    async seal() {
      if (files.length === 0) return discard();
      const footer = footerOf(files);
      try {
        // A write that failed half-way has left something behind what counts.
        ftruncateSync(file, end);
        writeAll(file, footer, end);
        await flushFile(file);
        renameSync(part, path);
        await syncFolder(folder);
      } catch (thrown) {
        discard();
        throw thrown;
      }
      closeSync(file);
      entries.enter(path, newIndex(files, end + footer.length), cameMs, () => false);
    },
  };
}

/** Opens a folder of packs as an earlier life left it. */
export async function openPackStore(options: PackStoreOptions): Promise<PackStore> {
  const { folder, clock } = options;
  const entries = createPackedEntries();
  const files = createFileMaking(options, entries);
  const inTurn = createTurns();
  let ids = 0;

  const compact = async (): Promise<void> => {
    for (const left of entries.leftOvers()) await files.make(left);
  };
  const setAside = (sha256: string, content: Uint8Array): void => {
    files.keepAside(sha256, content);
    entries.forget([sha256]);
  };

  await load(options, entries, files);
  await compact().catch((thrown: unknown) => options.onBroken?.(folder, messageOf(thrown)));
  return {
    get files() {
      return entries.size;
    },
    begin() {
      ids += 1;
      return createWriter(folder, ids, clock.now(), entries);
    },
    has({ sha256, bytes }) {
      const entry = entries.get(sha256);
      if (entry?.bytes !== bytes) return false;
      entry.usedMs = clock.now();
      return true;
    },
    readInto: entries.readInto,
    read: (sha256) => bytesOf(entries, sha256),
    list: async () => entries.list(),
    find: async (sha256s) => sha256s.map(entries.placeOf),
    makeFiles: (sha256s) => inTurn(() => files.make(sha256s)),
    check: (sha256) =>
      inTurn(async () => {
        const content = bytesOf(entries, sha256);
        if (content === undefined) return null;
        const actual = hash("sha256", content, "hex");
        if (actual !== sha256) setAside(sha256, content);
        return actual;
      }),
    setAside: (sha256) =>
      inTurn(async () => {
        const content = bytesOf(entries, sha256);
        if (content !== undefined) setAside(sha256, content);
      }),
    drop: (sha256s) => inTurn(async () => entries.forget(sha256s)),
    compact: () => inTurn(compact),
    close: entries.close,
  };
}
