import { createReadStream } from "node:fs";
import { utimes } from "node:fs/promises";
import {
  type Clock,
  createRecent,
  type FileHash,
  type FileHasher,
  isOperatingError,
  OperatingError,
  systemCode,
} from "../kernel/index.ts";
import { type FileFacts, factsOf } from "./disk.ts";
import { MAX_SOUND_REMEMBERED } from "./limits.ts";

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

export interface FileCheckPorts {
  readonly folder: string;
  readonly pathOf: (sha256: string) => string;
  readonly hasher: Pick<FileHasher, "hash">;
  /** Moves a damaged file out of the way, if it is still the one that was looked at. */
  readonly setAside: (sha256: string, inode: number) => Promise<void>;
  readonly clock: Clock;
  readonly checkedBytes: number;
  readonly soundForMs: number;
}

/** Looks at the bytes of files: when somebody asks, and before they are given out. */
export function createFileCheck(ports: FileCheckPorts) {
  const { folder, pathOf, hasher, setAside, clock, checkedBytes, soundForMs } = ports;
  const listeners = new Set<(found: Inspection & { sound: false }) => void>();
  /** Found sound lately, with this stamp, at this time. */
  const sound = createRecent<{ readonly stamp: string; readonly at: number }>(soundForMs, MAX_SOUND_REMEMBERED);
  const touching = new Map<string, Promise<FileFacts | undefined>>();
  const remember = (sha256: string, stamp: string, at: number) => sound.set(sha256, { stamp, at }, clock.monotonic());
  const soundSince = (sha256: string, stamp: string): number | undefined => {
    const known = sound.get(sha256, clock.monotonic());
    return known?.stamp === stamp && clock.monotonic() - known.at < soundForMs ? known.at : undefined;
  };

  /** The mark that somebody has asked for it is ours: one that was sound, and whose bytes nobody touched, stays so. */
  const markAsked = async (sha256: string): Promise<FileFacts | undefined> => {
    const path = pathOf(sha256);
    const before = await factsOf(path);
    if (before === undefined) return undefined;
    const at = clock.now();
    try {
      await utimes(path, at / 1_000, at / 1_000);
    } catch (thrown) {
      if (systemCode(thrown) !== "ENOENT") throw thrown;
      return undefined;
    }
    const after = await factsOf(path);
    const since = soundSince(sha256, before.stamp);
    const isOnlyMarked = after?.inode === before.inode && Math.abs(after.touchedAt - at) < 1;
    if (since !== undefined && isOnlyMarked) remember(sha256, after.stamp, since);
    return after;
  };
  /** Those who ask at the same time share one mark, or each would take the other's for a change. */
  const touch = (sha256: string): Promise<FileFacts | undefined> => {
    const marking = touching.get(sha256) ?? markAsked(sha256).finally(() => touching.delete(sha256));
    touching.set(sha256, marking);
    return marking;
  };

  const inspect = async (sha256: string, { bytes, signal }: InspectOptions = {}): Promise<Inspection> => {
    const path = pathOf(sha256);
    const before = await factsOf(path);
    if (before === undefined) {
      // A store that is not there at all is a disk that is not mounted, and says nothing about its files.
      if ((await factsOf(folder)) === undefined)
        throw OperatingError.internal("ARTIFACT_UNREADABLE", `there is no folder ${folder}`, { retryable: true });
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
      // What changed while it was looked at is looked at again.
      if ((await factsOf(path))?.stamp === before.stamp) remember(sha256, before.stamp, clock.monotonic());
      return { sha256, sound: true, bytes: found.bytes };
    }
    await setAside(sha256, before.inode);
    const damage = found === undefined ? "unreadable" : found.bytes < (bytes ?? 0) ? "truncated" : "checksum";
    return { sha256, sound: false, damage, actual: found?.sha256 ?? null };
  };

  async function* read(sha256: string, start: number, end: number): AsyncIterable<Uint8Array> {
    const path = pathOf(sha256);
    await touching.get(sha256);
    const facts = await factsOf(path);
    if (facts !== undefined && facts.bytes <= checkedBytes && soundSince(sha256, facts.stamp) === undefined) {
      const found = await inspect(sha256);
      if (!found.sound) {
        for (const listen of listeners) listen(found);
        throw OperatingError.internal("ARTIFACT_DAMAGED", `the artifact ${sha256} is damaged and is not given out`, {
          retryable: true,
          hint: "The damaged file is in quarantine. The job that made it can make it again.",
        });
      }
    }
    yield* createReadStream(path, { start, end: end - 1 });
  }

  return {
    inspect,
    read,
    /** Marks a file as asked for, and says what it is; undefined if there is none. */
    touch,
    onDamage(listen: (found: Inspection & { sound: false }) => void): () => void {
      listeners.add(listen);
      return () => void listeners.delete(listen);
    },
  };
}
