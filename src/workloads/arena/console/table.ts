/** A game between one person and players of ours, with all moves kept so that any can be taken back. */
import { assert, OperatingError } from "../../../kernel/index.ts";
import type { Player } from "../baselines/player.ts";
import { type Game, isOver, OUTCOME, TURN } from "../games/game.ts";
import { mixSeed } from "../numerics/samplers.ts";

export type Table = ReturnType<typeof openTable>;

/** `begun` are moves that were made before anybody sat down here, in the notation of the game. */
export function openTable(
  game: Game,
  seat: number,
  opponents: readonly Player[],
  seed: number,
  begun: readonly string[] = [],
) {
  assert(opponents.length === game.players - 1 && seat >= 0 && seat < game.players, "one opponent for each other seat");
  const state = game.newState();
  const legal = new Int32Array(game.moves);
  const played: number[] = [];
  const opponentAt = (at: number): Player => opponents[at < seat ? at : at - 1]!;

  /** Back to the start and through the given moves; the opponents forget what came after. */
  const restart = (moves: readonly number[]): void => {
    game.reset(state);
    played.length = 0;
    opponents.forEach((player, i) => {
      player.newGame(mixSeed(seed, i));
    });
    for (const move of moves) apply(move);
  };
  const apply = (move: number): void => {
    game.play(state, move);
    played.push(move);
    for (const player of opponents) player.played(move);
  };
  restart([]);
  for (const text of begun) {
    const move = game.parseMove(text);
    if (!game.isLegal(state, move))
      throw OperatingError.invalid(
        "ILLEGAL_MOVE",
        `"${text.slice(0, 20)}" is not a legal move after ${played.length} moves.`,
      );
    apply(move);
  }

  return {
    title: game.title,
    rules: game.rules,
    /** The seat of the person, from 0; the others are played for her. */
    seat,
    players: game.players,
    /** Whose turn it is, from 0. */
    turn: () => state[TURN]!,
    isOver: () => isOver(state),
    /** The winner's seat, or undefined for a draw or a game that still runs. */
    winner: (): number | undefined => (isOver(state) && state[OUTCOME]! < game.players ? state[OUTCOME]! : undefined),
    /** The board in text. */
    draw: () => game.draw(state),
    /** The moves that are legal now, in the notation of the game. */
    legalMoves: (): string[] =>
      Array.from(legal.subarray(0, game.legalMoves(state, legal)), (move) => game.formatMove(move)),
    /** The moves so far, in the notation of the game. */
    moves: (): string[] => played.map((move) => game.formatMove(move)),
    /** Plays the person's move and says whether it was one; anything else changes nothing. */
    play(text: string) {
      const move = game.parseMove(text);
      if (state[TURN]! !== seat || !game.isLegal(state, move)) return false;
      apply(move);
      return true;
    },
    /** Lets the opponent at turn choose and play; answers its move. */
    reply() {
      assert(!isOver(state) && state[TURN]! !== seat, "an opponent is at turn");
      const move = opponentAt(state[TURN]!).choose(state);
      assert(game.isLegal(state, move), "an opponent chose an illegal move");
      apply(move);
      return game.formatMove(move);
    },
    /** Takes back to the person's last own turn; says whether there was one. */
    undo() {
      const probe = game.newState();
      let back = -1;
      played.forEach((move, i) => {
        if (probe[TURN]! === seat) back = i;
        game.play(probe, move);
      });
      if (back < 0) return false;
      restart(played.slice(0, back));
      return true;
    },
  };
}
