/** Files that came by no job of ours: found on a node, or made elsewhere. They count once they were looked at here. */
import type { ArtifactInspector } from "../artifact-inspector.ts";
import type { ArtifactStore } from "../artifact-store.ts";
import type { ReadStructure } from "./structure.ts";

/** What a look at one of them came to. */
export type BroughtLook =
  | { readonly state: "away" }
  | {
      readonly state: "sound";
      readonly bytes: number;
      readonly kind: string | null;
      readonly config_key: string | null;
      readonly games: number;
      readonly rows: number;
    }
  | { readonly state: "bad"; readonly why: string };

export function createBrought(ports: {
  readonly files: Pick<ArtifactStore, "stat" | "pathOf">;
  readonly inspector: Pick<ArtifactInspector, "verify">;
  readonly readStructure: ReadStructure;
}) {
  const { files, inspector, readStructure } = ports;
  return {
    /** These are in the catalog now: their copies here are in the books from here on. */
    note: (sha256s: readonly string[]) => (sha256s.length === 0 ? undefined : inspector.verify(sha256s)),
    /** Its bytes are hashed and its games played through; nothing that somebody said of it is believed. */
    async look(sha256: string, signal?: AbortSignal): Promise<BroughtLook> {
      const { size } = await files.stat(sha256);
      if (size === null) return { state: "away" };
      const [found] = await inspector.verify([sha256], signal);
      if (found === undefined || !found.sound) return { state: "bad", why: `its bytes are not ${sha256}` };
      const read = await readStructure(files.pathOf(sha256), { replay: true, ...(signal && { signal }) });
      if (!read.sound) return { state: "bad", why: `${read.code}: ${read.message}` };
      const { kind, config_key, games, rows } = read;
      return { state: "sound", bytes: size, kind, config_key, games, rows };
    },
  };
}

export type Brought = ReturnType<typeof createBrought>;
