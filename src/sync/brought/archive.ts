/** Games of a drive with an archive: read there, brought into the store, and entered as if a person had imported them. */
import { createReadStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ArtifactStore } from "../artifact-store.ts";
import type { Imports } from "./imports.ts";
import type { BroughtSegment, ReadSegments } from "./structure.ts";

/** Who made what comes from an archive, as the books call it. */
const ARCHIVE = "archive";

export interface ArchiveVerdict {
  /** Games that came in. */
  readonly games: number;
  /** Why some or all of its games did not; null where nothing is wrong with them. */
  readonly why: string | null;
}

export interface Archive {
  /** Takes the games of one file. What it says of itself is not believed: it is read, and its games are played through. */
  bring(path: string, signal: AbortSignal): Promise<ArchiveVerdict>;
}

export function createArchive(ports: {
  readonly files: Pick<ArtifactStore, "write">;
  readonly imports: Pick<Imports, "take">;
  readonly readSegments: ReadSegments;
}): Archive {
  const { files, imports, readSegments } = ports;

  const store = ({ sha256, path, bytes }: BroughtSegment) =>
    files.write({
      sha256,
      offset: 0,
      size: bytes,
      length: bytes,
      bytes: createReadStream(path),
      from: ARCHIVE,
      accept: () => {},
    });

  return {
    async bring(path, signal) {
      const scratch = await mkdtemp(join(tmpdir(), "ringrift-archive-"));
      try {
        const read = await readSegments(path, scratch, signal);
        if ("sound" in read) return { games: 0, why: `${read.code}: ${read.message}` };
        // Rows without their games are a person's to bring: 'ringrift import' knows which belong together.
        const games = read.filter(({ kind }) => kind === "games");
        for (const segment of games) {
          signal.throwIfAborted();
          await store(segment);
        }
        const verdicts = await imports.take(
          games.map(({ path: _path, bytes: _bytes, ...about }) => ({ ...about, producer: ARCHIVE })),
          false,
        );
        const isIn = (i: number) => verdicts[i]?.state === "imported";
        return {
          games: games.reduce((sum, segment, i) => sum + (isIn(i) ? segment.games : 0), 0),
          why: verdicts.find(({ state }) => state === "refused")?.why ?? null,
        };
      } finally {
        await rm(scratch, { recursive: true, force: true });
      }
    },
  };
}
