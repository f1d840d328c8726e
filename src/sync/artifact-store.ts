import { createReadStream } from "node:fs";
import { rename, rm, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Clock, createRecent, isOperatingError, OperatingError, systemClock } from "../kernel/index.ts";
import { type AdoptRequest, adopt } from "./adopt.ts";
import { codeOf, factsOf, isSha256, makeFolder, notAnArtifact, syncFolder } from "./disk.ts";
import { createFileHasher, type FileHash } from "./file-hasher.ts";
import { type StoredFile, storedFiles } from "./stored-files.ts";
import { receive, type WriteRequest } from "./upload.ts";

export interface ArtifactStoreOptions {
  readonly folder: string;
  readonly mostBytes?: number;
  /** Files that come in at once. */
  readonly mostAtOnce?: number;
  /** Files up to this size are hashed before their first byte is given out; larger ones are checked by whoever receives them. */
  readonly checkedBytes?: number;
  /** One that was found sound is not hashed again for so long. */
  readonly soundForMs?: number;
  /** The folder on this machine whose files may be adopted; none unless given. */
  readonly adoptFrom?: string;
  readonly clock?: Clock;
}

export const artifactStoreDefaults = {
  mostBytes: 16 * 1_024 ** 3,
  mostAtOnce: 16,
  checkedBytes: 64 * 1_024 ** 2,
  soundForMs: 60_000,
} as const;

/** What is there of an artifact. */
export interface ArtifactStat {
  readonly sha256: string;
  /** Bytes of the whole; null while only a part is there. */
  readonly size: number | null;
  /** Bytes that need not be sent again. */
  readonly received: number;
}

export type Damage = "missing" | "truncated" | "checksum" | "unreadable";

/** What a look at the bytes of a file came to. One that is damaged lies in quarantine when this is known. */
export type Inspection =
  | { readonly sha256: string; readonly sound: true; readonly bytes: number }
  | { readonly sha256: string; readonly sound: false; readonly damage: Damage; readonly actual: string | null };

export interface InspectOptions {
  /** What it should have; a shorter one is called truncated. */
  readonly bytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ArtifactStore {
  /** What is there. Who is told that a file is whole may rely on it for the grace of the garbage collection. */
  stat(sha256: string): Promise<ArtifactStat>;
  /** Adds bytes; the artifact is whole, and in its place, when the last one has come and the hash is right. */
  write(request: WriteRequest): Promise<ArtifactStat>;
  /** Takes a file of this machine as it is: its bytes are looked at, and not moved. */
  adopt(request: AdoptRequest): Promise<ArtifactStat>;
  /** Bytes of a whole artifact, from `start` up to and without `end`; none if they are not what the name says. */
  read(sha256: string, start: number, end: number): AsyncIterable<Uint8Array>;
  pathOf(sha256: string): string;
  /** Hashes a file again, on a thread; a damaged one is set aside. Rejects if it could not be looked at. */
  inspect(sha256: string, options?: InspectOptions): Promise<Inspection>;
  /** Tells of files that were found damaged when somebody wanted to read them. Returns how to stop. */
  onDamage(listen: (found: Inspection & { sound: false }) => void): () => void;
  /**
   * Takes files away. Those that were written or asked for since `touchedBefore`, or are being written, stay; for the others
   * `agree` says which may go, and while it makes up its mind nobody is told that they are there. Gives those that went.
   */
  take(
    sha256s: readonly string[],
    touchedBefore: number,
    agree: (sha256s: readonly string[]) => Promise<readonly string[]>,
  ): Promise<string[]>;
  /** What lies in one of the 256 folders. */
  filesIn(prefix: string): Promise<StoredFile[]>;
  /** Removes the part of an upload that nobody went on with. */
  dropPart(sha256: string, touchedBefore: number): Promise<boolean>;
  /** Removes what has been in quarantine since before then. Gives how many files went. */
  emptyQuarantine(before: number, most: number): Promise<number>;
  /** Ends the thread. */
  close(): Promise<void>;
}

const MOST_REMEMBERED = 10_000;

/**
 * Files by their hash, under `<folder>/<2 hex>/<sha256>`. Bytes gather in a part beside it; who finds the name finds all of
 * it. A file never changes: it comes whole, and it goes whole.
 */
export function createArtifactStore(options: ArtifactStoreOptions): ArtifactStore {
  const { folder, mostBytes, mostAtOnce, checkedBytes, soundForMs } = { ...artifactStoreDefaults, ...options };
  const clock = options.clock ?? systemClock();
  const hasher = createFileHasher();
  const listeners = new Set<(found: Inspection & { sound: false }) => void>();
  /** Only one writes an artifact at a time. */
  const busy = new Set<string>();
  /** Being taken away: for whoever asks it is not there any more, and for whoever brings it, not yet. */
  const leaving = new Set<string>();
  /** Found sound lately: the file of this number. */
  const sound = createRecent<number>(soundForMs, MOST_REMEMBERED);

  const pathOf = (sha256: string): string => {
    if (!isSha256(sha256)) throw notAnArtifact();
    return join(folder, sha256.slice(0, 2), sha256);
  };
  const partOf = (sha256: string) => `${pathOf(sha256)}.part`;
  const files = storedFiles(folder);

  const statOf = async (sha256: string): Promise<ArtifactStat> => {
    const path = pathOf(sha256);
    const whole = await factsOf(path);
    if (whole === undefined)
      return { sha256, size: null, received: leaving.has(sha256) ? 0 : ((await factsOf(partOf(sha256)))?.bytes ?? 0) };
    const seconds = clock.now() / 1_000;
    try {
      await utimes(path, seconds, seconds);
    } catch (thrown) {
      if (codeOf(thrown) !== "ENOENT") throw thrown;
      return { sha256, size: null, received: 0 };
    }
    // Looked at only now: one that was marked before the touch may go in spite of it.
    return leaving.has(sha256)
      ? { sha256, size: null, received: 0 }
      : { sha256, size: whole.bytes, received: whole.bytes };
  };

  /** Moves a damaged file out of the way, if it is still the one that was looked at. */
  const setAside = async (sha256: string, inode: number): Promise<void> => {
    if (busy.has(sha256) || leaving.has(sha256)) return;
    leaving.add(sha256);
    try {
      if ((await factsOf(pathOf(sha256)))?.inode !== inode) return;
      await makeFolder(files.quarantine);
      await rename(pathOf(sha256), join(files.quarantine, `${sha256}.${clock.now()}`));
      await syncFolder(dirname(pathOf(sha256)));
    } finally {
      leaving.delete(sha256);
    }
  };

  const inspect = async (sha256: string, { bytes, signal }: InspectOptions = {}): Promise<Inspection> => {
    const path = pathOf(sha256);
    const before = await factsOf(path);
    if (before === undefined) {
      // A store that is not there at all is a disk that is not mounted, and says nothing about its files.
      if ((await factsOf(folder)) === undefined)
        throw new OperatingError("ARTIFACT_UNREADABLE", `there is no folder ${folder}`, { retryable: true });
      return { sha256, sound: false, damage: "missing", actual: null };
    }
    let found: FileHash | undefined;
    try {
      found = await hasher.hash(path, signal);
    } catch (thrown) {
      const code = isOperatingError(thrown, "ARTIFACT_UNREADABLE") ? thrown.details.code : undefined;
      if (code === "ENOENT") return { sha256, sound: false, damage: "missing", actual: null };
      if (code !== "EIO" && code !== "EISDIR") throw thrown;
    }
    if (found?.sha256 === sha256) {
      sound.set(sha256, before.inode, clock.monotonic());
      return { sha256, sound: true, bytes: found.bytes };
    }
    await setAside(sha256, before.inode);
    const damage = found === undefined ? "unreadable" : found.bytes < (bytes ?? 0) ? "truncated" : "checksum";
    return { sha256, sound: false, damage, actual: found?.sha256 ?? null };
  };

  async function* readChecked(sha256: string, start: number, end: number): AsyncIterable<Uint8Array> {
    const path = pathOf(sha256);
    const facts = await factsOf(path);
    const known = facts !== undefined && sound.get(sha256, clock.monotonic()) === facts.inode;
    if (facts !== undefined && facts.bytes <= checkedBytes && !known) {
      const found = await inspect(sha256);
      if (!found.sound) {
        for (const listen of listeners) listen(found);
        throw new OperatingError("ARTIFACT_DAMAGED", `the artifact ${sha256} is damaged and is not given out`, {
          retryable: true,
          hint: "It lies in quarantine; the job that made it can make it again.",
        });
      }
    }
    yield* createReadStream(path, { start, end: end - 1 });
  }

  /** Takes one in that is not there yet, while nobody else does. */
  const takeIn = async (sha256: string, size: number, run: () => Promise<void>): Promise<ArtifactStat> => {
    if (size > mostBytes)
      throw new OperatingError("ARTIFACT_TOO_LARGE", `an artifact may have ${mostBytes} bytes, this has ${size}`);
    const known = await statOf(sha256);
    if (known.size !== null) return known;
    if (busy.size >= mostAtOnce)
      throw new OperatingError("UPLOADS_BUSY", `${busy.size} files come in at the moment`, {
        retryable: true,
        details: { retryAfterSeconds: 1 },
      });
    if (busy.has(sha256) || leaving.has(sha256))
      throw new OperatingError("ARTIFACT_BUSY", `somebody else has the artifact ${sha256} in hand at the moment`, {
        retryable: true,
        details: { retryAfterSeconds: 2 },
      });
    busy.add(sha256);
    try {
      await run();
      return await statOf(sha256);
    } finally {
      busy.delete(sha256);
    }
  };

  return {
    pathOf,
    stat: statOf,
    async write(request) {
      const { sha256, offset, size, length } = request;
      if (offset + length > size) throw new OperatingError("INVALID_REQUEST", "the bytes go beyond the end");
      const place = { path: pathOf(sha256), part: partOf(sha256), hasher };
      return takeIn(sha256, size, () => receive(place, request));
    },
    async adopt(request) {
      const { sha256, bytes } = request;
      const { adoptFrom: from } = options;
      if (from === undefined)
        throw new OperatingError("ARTIFACT_NOT_ADOPTED", "this store adopts no files", {
          hint: "Send its bytes instead.",
        });
      const place = { path: pathOf(sha256), part: partOf(sha256), from, hasher };
      return takeIn(sha256, bytes, () => adopt(place, request));
    },
    read: (sha256, start, end) => (end <= start ? nothing() : readChecked(sha256, start, end)),
    inspect,
    onDamage(listen) {
      listeners.add(listen);
      return () => void listeners.delete(listen);
    },
    async take(sha256s, touchedBefore, agree) {
      const held = [...new Set(sha256s)].filter((sha256) => !busy.has(sha256) && !leaving.has(sha256));
      for (const sha256 of held) leaving.add(sha256);
      try {
        const idle: string[] = [];
        for (const sha256 of held)
          if (((await factsOf(pathOf(sha256)))?.touchedAt ?? 0) < touchedBefore) idle.push(sha256);
        const going = idle.length === 0 ? [] : [...(await agree(idle))];
        for (const sha256 of going) await rm(pathOf(sha256), { force: true });
        return going;
      } finally {
        for (const sha256 of held) leaving.delete(sha256);
      }
    },
    filesIn: files.filesIn,
    async dropPart(sha256, touchedBefore) {
      if (busy.has(sha256)) return false;
      busy.add(sha256);
      try {
        const part = await factsOf(partOf(sha256));
        if (part === undefined || part.touchedAt >= touchedBefore) return false;
        await rm(partOf(sha256), { force: true });
        return true;
      } finally {
        busy.delete(sha256);
      }
    },
    emptyQuarantine: files.emptyQuarantine,
    close: hasher.close,
  };
}

async function* nothing(): AsyncIterable<Uint8Array> {}
