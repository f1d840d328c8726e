/**
 * How a champion reaches the nodes that play: one of them first, which loads it and plays, then the others, each at a moment of its
 * own. Pure: the same row and the same facts lead to the same step.
 */
import { hash } from "node:crypto";

/** A node that could not play with it, and why. */
export type Refusal = { readonly node_id: string; readonly error: string };

/** How far a champion has come; one row for each config. Times are milliseconds since the epoch. */
export type Spread = {
  readonly model: string;
  /** When it became champion. */
  readonly since: number;
  /**
   * `canary`: one node tries it. `spreading`: the others get it. `complete`: all that play have it. `held`: nobody who tried it could
   * play with it.
   */
  readonly state: "canary" | "spreading" | "complete" | "held";
  readonly state_since: number;
  /** Who tries it, since when, and the job that it plays; null while nobody does. */
  readonly canary: { readonly node_id: string; readonly since: number; readonly work_id: string | null } | null;
  /** Who has played with it. */
  readonly proven: string | null;
  readonly refused: readonly Refusal[];
  /** Who was asked and gave no answer in time. */
  readonly silent: readonly string[];
  /** Since when each node that plays lacks it. */
  readonly lacking: { readonly [nodeId: string]: number };
  /** Whose receipt was told. */
  readonly delivered: readonly string[];
  /** When somebody was last told that nodes lack it. */
  readonly late_told: number | null;
};

/** A node that takes self-play and is not the coordinator's own. */
export interface Player {
  readonly node_id: string;
  /** It has room for one more model, and said what it holds. */
  readonly isAble: boolean;
  readonly holds: boolean;
}

/** What became of the games of whoever tries it. */
export type Trial =
  | { readonly state: "open" }
  | { readonly state: "played"; readonly games: number }
  | { readonly state: "failed"; readonly error: string };

export interface SpreadFacts {
  readonly now: number;
  readonly players: readonly Player[];
  readonly trial: Trial | undefined;
  /** Why the copy of whoever tries it did not come, once its tries are spent. */
  readonly notFetched: string | undefined;
}

export interface SpreadLimits {
  /** Games that prove it. */
  readonly games: number;
  /** How long one node has to try it. */
  readonly trialMs: number;
  /** Nodes that may refuse it before it is held back. */
  readonly maxRefusals: number;
  /** After this a champion that was held back is tried anew. */
  readonly againMs: number;
  /** Between two nodes that get it, on average, and in all at most. */
  readonly staggerMs: number;
  readonly maxStaggerMs: number;
  /** How long a node that plays may lack it before somebody is told, and how often again. */
  readonly deadlineMs: number;
  readonly remindMs: number;
}

export type SpreadNews =
  | { readonly kind: "started"; readonly nodes: readonly string[] }
  | { readonly kind: "received"; readonly node_id: string; readonly tookMs: number }
  | { readonly kind: "complete"; readonly nodes: readonly string[]; readonly tookMs: number }
  | { readonly kind: "held"; readonly error: string; readonly missing: readonly string[]; readonly attempts: number }
  | { readonly kind: "late"; readonly holding: number; readonly missing: readonly string[] };

export interface SpreadStep {
  readonly row: Spread;
  /** Who shall fetch it now. */
  readonly fetch: readonly string[];
  /** Who shall play with it now. */
  readonly trial: string | null;
  /** The job that nobody needs any more. */
  readonly takeBack: string | null;
  readonly news: readonly SpreadNews[];
}

export const beginSpread = (model: string, since: number, now: number): Spread => ({
  model,
  since,
  state: "canary",
  state_since: now,
  canary: null,
  proven: null,
  refused: [],
  silent: [],
  lacking: {},
  delivered: [],
  late_told: null,
});

/** A number from 0 to 1 that is a node's own for a model: no two champions go to the nodes in the same order. */
export const turnOf = (nodeId: string, model: string): number =>
  Number.parseInt(hash("sha256", `${model}:${nodeId}`, "hex").slice(0, 8), 16) / 2 ** 32;

/** Whoever can try it: able, not asked before, and of those the first by its turn; who has it already before all others. */
function chooseCanary(row: Spread, players: readonly Player[]): Player | undefined {
  const asked = new Set([...row.refused.map(({ node_id }) => node_id), ...row.silent]);
  return players
    .filter(({ node_id, isAble, holds }) => (isAble || holds) && !asked.has(node_id))
    .sort(
      (a, b) => Number(b.holds) - Number(a.holds) || turnOf(a.node_id, row.model) - turnOf(b.node_id, row.model),
    )[0];
}

const enter = (row: Spread, state: Spread["state"], now: number): Spread =>
  row.state === state ? row : { ...row, state, state_since: now, canary: null };

/** The canary's part: who tries it, and what its trial means. */
function tryOut(row: Spread, facts: SpreadFacts, limits: SpreadLimits): Omit<SpreadStep, "news"> {
  const { now, players, trial, notFetched } = facts;
  const { canary } = row;
  const none = { fetch: [], trial: null, takeBack: null };
  if (canary === null) {
    const next = row.refused.length >= limits.maxRefusals ? undefined : chooseCanary(row, players);
    if (next !== undefined) {
      const chosen = { ...row, canary: { node_id: next.node_id, since: now, work_id: null } };
      return { ...none, row: chosen, fetch: next.holds ? [] : [next.node_id], trial: next.holds ? next.node_id : null };
    }
    // Nobody said no: that nobody could be asked is no reason to keep it from those who play.
    return { ...none, row: enter(row, row.refused.length === 0 ? "spreading" : "held", now) };
  }
  const { node_id, work_id } = canary;
  const refuse = (error: string): Spread => ({ ...row, canary: null, refused: [...row.refused, { node_id, error }] });
  const player = players.find((one) => one.node_id === node_id);
  if (trial?.state === "played" && trial.games >= limits.games)
    return { ...none, row: { ...enter(row, "spreading", now), proven: node_id } };
  if (trial?.state === "played") return { ...none, row: refuse(`it played ${trial.games} of ${limits.games} games`) };
  if (trial?.state === "failed") return { ...none, row: refuse(trial.error) };
  if (notFetched !== undefined && work_id === null) return { ...none, row: refuse(notFetched) };
  if (player === undefined || now - canary.since >= limits.trialMs)
    return { ...none, row: { ...row, canary: null, silent: [...row.silent, node_id] }, takeBack: work_id };
  return { ...none, row, trial: player.holds && work_id === null ? node_id : null };
}

/** Those whose turn it is, of those that lack it. */
function due(row: Spread, { now, players }: SpreadFacts, limits: SpreadLimits): string[] {
  const window = Math.min(limits.maxStaggerMs, limits.staggerMs * players.length);
  const bad = new Set(row.refused.map(({ node_id }) => node_id));
  return players
    .filter(({ holds, isAble, node_id }) => !holds && isAble && !bad.has(node_id))
    .filter(({ node_id }) => now >= row.state_since + window * turnOf(node_id, row.model))
    .map(({ node_id }) => node_id);
}

/** The next step of one champion. */
export function nextStep(before: Spread, facts: SpreadFacts, limits: SpreadLimits): SpreadStep {
  const { now, players } = facts;
  const holding = players.filter(({ holds }) => holds).map(({ node_id }) => node_id);
  const missing = players.filter(({ holds }) => !holds).map(({ node_id }) => node_id);
  const news: SpreadNews[] = [];
  const isFirst =
    before.state === "canary" && before.canary === null && before.refused.length + before.silent.length === 0;
  if (isFirst && players.length > 0) news.push({ kind: "started", nodes: players.map(({ node_id }) => node_id) });
  let step: Omit<SpreadStep, "news"> = { row: before, fetch: [], trial: null, takeBack: null };
  if (before.state === "held" && now - before.state_since >= limits.againMs)
    step = { ...step, row: { ...enter(before, "canary", now), refused: [], silent: [] } };
  else if (before.state === "canary")
    // On a machine of its own there is nobody to bring it to.
    step = players.length === 0 ? { ...step, row: enter(before, "complete", now) } : tryOut(before, facts, limits);
  let { row } = step;
  if (row.state === "held" && before.state !== "held") {
    const error = row.refused.map(({ node_id, error }) => `${node_id}: ${error}`).join("; ");
    news.push({ kind: "held", error, missing, attempts: row.refused.length });
  }
  const isOut = row.state === "spreading" || row.state === "complete";
  const fetch = isOut ? due(row, facts, limits) : step.fetch;
  const arrived = holding.filter((node_id) => !row.delivered.includes(node_id));
  for (const node_id of arrived)
    news.push({ kind: "received", node_id, tookMs: Math.max(0, now - (row.lacking[node_id] ?? row.since)) });
  row = {
    ...row,
    delivered: [...row.delivered.filter((node_id) => holding.includes(node_id)), ...arrived],
    lacking: Object.fromEntries(missing.map((node_id) => [node_id, row.lacking[node_id] ?? now])),
  };
  if (row.state === "spreading" && missing.length === 0) {
    row = enter(row, "complete", now);
    if (holding.length > 0) news.push({ kind: "complete", nodes: holding, tookMs: Math.max(0, now - row.since) });
  }
  const late = missing.filter((node_id) => now - row.lacking[node_id]! >= limits.deadlineMs);
  if (late.length > 0 && (row.late_told === null || now - row.late_told >= limits.remindMs)) {
    row = { ...row, late_told: now };
    news.push({ kind: "late", holding: holding.length, missing: late });
  }
  if (late.length === 0 && row.late_told !== null) {
    row = { ...row, late_told: null };
    // Whoever was told of it is told that it is over.
    if (missing.length === 0 && row.state === "complete" && before.state === "complete")
      news.push({ kind: "complete", nodes: holding, tookMs: Math.max(0, now - row.since) });
  }
  return { ...step, row, fetch, news };
}

/** How it stands, for whoever asks why; null while nothing is wrong. */
export function troubleOf(row: Spread, nameOf: (nodeId: string) => string): string | null {
  const named = row.refused.map(({ node_id, error }) => `${nameOf(node_id)}: ${error}`).join("; ");
  if (row.state === "held") return `no node that tried it could play with it, and no other gets it (${named})`;
  if (row.late_told !== null)
    return `${Object.keys(row.lacking).map(nameOf).slice(0, 5).join(", ")} lack it for longer than they should`;
  return null;
}
