/** What a program answers to a job of the kind `play`: a file of the kind `position`, as JSON. */

import { z } from "zod";
import { lazy } from "../../kernel/index.ts";

/** The kind of job by which a program declares that people can play with it. */
export const PLAY_KIND = "play";
export const POSITION_KIND = "position";
export const MAX_POSITION_BYTES = 2 ** 20;

const MAX_SEATS = 16;
const seat = z
  .int()
  .min(0)
  .max(MAX_SEATS - 1);
const move = z.string().min(1).max(128);

export const positionSchema = lazy(() =>
  z
    .object({
      title: z.string().max(200).optional().describe("the name of the game"),
      rules: z.string().max(4_000).optional().describe("in a few sentences"),
      board: z.string().max(100_000).describe("the position as people see it, in lines of text"),
      players: z.int().min(1).max(MAX_SEATS).default(2),
      turn: seat.describe("whose move it is, from 0"),
      legal_moves: z.array(move).max(100_000).describe("in your notation; none when the game is over"),
      winner: seat.nullish().describe("of a game that is over; null for a draw"),
      move: move.optional().describe("the move that the program chose, where it was asked for one"),
    })
    .refine(({ players, turn, winner }) => Math.max(turn, winner ?? 0) < players, "a seat that nobody sits in"),
);

export type Position = z.output<ReturnType<typeof positionSchema>>;
