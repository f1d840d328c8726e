/** Looks through the folders of this node for files that no manifest knows. It reads, and moves nothing. */
import type { Dirent } from "node:fs";
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { createRecent, type FileHasher, isOperatingError, messageOf, systemCode } from "../../kernel/index.ts";
import type { ReadStructure, Structure } from "../brought/structure.ts";
import { isSha256 } from "../disk.ts";
import { orphanLimits } from "../limits.ts";
import { PREFIXES } from "../stored-files.ts";
import type { PackedFiles } from "../transfer/index.ts";

/** A folder that is looked through. */
export interface OrphanFolder {
  readonly path: string;
  /** Ours: files under their hash, in 256 folders or side by side. Else it is somebody's, with files of any name. */
  readonly layout: "prefixes" | "flat" | "any";
}

export interface FoundFile {
  readonly sha256: string;
  readonly folder: string;
  readonly name: string;
  readonly bytes: number;
  /** It lies in the store of this node. */
  readonly isStored: boolean;
  /** Its bytes are what its name says; of files with other names that is so. */
  readonly isNamed: boolean;
  readonly structure: Structure;
}

export interface OrphanSearchPorts {
  readonly folders: readonly OrphanFolder[];
  /** Those of these that a manifest, a pin or a job knows. */
  readonly knows: (sha256s: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Whether there must be files in the store of this node. */
  readonly expectsFiles: () => boolean;
  /** Files of the store of this node that lie together. */
  readonly packed?: PackedFiles | undefined;
  readonly readStructure: ReadStructure;
  readonly hasher: Pick<FileHasher, "hash">;
}

/** Games as people and other programs keep them. */
const GAMES_OF_OTHERS = /\.(jsonl|npz|arena)$/i;

interface Candidate {
  readonly folder: OrphanFolder;
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly stamp: string;
}

/** A folder that cannot be looked at, or has nothing where something must be, says nothing about its files. */
export interface OrphanFault {
  readonly folder: string;
  readonly message: string;
}

const MAX_SEEN = 50_000;
const SEEN_MS = 24 * 3_600_000;

/** What is in a folder and below it, a bounded number; links are not followed. */
async function* filesBelow(folder: string, deep: number, budget: { left: number }, inner = ""): AsyncIterable<string> {
  const entries: Dirent[] = [];
  for await (const entry of await opendir(join(folder, inner))) {
    if (budget.left <= 0) break;
    budget.left -= 1;
    entries.push(entry);
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const name = join(inner, entry.name);
    if (entry.isFile()) yield name;
    else if (entry.isDirectory() && deep > 0 && !entry.name.startsWith("."))
      yield* filesBelow(folder, deep - 1, budget, name);
  }
}

const notMounted = (folder: string, what: string): OrphanFault => ({
  folder,
  message: `${folder} ${what}: is its disk mounted?`,
});

export function createOrphanSearch(ports: OrphanSearchPorts, limits = orphanLimits) {
  const { folders, knows, expectsFiles, packed, readStructure, hasher } = ports;
  /** Files that were looked at and are of no interest, or known, as they were then. */
  const seen = createRecent<string>(SEEN_MS, MAX_SEEN);
  /** Where the search in the 256 folders goes on. */
  let place = 0;

  const candidateOf = async (folder: OrphanFolder, name: string, oldBefore: number): Promise<Candidate | undefined> => {
    const path = join(folder.path, name);
    const about = await lstat(path).catch((thrown: unknown) => {
      if (systemCode(thrown) === "ENOENT") return undefined;
      throw thrown;
    });
    // What is being written belongs to whoever writes it.
    if (about === undefined || !about.isFile() || about.size === 0 || about.mtimeMs >= oldBefore) return undefined;
    return { folder, name, path, bytes: about.size, stamp: `${about.ino} ${about.size} ${about.mtimeMs}` };
  };

  /** What lies in packs and nobody knows becomes files, which are looked at when they are old enough. Whether there is anything in packs at all. */
  const takeOut = async (): Promise<boolean> => {
    const names = ((await packed?.list()) ?? []).map(({ sha256 }) => sha256);
    const known = names.length === 0 ? new Set<string>() : await knows(names);
    const unknown = names.filter((sha256) => !known.has(sha256));
    if (unknown.length > 0) await packed?.makeFiles(unknown.slice(0, limits.maxLooks));
    return names.length > 0;
  };

  /** The files of our own store that this look is about. */
  const storedIn = async (folder: OrphanFolder, oldBefore: number): Promise<Candidate[] | OrphanFault> => {
    const below = folder.layout === "flat" ? [""] : PREFIXES.slice(place, place + limits.prefixes);
    const all: Candidate[] = [];
    let isSeen = folder.layout === "flat" && (await takeOut());
    // Whether there is anything at all is asked of the whole folder: a few of its 256 may well be empty.
    for await (const _ of filesBelow(folder.path, 1, { left: limits.maxFiles })) {
      isSeen = true;
      break;
    }
    if (!isSeen && expectsFiles()) return notMounted(folder.path, "is empty, and files must be there");
    for (const inner of below)
      try {
        for await (const name of filesBelow(join(folder.path, inner), 0, { left: limits.maxFiles })) {
          if (!isSha256(name)) continue;
          const one = await candidateOf(folder, join(inner, name), oldBefore);
          if (one !== undefined) all.push(one);
        }
      } catch (thrown) {
        if (systemCode(thrown) !== "ENOENT") throw thrown;
      }
    if (folder.layout === "prefixes") place = (place + limits.prefixes) % PREFIXES.length;
    return all;
  };

  const watchedIn = async (folder: OrphanFolder, oldBefore: number): Promise<Candidate[] | OrphanFault> => {
    const all: Candidate[] = [];
    let isSeen = false;
    for await (const name of filesBelow(folder.path, limits.deep, { left: limits.maxFiles })) {
      isSeen = true;
      const one = GAMES_OF_OTHERS.test(name) ? await candidateOf(folder, name, oldBefore) : undefined;
      if (one !== undefined) all.push(one);
    }
    return isSeen ? all : notMounted(folder.path, "is empty");
  };

  const candidatesIn = async (folder: OrphanFolder, oldBefore: number): Promise<Candidate[] | OrphanFault> => {
    try {
      return await (folder.layout === "any" ? watchedIn : storedIn)(folder, oldBefore);
    } catch (thrown) {
      const code = systemCode(thrown);
      if (code === undefined) throw thrown;
      if (code !== "ENOENT") return { folder: folder.path, message: `${folder.path} cannot be read (${code})` };
      // A store that was never needed was never made.
      if (folder.layout !== "any" && !expectsFiles()) return [];
      return notMounted(folder.path, "is not there");
    }
  };

  const hashOf = async (path: string, signal: AbortSignal): Promise<string | undefined> => {
    try {
      return (await hasher.hash(path, signal)).sha256;
    } catch (thrown) {
      if (isOperatingError(thrown) && thrown.details.code === "ENOENT") return undefined;
      throw thrown;
    }
  };

  return {
    folders,
    knows,
    /** Files that nobody knows and that were not told yet, and folders that could not be looked at. */
    async look(given: {
      readonly oldBefore: number;
      readonly now: number;
      readonly listed: ReadonlySet<string>;
      readonly signal: AbortSignal;
    }): Promise<{ readonly found: readonly FoundFile[]; readonly faults: readonly OrphanFault[] }> {
      const { oldBefore, now, listed, signal } = given;
      const faults: OrphanFault[] = [];
      const fresh: Candidate[] = [];
      for (const folder of folders) {
        const all = await candidatesIn(folder, oldBefore);
        if ("message" in all) faults.push(all);
        else fresh.push(...all.filter(({ path, stamp }) => seen.get(path, now) !== stamp));
      }
      const nameOf = ({ name }: Candidate) => name.slice(-64);
      const stored = fresh.filter(({ folder }) => folder.layout !== "any");
      const known = stored.length === 0 ? new Set<string>() : await knows(stored.map(nameOf));
      const found: FoundFile[] = [];
      let looked = 0;
      for (const one of fresh) {
        signal.throwIfAborted();
        const { folder, name, path, bytes, stamp } = one;
        const isStored = folder.layout !== "any";
        if (isStored && (known.has(nameOf(one)) || listed.has(nameOf(one)))) continue;
        if (looked >= limits.maxLooks) break;
        looked += 1;
        try {
          const actual = await hashOf(path, signal);
          if (actual === undefined) continue;
          const sha256 = isStored ? nameOf(one) : actual;
          const isKnown = !isStored && (listed.has(sha256) || (await knows([sha256])).has(sha256));
          const structure = isKnown ? undefined : await readStructure(path, { replay: true, signal });
          seen.set(path, stamp, now);
          if (structure !== undefined)
            found.push({ sha256, folder: folder.path, name, bytes, isStored, isNamed: actual === sha256, structure });
        } catch (thrown) {
          if (signal.aborted) throw thrown;
          faults.push({ folder: folder.path, message: `${path} cannot be read: ${messageOf(thrown)}` });
        }
      }
      return { found, faults };
    },
  };
}

export type OrphanSearch = ReturnType<typeof createOrphanSearch>;
