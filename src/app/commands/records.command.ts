import { type FileHandle, open } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { messageOf, OperatingError, systemCode } from "../../kernel/index.ts";
import { ago, answer, askEither, right, type Shell, tableLines, wholeNumber } from "../../surfaces/commands/index.ts";
import { getRecord, listRecords, type Segment } from "../../surfaces/records/wire.ts";
import type { ArenaConsole } from "../../workloads/arena/index.ts";
import { readArtifact } from "./folder-artifact.ts";

/** What these commands ask of the arena. */
export type PlayedGames = Pick<ArenaConsole, "records" | "replay">;

const ID_DIGITS = 12;
const MAX_SEGMENTS = 1_000;
const idOf = ({ sha256 }: Pick<Segment, "sha256">, game: number): string => `${sha256.slice(0, ID_DIGITS)}#${game}`;

/** A game by its id: a file, by the first digits of its hash, and the place in it. */
function placeOf(id: string): { readonly file: string; readonly game: number | undefined } {
  const [, file, game] = /^([0-9a-f]{6,64})(?:#(\d{1,7}))?$/.exec(id) ?? [];
  if (file === undefined)
    throw OperatingError.invalid("INVALID_RECORD", `'${id}' is not the id of a game`, {
      hint: "It looks like 5b6ec061fbef#17; 'ringrift records list' shows them.",
    });
  return { file, game: game === undefined ? undefined : Number(game) };
}

interface ListOptions {
  readonly configKey?: string;
  readonly limit: number;
}

const segmentsOf = ({ configKey, limit }: ListOptions, shell: Shell): Promise<readonly Segment[]> =>
  askEither(shell, async (main) => {
    const query = { limit, ...(configKey === undefined ? {} : { config_key: configKey as never }) };
    return (await main.call(listRecords, { query })).segments;
  });

async function list(options: ListOptions, shell: Shell): Promise<void> {
  const segments = await segmentsOf(options, shell);
  const now = shell.clock.now();
  const rows = segments.map((segment) => [
    `${idOf(segment, 0)} to #${Math.max(0, segment.games - 1)}`,
    segment.config_key ?? "",
    right(segment.iteration === null ? "" : String(segment.iteration)),
    right(String(segment.games)),
    segment.state,
    segment.work_id ?? "",
    ago(segment.created_at, now),
  ]);
  const head = ["GAMES", "CONFIG", right("ITERATION"), right("COUNT"), "STATE", "JOB", "PLAYED"];
  answer(shell, { segments }, () =>
    rows.length === 0 ? "no game was played yet" : tableLines([head, ...rows], shell),
  );
}

async function show(id: string, games: PlayedGames, shell: Shell): Promise<void> {
  const { file, game = 0 } = placeOf(id);
  const segment = await askEither(shell, (main) => main.call(getRecord, { params: { id: file } }));
  const bytes = await readArtifact(shell.main.dataDir, segment.sha256, `the file of game ${id}`);
  const replayed = games.replay(bytes, game);
  const { work_id, iteration, producer, node = producer } = segment;
  answer(shell, { id: idOf(segment, game), work_id, iteration, producer, ...replayed }, () => [
    `game ${idOf(segment, game)} of ${replayed.config_key}: ${replayed.result}`,
    `played in iteration ${iteration ?? "?"} by job ${work_id ?? "?"} on ${node}, seed ${replayed.seed}`,
    "",
    replayed.moves.join(" "),
    "",
    replayed.drawing,
  ]);
}

interface ExportOptions extends ListOptions {
  readonly to?: string;
}

/** A file that was not there before. */
async function newFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, "wx", 0o600);
  } catch (thrown) {
    if (systemCode(thrown) === "EEXIST")
      throw OperatingError.conflict("FILE_EXISTS", `${path} already exists`, {
        hint: "Name another file with --to.",
      });
    throw OperatingError.invalid("INVALID_OPTION", `--to cannot be written: ${messageOf(thrown)}`, { cause: thrown });
  }
}

/** One line of JSON for each game, file by file: a folder of any size fits. */
async function exportGames(options: ExportOptions, games: PlayedGames, shell: Shell): Promise<void> {
  const segments = await segmentsOf({ ...options, limit: MAX_SEGMENTS }, shell);
  if (segments.length === 0) return shell.note("no games are kept; nothing was written");
  const path = options.to === undefined ? undefined : resolve(shell.io.cwd, options.to);
  await using file = path === undefined ? undefined : await newFile(path);
  let written = 0;
  for (const segment of segments) {
    if (written >= options.limit || shell.io.signal.aborted) break;
    const bytes = await readArtifact(shell.main.dataDir, segment.sha256, `a file of games (${segment.sha256})`);
    const { work_id, iteration } = segment;
    const records = games.records(bytes).slice(0, options.limit - written);
    const lines = records.map(
      (record, game) => `${JSON.stringify({ id: idOf(segment, game), iteration, work_id, ...record })}\n`,
    );
    if (file === undefined) shell.io.out(lines.join(""));
    else await file.appendFile(lines.join(""));
    written += records.length;
  }
  if (path !== undefined) shell.note(`${written} games are in ${path}`);
}

/** `ringrift records`: the games that were played. The rules of games are told by `ringrift games`. */
export function registerRecords(records: Command, shell: Shell, games: PlayedGames): void {
  records
    .command("list", { isDefault: true })
    .description("list files of played games, newest first; 'ringrift records' does the same")
    .option("--config-key <config>", "only of this config")
    .option("--limit <n>", "list at most this many files", wholeNumber("--limit", 1, 1_000), 20)
    .action((options: ListOptions) => list(options, shell));
  records
    .command("show")
    .description("show one game: who won, its moves, and the final board")
    .argument("<id>", "its id, for example 5b6ec061fbef#17; without a number the first game of the file")
    .action((id: string) => show(id, games, shell));
  records
    .command("export")
    .description("write games as lines of JSON, newest files first: id, config, seed, winner, moves")
    .option("--config-key <config>", "only of this config")
    .option("--limit <n>", "write at most this many games", wholeNumber("--limit", 1, 10_000_000), 1_000)
    .option("--to <file>", "write to this file; default: standard output")
    .action((options: ExportOptions) => exportGames(options, games, shell));
}
