/** What the page asks the thread that plays, and what it answers. */
import type { Board, NetworkView } from "../../src/workloads/arena/console/board.ts";

export type Opponent =
  | { readonly kind: "baseline"; readonly name: string }
  | { readonly kind: "model"; readonly sha256: string };

export interface TableWish {
  readonly configKey: string;
  /** The person's seat, from 0. */
  readonly seat: number;
  readonly opponent: Opponent;
  /** What the opponent may spend on a move; its usual where it is not given. */
  readonly simulations?: number | undefined;
  readonly seed: number;
  /** Moves that were made before; those of the opponents too. */
  readonly moves?: readonly string[];
}

export interface GameAbout {
  readonly title: string;
  readonly rules: string;
  readonly players: number;
  readonly rows: number;
  readonly columns: number;
}

export interface Seen extends Board {
  readonly moves: readonly string[];
  /** The cell of the last stone. */
  readonly last: number | null;
  readonly view: NetworkView | null;
}

export interface RecordedGame {
  readonly seed: number;
  readonly plies: number;
  /** The winner's seat; null for a draw. */
  readonly winner: number | null;
}

export interface ArenaAsks {
  about: {
    ask: Record<never, never>;
    answer: { readonly configs: readonly string[]; readonly baselines: readonly string[] };
  };
  open: { ask: TableWish; answer: { readonly about: GameAbout; readonly seen: Seen } };
  /** A move of the person; undefined is no legal one, and nothing changes. */
  play: { ask: { readonly move: string }; answer: Seen | undefined };
  /** The opponent at turn moves. */
  reply: { ask: Record<never, never>; answer: { readonly move: string; readonly seen: Seen } };
  undo: { ask: Record<never, never>; answer: Seen };
  /** The games of a file. */
  games: {
    ask: { readonly sha256: string };
    answer: { readonly configKey: string; readonly games: readonly RecordedGame[] };
  };
  /** One game, position by position, each as a model sees it. */
  replay: {
    ask: { readonly sha256: string; readonly game: number; readonly model: string | null };
    answer: {
      readonly about: GameAbout;
      readonly configKey: string;
      readonly seed: number;
      readonly steps: readonly Seen[];
    };
  };
}

export type ArenaQuestion = {
  [K in keyof ArenaAsks]: { readonly id: number; readonly kind: K } & ArenaAsks[K]["ask"];
}[keyof ArenaAsks];

export type ArenaAnswer =
  | { readonly id: number; readonly answer: unknown }
  | {
      readonly id: number;
      readonly refused: { readonly code: string; readonly message: string; readonly hint?: string | undefined };
    };
