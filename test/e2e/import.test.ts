/** A folder of games from elsewhere becomes segments of a running system: checked, counted once, and refused where it lies. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/kernel/index.ts";
import { importFiles } from "../../src/surfaces/imports/wire.ts";
import { callTo, openLink, requireEndpoint } from "../../src/surfaces/index.ts";
import { encodeNpz } from "../../src/workloads/arena/files/npz.ts";
import { createGame } from "../../src/workloads/arena/games/catalog.ts";
import { rowsOfGames } from "../../src/workloads/arena/play/rows-of-games.ts";
import type { GameRecord } from "../../src/workloads/arena/play/self-play.ts";
import { commandsOn, mainOn } from "../support/commands.ts";
import { CONFIG, gamesFile, playedGames } from "../support/played-games.ts";
import { owned } from "../support/process.ts";

const own = owned();
const game = createGame(CONFIG);
let folder = "";
let dataDir = "";
let main: Awaited<ReturnType<typeof mainOn>>;

const lineOf = ({ outcome, moves, seed }: GameRecord) =>
  JSON.stringify({
    config_key: CONFIG,
    seed,
    winner: outcome < game.players ? outcome + 1 : null,
    moves: Array.from(moves, (move) => game.formatMove(move)),
  });
const linesOf = (games: readonly GameRecord[]) => `${games.map(lineOf).join("\n")}\n`;

/** An archive of one array that claims a few bytes and inflates to very many. */
function bomb(): Buffer {
  const packed = deflateRawSync(Buffer.alloc(64_000_000));
  const name = Buffer.from("meta.npy");
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt16LE(8, 4);
  fields.writeUInt32LE(packed.length, 14);
  fields.writeUInt32LE(100, 18);
  fields.writeUInt16LE(name.length, 22);
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50);
  fields.copy(local, 4);
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50);
  entry.writeUInt16LE(20, 4);
  fields.copy(entry, 6);
  const start = local.length + name.length + packed.length;
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(entry.length + name.length, 12);
  end.writeUInt32LE(start, 16);
  return Buffer.concat([local, name, packed, entry, name, end]);
}

beforeAll(async () => {
  [folder, dataDir] = [join(own.folder(), "games"), join(own.folder(), "data")];
  mkdirSync(join(folder, "deep"), { recursive: true });
  main = await mainOn(dataDir);
});
afterAll(async () => {
  await main.stop();
  await own.end();
});

const write = (name: string, bytes: string | Uint8Array) => writeFileSync(join(folder, name), bytes);
const importing = async (...more: readonly string[]) => {
  const ran = await commandsOn(dataDir)("import", folder, "--json", ...more);
  return { ...ran, report: ran.out === "" ? undefined : JSON.parse(ran.out) };
};
const books = async () => JSON.parse((await commandsOn(dataDir)("ledger", "--json")).out);

test("lines, files of games and rows beside them are imported once, with their producer, and the books balance", async () => {
  write("a.jsonl", linesOf(playedGames(6, 1)));
  write("deep/b.arena", gamesFile(5, 2).bytes);
  write("deep/b.npz", encodeNpz(rowsOfGames(game, playedGames(5, 2))).bytes);
  const dry = await importing("--dry-run");
  expect(dry.report).toMatchObject({ dry_run: true, games: 11, new: 3, imported: 0, refused: [] });
  expect((await books()).books).toEqual([]);
  const { code, report } = await importing("--producer", "friend");
  expect([code, report.imported, report.games]).toEqual([0, 3, 11]);
  const listed = JSON.parse((await commandsOn(dataDir)("artifacts", "--json")).out).artifacts;
  expect(listed).toHaveLength(3);
  for (const one of listed) expect(one).toMatchObject({ producer: "friend", state: "durable", config_key: CONFIG });
  expect((await books()).books).toMatchObject([{ config_key: CONFIG, produced: 11, durable: 11, balanced: true }]);
  const again = await importing();
  expect(again.report).toMatchObject({ imported: 0, known: 3, games: 0 });
  expect((await books()).books).toMatchObject([{ produced: 11 }]);
});

test("hostile files are refused by name and reason, and the rest is imported", async () => {
  const [first, ...rest] = playedGames(4, 7);
  write("lie.jsonl", linesOf([{ ...first!, outcome: first!.outcome === 0 ? 1 : 0 }, ...rest]));
  write("long.jsonl", `${"x".repeat(100_000)}\n`);
  write("bomb.npz", bomb());
  write("size.arena", Buffer.concat([gamesFile(2, 8).bytes, Buffer.alloc(9)]));
  write("good.jsonl", linesOf(playedGames(3, 9)));
  write("wrong.arena", gamesFile(3, 10).bytes);
  write("wrong.npz", encodeNpz(rowsOfGames(game, playedGames(3, 11))).bytes);
  writeFileSync(join(own.folder(), "secret.jsonl"), linesOf(playedGames(2, 12)));
  symlinkSync(join(own.folder(), "secret.jsonl"), join(folder, "link.jsonl"));
  const { code, report } = await importing();
  expect(code).toBe(1);
  const why = Object.fromEntries(
    report.refused.map(({ path, code: was }: { path: string; code: string }) => [path, was]),
  );
  expect(why).toEqual({
    "bomb.npz": "ARENA_FILE_CORRUPT",
    "lie.jsonl": "ARENA_FILE_CORRUPT",
    "link.jsonl": "IMPORT_LINK",
    "long.jsonl": "ARENA_FILE_TOO_LARGE",
    "size.arena": "ARENA_FILE_CORRUPT",
    "wrong.npz": "IMPORT_ROWS",
  });
  expect(report).toMatchObject({ imported: 2, games: 6, known: 3 });
  expect((await books()).books).toMatchObject([{ produced: 17, durable: 17, balanced: true }]);
});

test("what was said of a file is not believed, and a folder that holds nothing is an error", async () => {
  const link = openLink({
    target: { socketPath: () => requireEndpoint(dataDir).socket_path },
    clock: systemClock(),
  });
  const file = { kind: "games", config_key: CONFIG, rows: 4, producer: "x", rules_version: null } as const;
  const answer = await callTo(link, importFiles, {
    body: { files: [{ ...file, sha256: gamesFile(4, 20).hash, games: 4 } as never] },
  });
  link.close();
  expect(answer.files).toMatchObject([{ state: "refused", why: expect.stringContaining("not here") }]);
  const empty = own.folder();
  expect(await commandsOn(dataDir)("import", empty)).toMatchObject({
    code: 2,
    err: expect.stringContaining("holds no"),
  });
  rmSync(empty, { recursive: true });
  expect(await commandsOn(dataDir)("import", empty)).toMatchObject({ err: expect.stringContaining("does not exist") });
});
