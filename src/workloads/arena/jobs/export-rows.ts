/** Rows of many games as training files: one of each row, and some positions kept back for an honest measure. */
import { hash } from "node:crypto";
import type { Game } from "../games/game.ts";
import { copySamples, emptySamples, joinSamples, type Samples } from "../net/samples.ts";
import { mixSeed } from "../numerics/samplers.ts";

/** Rows of several files on end; games are numbered anew, so that no two of them share a number. */
export function onEnd(parts: readonly Samples[], game: Game): Samples {
  const all = joinSamples(parts, game);
  let at = 0;
  let firstGame = 0;
  for (const { count } of parts) {
    let next = firstGame;
    for (const end = at + count; at < end; at += 1) {
      all.game[at] = all.game[at]! + firstGame;
      next = Math.max(next, all.game[at]! + 1);
    }
    firstGame = next;
  }
  return all;
}

/** Some of the rows, in the order given. */
export function pickRows(samples: Samples, rows: readonly number[], game: Game): Samples {
  const picked = emptySamples(game, rows.length);
  for (const [i, row] of rows.entries()) copySamples(samples, row, 1, picked, i);
  return picked;
}

const bytesAt = (column: Uint8Array | Float32Array, row: number, width: number): Uint8Array =>
  new Uint8Array(
    column.buffer,
    column.byteOffset + row * width * column.BYTES_PER_ELEMENT,
    width * column.BYTES_PER_ELEMENT,
  );

/** Where a position falls between 0 and 1; its mirror images fall there too, since training sees rows through mirrors. */
export function holdoutDraw(codes: Uint8Array, offset: number, game: Game): number {
  let sum = 0;
  const seen = new Uint8Array(game.cells);
  for (const { cells } of game.symmetries) {
    for (let i = 0; i < game.cells; i += 1) seen[cells[i]!] = codes[offset + i]!;
    let print = 0x811c9dc5;
    for (let i = 0; i < game.cells; i += 1) print = Math.imul(print ^ seen[i]!, 0x01000193);
    // A sum does not care in which order the images come.
    sum = (sum + mixSeed(print >>> 0, 0)) >>> 0;
  }
  return mixSeed(sum, 1) / 0x1_0000_0000;
}

/**
 * Drops rows that say what an earlier one has said (the same position and targets), and keeps a share of the positions out
 * of training. The share goes by the position alone: what is held out here is held out in every shard.
 */
export function shardOf(samples: Samples, holdoutShare: number, game: Game) {
  const { cells, moves, players } = samples;
  const known = new Set<string>();
  const positions = new Set<string>();
  const train: number[] = [];
  const holdout: number[] = [];
  for (let row = 0; row < samples.count; row += 1) {
    const position = bytesAt(samples.codes, row, cells);
    const said = hash(
      "sha256",
      Buffer.concat([
        position,
        bytesAt(samples.legal, row, moves),
        bytesAt(samples.policy, row, moves),
        bytesAt(samples.search, row, players),
        bytesAt(samples.outcome, row, players),
      ]),
      "base64",
    );
    if (known.has(said)) continue;
    known.add(said);
    positions.add(hash("sha256", position, "base64"));
    const isHeldOut = holdoutShare > 0 && holdoutDraw(samples.codes, row * cells, game) < holdoutShare;
    (isHeldOut ? holdout : train).push(row);
  }
  return {
    train: pickRows(samples, train, game),
    holdout: pickRows(samples, holdout, game),
    duplicates: samples.count - known.size,
    distinctPositions: positions.size,
  };
}
