/** Files of other programs as segments of ours: read within bounds, played through by the rules, and written anew where they are lines. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hashOf, MAGIC } from "../files/container.ts";
import { corrupt, fileFault } from "../files/errors.ts";
import { decodeGames, encodeGames } from "../files/games-file.ts";
import { decodeNpz } from "../files/npz.ts";
import { decodeRecords, RULES_VERSION } from "../files/records-file.ts";
import { decodeSamples } from "../files/samples-file.ts";
import { readBytes, readPlainFile } from "../files/structure.ts";
import { createGame } from "../games/catalog.ts";
import { createInspection, rowsByGame } from "../jobs/inspection.ts";

/** A file that can be imported as it is. */
export interface MadeSegment {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly kind: "games" | "samples";
  readonly config_key: string;
  readonly games: number;
  readonly rows: number;
  /** Null where only rows are known: there is nothing to play through. */
  readonly rules_version: string | null;
}

const MAX_BYTES = 512 * 1_024 * 1_024;

/** The segments that a file holds; lines of several configs are one for each. They lie in `scratch`, or where they were. */
export async function segmentsIn(path: string, scratch: string, maxBytes = MAX_BYTES): Promise<MadeSegment[]> {
  const bytes = await readPlainFile(path, maxBytes);
  if (path.toLowerCase().endsWith(".jsonl") && !bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    const made: MadeSegment[] = [];
    for (const [configKey, games] of decodeRecords(bytes)) {
      const file = encodeGames(configKey, games, { imported: "jsonl" });
      const to = join(scratch, file.hash);
      await writeFile(to, file.bytes, { mode: 0o600 });
      const about = { kind: "games", config_key: configKey, games: games.length, rows: games.length } as const;
      made.push({ path: to, sha256: file.hash, bytes: file.bytes.length, ...about, rules_version: RULES_VERSION });
    }
    return made;
  }
  const { kind, config_key, games, rows } = readBytes(path, bytes, true);
  if ((kind !== "games" && kind !== "samples") || config_key === null)
    throw fileFault(
      "ARENA_FILE_KIND",
      `It holds ${kind ?? "nothing that is known"}; games and rows of games are imported.`,
    );
  if (games === 0) throw corrupt("It holds no games.");
  const rules_version = kind === "games" ? RULES_VERSION : null;
  return [{ path, sha256: hashOf(bytes), bytes: bytes.length, kind, config_key, games, rows, rules_version }];
}

/** What is wrong with rows that are said to be of these games; null if nothing is. */
export async function faultOfRows(gamesPath: string, rowsPath: string, maxBytes = MAX_BYTES): Promise<string | null> {
  const { configKey, games } = decodeGames(await readPlainFile(gamesPath, maxBytes));
  const bytes = await readPlainFile(rowsPath, maxBytes);
  const { samples } = bytes[0] === 0x50 ? decodeNpz(bytes) : decodeSamples(bytes);
  if (samples.configKey !== configKey)
    return `its rows are of ${samples.configKey}, the games beside it of ${configKey}`;
  const game = createGame(configKey);
  const inspection = createInspection(game, samples, rowsByGame(samples, games.length));
  for (const [i, record] of games.entries()) inspection.look(i, record);
  const { label_errors: wrong } = inspection.figures;
  return wrong === 0 ? null : `${wrong} of its ${samples.count} rows contradict the games beside it`;
}
