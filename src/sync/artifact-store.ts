import { hash } from "node:crypto";
import { rename, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  type Clock,
  createFileHasher,
  DISK_FULL,
  OperatingError,
  sumOf,
  syncFolder,
  systemClock,
  translateDiskFault,
} from "../kernel/index.ts";
import { settingDefaults } from "../kernel/settings/index.ts";
import { type AdoptRequest, adopt } from "./adopt.ts";
import { factsOf, isSha256, makeFolder, notAnArtifact } from "./disk.ts";
import { createFileCheck, type Inspection, type InspectOptions } from "./file-check.ts";
import { createReservations, type Reservation } from "./reservations.ts";
import { artifactSettings } from "./settings.ts";
import { type StoredFile, storedFiles } from "./stored-files.ts";
import { type ArtifactTraffic, createTraffic } from "./traffic.ts";
import type { Wanted } from "./transport.port.ts";
import { receive, type WriteRequest } from "./upload.ts";

const artifactStoreDefaults = {
  maxBytes: settingDefaults(artifactSettings).maxBytes,
  /** Files that come in at once, from all and from one sender. */
  maxAtOnce: 64,
  maxOfOne: 16,
  /** Share of the disk that files from outside leave free, for the journal. */
  leaveFree: 0,
  /** Files up to this size are hashed before their first byte is given out; larger ones are checked by whoever receives them. */
  checkedBytes: 64 * 1_024 ** 2,
  /** One that was found sound is not hashed again for so long. */
  soundForMs: 60_000,
};

export interface ArtifactStoreOptions extends Partial<typeof artifactStoreDefaults> {
  readonly folder: string;
  /** The folder on this machine whose files may be adopted; none unless given. */
  readonly adoptFrom?: string;
  readonly clock?: Clock;
  /** What is wrong with the structure of a file that comes in; null if nothing is. Looked at on a thread. */
  readonly faultOf?: (path: string) => Promise<string | null>;
}

/** What is there of an artifact. */
export interface ArtifactStat {
  readonly sha256: string;
  /** Bytes of the whole; null while only a part is there. */
  readonly size: number | null;
  /** Bytes that who asks need not send again. */
  readonly received: number;
}

export interface ArtifactStore {
  readonly traffic: ArtifactTraffic;
  /**
   * What is there, or what this sender has brought of it. Who is told that a file is whole may rely on it for the grace of
   * the garbage collection.
   */
  stat(sha256: string, from?: string): Promise<ArtifactStat>;
  /** Adds bytes; the artifact is whole, and in its place, when the last one has come and the hash is right. */
  write(request: WriteRequest): Promise<ArtifactStat>;
  /** Takes a file of this machine as it is: its bytes are looked at, and not moved. */
  adopt(request: AdoptRequest): Promise<ArtifactStat>;
  /**
   * For whoever puts files into their places itself, on a thread: until it lets go they count as coming in, and nobody takes them
   * away. Those that somebody else has in hand, or that are too large, come back by themselves.
   */
  reserve(wanted: readonly Wanted[], from: string): Reservation;
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
  dropPart(part: StoredFile, touchedBefore: number): Promise<boolean>;
  /** Removes what has been in quarantine since before then. Gives how many files went. */
  emptyQuarantine(before: number, max: number): Promise<number>;
  /** What comes in at the moment, and how much may. */
  transfers(): {
    readonly incoming: readonly { readonly sha256: string; readonly from: string }[];
    readonly max_at_once: number;
    readonly max_of_one: number;
  };
  /** Ends the thread. */
  close(): Promise<void>;
}

/** The worker beside us is one sender, whatever it has in hand. */
export const ADOPTED = "adopted";

const unreadable = (message: string, code?: string) =>
  OperatingError.internal("ARTIFACT_UNREADABLE", `a file of the store could not be read: ${message}`, {
    retryable: true,
    hint: "Check the disk of this machine.",
    details: { code },
  });

/**
 * Files by their hash, under `<folder>/<2 hex>/<sha256>`. Bytes gather in a part beside it; who finds the name finds all of
 * it. A file never changes: it comes whole, and it goes whole.
 */
export function createArtifactStore(options: ArtifactStoreOptions): ArtifactStore {
  const { folder, maxBytes, maxAtOnce, maxOfOne, leaveFree, checkedBytes, soundForMs } = {
    ...artifactStoreDefaults,
    ...options,
  };
  const clock = options.clock ?? systemClock();
  const hasher = createFileHasher(unreadable);
  /** What comes in, by the part it gathers in: what is it to be, and who brings it. */
  const incoming = new Map<string, { readonly sha256: string; readonly from: string; readonly bytes?: number }>();
  const comesIn = (sha256: string) =>
    reserved.has(sha256) || [...incoming.values()].some((one) => one.sha256 === sha256);
  /** Being taken away: for whoever asks it is not there any more, and for whoever brings it, not yet. */
  const leaving = new Set<string>();
  const pathOf = (sha256: string): string => {
    if (!isSha256(sha256)) throw notAnArtifact();
    return join(folder, sha256.slice(0, 2), sha256);
  };
  const traffic = createTraffic(() => incoming.size);
  const partOf = (sha256: string, from: string) => `${pathOf(sha256)}.${hash("sha256", from).slice(0, 16)}.part`;
  const reserved = createReservations({
    maxBytes,
    landingOf: (sha256, from) => ({ path: pathOf(sha256), part: partOf(sha256, from) }),
    isLeaving: (sha256) => leaving.has(sha256),
  });
  const files = storedFiles(folder);

  const receivedOf = async (sha256: string, from: string | undefined): Promise<number> =>
    from === undefined || leaving.has(sha256) ? 0 : ((await factsOf(partOf(sha256, from)))?.bytes ?? 0);

  const statOf = async (sha256: string, from?: string): Promise<ArtifactStat> => {
    const whole = await checked.touch(sha256);
    if (whole === undefined) return { sha256, size: null, received: await receivedOf(sha256, from) };
    // Looked at only now: one that was marked before the touch may go in spite of it.
    return leaving.has(sha256)
      ? { sha256, size: null, received: 0 }
      : { sha256, size: whole.bytes, received: whole.bytes };
  };

  /** Moves a damaged file out of the way, if it is still the one that was looked at. */
  const setAside = async (sha256: string, inode: number): Promise<void> => {
    if (comesIn(sha256) || leaving.has(sha256)) return;
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

  const checked = createFileCheck({ folder, pathOf, hasher, setAside, clock, checkedBytes, soundForMs });

  /** Takes one in that is not there yet. One sender brings each once at a time, and leaves room for the others. */
  const takeIn = async (
    { sha256, from }: { readonly sha256: string; readonly from: string },
    size: number,
    run: (part: string) => Promise<void>,
  ): Promise<ArtifactStat> => {
    if (size > maxBytes)
      throw OperatingError.denied("ARTIFACT_TOO_LARGE", `an artifact may have ${maxBytes} bytes, this has ${size}`, {
        status: 413,
      });
    const known = await statOf(sha256);
    if (known.size !== null) return known;
    const part = partOf(sha256, from);
    const ofOne = [...incoming.values()].filter((one) => one.from === from).length;
    if (incoming.size >= maxAtOnce || ofOne >= maxOfOne)
      throw OperatingError.busy(
        "UPLOADS_BUSY",
        `${incoming.size} files come in at the moment, ${ofOne} of them yours`,
        {
          details: { retryAfterSeconds: 1 },
        },
      );
    if (incoming.has(part) || leaving.has(sha256))
      throw OperatingError.busy("ARTIFACT_BUSY", `the artifact ${sha256} is in use at the moment`, {
        status: 409,
        details: { retryAfterSeconds: 2 },
      });
    incoming.set(part, { sha256, from });
    try {
      if (from !== ADOPTED) await assertRoom(size);
      incoming.set(part, { sha256, from, bytes: size });
      await run(part);
      return await statOf(sha256, from);
    } catch (thrown) {
      traffic.refused();
      throw translateDiskFault(thrown);
    } finally {
      incoming.delete(part);
    }
  };

  /** What one sender brings must not take the room from the journal, and with it from everybody. */
  const assertRoom = async (bytes: number): Promise<void> => {
    if (leaveFree === 0) return;
    await makeFolder(folder);
    const { bavail, blocks, bsize } = await statfs(folder);
    const announced = sumOf(incoming.values(), (one) => one.bytes ?? 0);
    if (bavail * bsize - announced - bytes < leaveFree * blocks * bsize)
      throw OperatingError.unavailable(
        DISK_FULL.code,
        `the disk has no room for ${bytes} bytes: ${Math.round(leaveFree * 100)} % of it stay free (resources.disk_critical)`,
        { hint: DISK_FULL.hint, details: { retryAfterSeconds: 10 } },
      );
  };

  return {
    traffic: traffic.counts,
    pathOf,
    stat: statOf,
    async write(request) {
      const { sha256, offset, size, length } = request;
      if (offset + length > size) throw OperatingError.invalid("INVALID_REQUEST", "the bytes go beyond the end");
      return takeIn(request, size, async (part) => {
        const aside = async (from: string) => {
          await makeFolder(files.quarantine);
          await rename(from, join(files.quarantine, `${sha256}.${clock.now()}`));
        };
        await receive(
          { path: pathOf(sha256), part, hasher, faultOf: options.faultOf, aside },
          { ...request, bytes: traffic.received(request.bytes) },
        );
        if (offset + length === size) traffic.came("received");
      });
    },
    async adopt(request) {
      const { sha256, bytes } = request;
      const { adoptFrom: from } = options;
      if (from === undefined)
        throw OperatingError.denied("ARTIFACT_NOT_ADOPTED", "this store adopts no files", {
          status: 422,
          hint: "Send its bytes instead.",
        });
      const sender = { sha256, from: ADOPTED };
      return takeIn(sender, bytes, async (part) => {
        await adopt({ path: pathOf(sha256), part, from, hasher }, request);
        traffic.came("adopted", bytes);
      });
    },
    reserve: reserved.reserve,
    read: (sha256, start, end) => (end <= start ? nothing() : traffic.sent(checked.read(sha256, start, end))),
    inspect: checked.inspect,
    transfers: () => ({
      incoming: [...incoming.values()].map(({ sha256, from }) => ({ sha256, from })),
      max_at_once: maxAtOnce,
      max_of_one: maxOfOne,
    }),
    onDamage: checked.onDamage,
    async take(sha256s, touchedBefore, agree) {
      const held = [...new Set(sha256s)].filter((sha256) => !comesIn(sha256) && !leaving.has(sha256));
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
    async dropPart({ sha256, name }, touchedBefore) {
      const part = join(dirname(pathOf(sha256)), name);
      if (incoming.has(part) || reserved.isPart(sha256, part)) return false;
      incoming.set(part, { sha256, from: "sweep" });
      try {
        const facts = await factsOf(part);
        if (facts === undefined || facts.touchedAt >= touchedBefore) return false;
        await rm(part, { force: true });
        return true;
      } finally {
        incoming.delete(part);
      }
    },
    emptyQuarantine: files.emptyQuarantine,
    close: hasher.close,
  };
}

async function* nothing(): AsyncIterable<Uint8Array> {}
