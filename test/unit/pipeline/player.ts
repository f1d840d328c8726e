/** A worker that is played by hand: it does the jobs of the loop on paper. What it makes follows from the job alone. */
import { hash } from "node:crypto";
import { canonicalJson, type Json } from "../../../src/kernel/index.ts";
import type { EvidenceInput, Lease, WorkFailure } from "../../../src/work/index.ts";
import { defineKind, type WorkKinds } from "../../../src/work/job/kinds.ts";

export const pipelineKinds = {
  selfplay: defineKind({ evidence: { outputs: 1, counts: ["games"] } }),
  validation: defineKind({ evidence: { outputs: 0, counts: ["games"] } }),
  export: defineKind({ evidence: { outputs: 1, counts: ["rows"] } }),
} satisfies WorkKinds;

export const sha = (text: string): string => hash("sha256", text, "hex");
const ROWS_PER_GAME = 10;

interface Payload {
  readonly parameters: { readonly [name: string]: Json };
  readonly seed: number;
  readonly inputs: readonly { readonly name: string; readonly sha256: string }[];
}

/** What is wrong with the games of a node. */
export type Vice = "labels" | "rules" | "parity" | "short";

export interface PlayerOptions {
  readonly vices?: Readonly<Record<string, Vice>>;
  /** Answers in place of the usual work. */
  readonly instead?: (lease: Lease) => EvidenceInput | WorkFailure | undefined;
}

export type Outcome = { readonly evidence: EvidenceInput } | { readonly failure: WorkFailure };

export function createPlayer({ vices = {}, instead }: PlayerOptions = {}) {
  /** Rows and games of files, and what is wrong with them: what a reader of the bytes would see. */
  const files = new Map<string, { rows: number; games: number; vice: Vice | undefined }>();
  const make = (name: string, text: string, about: { rows: number; games: number; vice?: Vice | undefined }) => {
    const sha256 = sha(text);
    files.set(sha256, { ...about, vice: about.vice });
    return { name, sha256, bytes: 100 + about.rows };
  };

  const selfplay = (payload: Payload, node: string): EvidenceInput => {
    const games = Number(payload.parameters.games);
    const vice = vices[node];
    const rows = games * ROWS_PER_GAME;
    const text = `${canonicalJson(payload as unknown as Json)}${vice ?? ""}`;
    return {
      outputs: [
        make("samples.npz", `samples ${text}`, { rows, games, vice }),
        make("games.arena", `games ${text}`, { rows: 0, games, vice }),
      ],
      counts: { games, rows },
    };
  };

  const validation = (payload: Payload): EvidenceInput => {
    const { rows, games, vice } = files.get(payload.inputs.find(({ name }) => name === "samples")!.sha256)!;
    const won = Math.ceil(games / 2);
    const plies = vice === "short" ? 8 : 30;
    return {
      counts: {
        games,
        rows,
        parity_checked: 1,
        parity_failed: vice === "parity" ? 1 : 0,
        label_errors: vice === "labels" ? rows : 0,
        illegal_games: vice === "rules" ? 1 : 0,
        outcome_0: won,
        outcome_1: games - won,
        outcome_2: 0,
        plies_sum: games * plies,
        plies_squares: games * (plies ** 2 + 4),
        positions_total: games * plies,
        positions_repeated: games * 3,
        surprise_count: games,
      },
      summary: {
        entropy_sum: rows * 0.8 + 0.5,
        surprise_sum: 0.25 - (games % 2) * 0.5,
        surprise_squares: games * 0.24 + 0.001,
      },
    };
  };

  /** The union of what it is given: on paper no two files share a game. */
  const uniting = (payload: Payload): EvidenceInput => {
    const of = (prefix: string) =>
      payload.inputs.filter(({ name }) => name.startsWith(prefix)).map(({ sha256 }) => files.get(sha256)!);
    const games = [...of("set-samples"), ...of("games-"), ...of("rows-")].reduce((sum, file) => sum + file.games, 0);
    const fresh = [...of("games-"), ...of("rows-")].reduce((sum, file) => sum + file.games, 0);
    const text = canonicalJson(payload as unknown as Json);
    return {
      outputs: [
        make("games.arena", `set ${text}`, { rows: 0, games }),
        make("samples.npz", `set rows ${text}`, { rows: games * ROWS_PER_GAME, games }),
        make("fresh.npz", `fresh ${text}`, { rows: fresh * ROWS_PER_GAME, games: fresh }),
      ],
      counts: { games, rows: games * ROWS_PER_GAME, new_games: fresh, new_rows: fresh * ROWS_PER_GAME, duplicates: 0 },
    };
  };

  const exporting = (payload: Payload): EvidenceInput => {
    if (payload.parameters.mode === "union") return uniting(payload);
    const inputs = payload.inputs.map(({ sha256 }) => files.get(sha256)!);
    const rows = inputs.reduce((sum, file) => sum + file.rows, 0);
    const held = payload.parameters.mode === "shard" ? Math.floor(rows * Number(payload.parameters.holdout_share)) : 0;
    const text = canonicalJson(payload as unknown as Json);
    return {
      outputs: [
        make("train.npz", `train ${text}`, { rows: rows - held, games: 0 }),
        ...(held === 0 ? [] : [make("holdout.npz", `holdout ${text}`, { rows: held, games: 0 })]),
      ],
      counts: { rows: rows - held, holdout_rows: held, duplicates: 0, files: inputs.length },
    };
  };

  return {
    files,
    /** A file of somebody else's games. */
    file: make,
    do(lease: Lease, node: string): Outcome {
      const other = instead?.(lease);
      if (other !== undefined) return "class" in other ? { failure: other } : { evidence: other };
      const payload = lease.payload as unknown as Payload;
      if (lease.work_type === "selfplay") return { evidence: selfplay(payload, node) };
      return { evidence: lease.work_type === "validation" ? validation(payload) : exporting(payload) };
    },
  };
}
export type Player = ReturnType<typeof createPlayer>;
