/** What the files of a folder become: segments, each read and played through; and why others do not. */
import { join } from "node:path";
import type { MadeSegment, StructureReader } from "../../../workloads/arena/index.ts";
import type { FoundFiles, Refused } from "./find-files.ts";

export interface Segment extends MadeSegment {
  /** The file of the folder that it comes from. */
  readonly from: string;
  /** The file of games that these rows are of. */
  readonly rows_of?: string;
}

export interface ReadSegments {
  readonly segments: readonly Segment[];
  readonly refused: readonly Refused[];
}

const stemOf = (path: string): string => path.replace(/\.[^./]+$/, "");

export async function readSegments(
  { root, files }: FoundFiles,
  reader: Pick<StructureReader, "segments" | "faultOfRows">,
  options: {
    readonly scratch: string;
    readonly configKey?: string | undefined;
    readonly signal: AbortSignal;
    readonly onFile: (done: number, games: number) => void;
  },
): Promise<ReadSegments> {
  const { scratch, configKey, signal, onFile } = options;
  const all: Segment[] = [];
  const refused: Refused[] = [];
  const known = new Set<string>();
  let games = 0;
  for (const [done, from] of files.entries()) {
    signal.throwIfAborted();
    onFile(done, games);
    const found = await reader.segments(join(root, from), scratch, signal);
    if ("sound" in found) {
      refused.push({ path: from, code: found.code, why: found.message });
      continue;
    }
    for (const segment of found) {
      if (configKey !== undefined && segment.config_key !== configKey) continue;
      // The same bytes under two names are one segment.
      if (known.has(segment.sha256)) continue;
      known.add(segment.sha256);
      all.push({ from, ...segment });
      games += segment.kind === "games" ? segment.games : 0;
    }
  }
  const segments: Segment[] = all.filter(({ kind }) => kind === "games");
  for (const rows of all.filter(({ kind }) => kind === "samples")) {
    // Rows belong to the games of the same name beside them.
    const of = all.find((one) => one.kind === "games" && stemOf(one.from) === stemOf(rows.from));
    if (of === undefined) segments.push(rows);
    else {
      const checked = await reader.faultOfRows(rows.path, of.path, signal);
      const fault = "sound" in checked ? checked.message : checked.fault;
      if (fault === null) segments.push({ ...rows, rows_of: of.sha256 });
      else refused.push({ path: rows.from, code: "IMPORT_ROWS", why: fault });
    }
  }
  return { segments, refused };
}
