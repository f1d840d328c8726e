/** The loop as people look at it: the live view, `ringrift pipeline`, the report and `why` all read this. Times are Unix seconds. */
import type { StageFailure, Wait } from "./iteration.ts";
import type { Stage } from "./stages.ts";

export interface Rated {
  /** SHA-256 of a model, or the name of a baseline. */
  readonly player: string;
  /** What people call it: `champion 3`, `mcts-100`. */
  readonly name: string;
  readonly elo: number;
  readonly low: number;
  readonly high: number;
  readonly games: number;
  readonly is_anchor: boolean;
}

/** One gate that has ended, or is under way (`verdict` null). */
export interface GateView {
  readonly iteration: number;
  readonly candidate: string;
  readonly opponent: string;
  readonly games: number;
  /** Blocks by score, worst first. */
  readonly counts: readonly number[];
  /** The log-likelihood ratio after each batch, and the bounds at which it is decided. */
  readonly llr: readonly number[];
  readonly lower: number;
  readonly upper: number;
  readonly elo0: number;
  readonly elo1: number;
  readonly verdict: "promote" | "reject" | "inconclusive" | null;
  /** Median-unbiased, with its interval; null while it runs. */
  readonly elo: { readonly estimate: number; readonly low: number; readonly high: number } | null;
  readonly ended_at: number | null;
}

export interface LossPoint {
  readonly iteration: number;
  readonly policy_loss: number;
  readonly value_loss: number;
  readonly validation_loss: number | null;
  readonly at: number;
}

export interface ChampionView {
  readonly model: string;
  /** 0 for the first. */
  readonly generation: number;
  readonly iteration: number;
  readonly since: number;
  /** `gate`, `first`, `hand`, `rollback`. */
  readonly by: string;
}

export interface StageView {
  readonly stage: Stage;
  readonly state: "open" | "running" | "done" | "failed";
  readonly seconds: number | null;
  /** Share that is done, of the one that runs. */
  readonly progress: number | null;
  readonly breaker: "closed" | "open" | "half_open";
}

export interface BooksView {
  readonly config_key: string;
  readonly produced: number;
  readonly durable: number;
  readonly in_flight: number;
  readonly rejected: Readonly<Record<string, number>>;
  readonly balanced: boolean;
}

export interface ConfigSnapshot {
  readonly config_key: string;
  readonly seed: number;
  readonly iteration: number;
  readonly state: "running" | "waiting" | "paused" | "failed" | "complete";
  readonly stage: Stage;
  readonly attempt: number;
  readonly stage_since: number;
  readonly deadline: number;
  readonly stages: readonly StageView[];
  readonly waits: readonly Wait[];
  readonly failures: readonly (StageFailure & { readonly stage: Stage; readonly at: number })[];
  /** Games that count, all in all, and those of the last minute a second. */
  readonly games: number;
  readonly games_per_second: number;
  readonly rows: number;
  readonly losses: readonly LossPoint[];
  readonly gates: readonly GateView[];
  readonly champion: ChampionView | null;
  /** What was champion when, oldest first. */
  readonly champions: readonly ChampionView[];
  readonly ladder: readonly Rated[];
  readonly verdicts: { readonly promote: number; readonly reject: number; readonly inconclusive: number };
  readonly expected_false_promotions: number;
  readonly quality: { readonly score: number; readonly band: string } | null;
  readonly suspects: readonly { readonly producer: string; readonly reason: string; readonly since: number }[];
  readonly books: BooksView;
}

export interface LoopSnapshot {
  readonly at: number;
  readonly configs: readonly ConfigSnapshot[];
}
