/** The files of the simulated cluster: what has been made anywhere, and what of it has come into the store of the main process. */
import { OperatingError } from "../../../src/kernel/index.ts";
import type { ArtifactStore } from "../../../src/sync/index.ts";
import { type FileShelf, fileShelf } from "../../unit/pipeline/learning-world.ts";

const EMPTY = new Uint8Array();

export function createFiles() {
  /** Bytes of those whose bytes anybody reads. */
  const shelf: FileShelf = fileShelf();
  const stored = new Map<string, number>();
  /** Models that nobody can read. */
  const noise = new Set<string>();
  const refused = () => Promise.reject(OperatingError.denied("NOT_HERE", "nobody does this in this world"));
  const store: ArtifactStore = {
    traffic: {
      files: { received: 0, adopted: 0, refused: 0 },
      bytes: { received: 0, adopted: 0, sent: 0 },
      underWay: { receiving: 0, sending: 0 },
    },
    transfers: () => ({ incoming: [], max_at_once: 1, max_of_one: 1 }),
    stat: async (sha256) => ({ sha256, size: stored.get(sha256) ?? null, received: stored.get(sha256) ?? 0 }),
    async *read(sha256) {
      yield shelf.files.get(sha256) ?? EMPTY;
    },
    inspect: async (sha256) => {
      const bytes = stored.get(sha256);
      if (bytes === undefined) return { sha256, sound: false, damage: "missing", actual: null };
      return { sha256, sound: true, bytes };
    },
    pathOf: (sha256) => `/nowhere/${sha256}`,
    onDamage: () => () => {},
    filesIn: async () => [],
    emptyQuarantine: async () => 0,
    take: async () => [],
    dropPart: async () => false,
    reserve: () => ({ expected: [], refused: [], release: () => {} }),
    write: refused,
    adopt: refused,
    close: async () => {},
  };
  return {
    shelf,
    store,
    noise,
    has: (sha256: string) => stored.has(sha256),
    upload: (outputs: readonly { readonly sha256: string; readonly bytes: number }[]) => {
      for (const { sha256, bytes } of outputs) stored.set(sha256, bytes);
    },
  };
}
export type Files = ReturnType<typeof createFiles>;
