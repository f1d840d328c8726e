import type { Store } from "../router/index.ts";
import { resultsResidual } from "./leases/results-residual.ts";

/** What a node has done in the last day. */
export interface NodeFigures {
  readonly completed: number;
  readonly failed: number;
  readonly busy_seconds: number;
  /** Of self-play: games that are checked or played for a verdict are played for something else. */
  readonly games: number;
  readonly games_per_hour: number | null;
  /**
   * How much faster than all nodes together it is at the same configs, as a natural logarithm: 0 is as fast, -0.7 half as
   * fast. Null where there is nothing to compare.
   */
  readonly speed_residual: number | null;
  /** How far its results are from those of the others in the same batches, in standard deviations. */
  readonly results_residual: number | null;
}

interface Group {
  readonly node_id: string;
  readonly line: string;
  readonly jobs: number;
  readonly games: number;
  readonly ms: number;
}

const DAY_MS = 86_400_000;

const DONE = `SELECT j.node_id, coalesce(l.config_key, '') || '/' || l.work_type AS line, count(*) AS jobs,
    total(json_extract(j.outcome, '$.counts.games')) AS games, total(j.finished_at - coalesce(j.started_at, j.claimed_at)) AS ms
  FROM work_jobs j JOIN work_lanes l ON l.lane = j.lane
  WHERE j.state = 'completed' AND j.finished_at >= ? AND j.node_id IS NOT NULL GROUP BY 1, 2`;

/**
 * Games of self-play, and the time in which at least one job of it ran: jobs side by side count their time once, so that a node with eight slots
 * is eight times as fast as one with one.
 */
const PLAYED = `SELECT node_id, total(games) AS games, total(max(0, ended - max(begun, coalesce(before, begun)))) AS ms FROM (
    SELECT node_id, games, begun, ended,
      max(ended) OVER (PARTITION BY node_id ORDER BY begun ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM (
      SELECT j.node_id, json_extract(j.outcome, '$.counts.games') AS games, coalesce(j.started_at, j.claimed_at) AS begun,
        j.finished_at AS ended
      FROM work_jobs j JOIN work_lanes l ON l.lane = j.lane
      WHERE l.work_type = 'selfplay' AND j.state = 'completed' AND j.finished_at >= ? AND j.node_id IS NOT NULL))
  GROUP BY node_id`;

/** Work in a line: games where they are counted, else jobs. */
const amountOf = ({ games, jobs }: Group) => games || jobs;

/** What a node has played in the last day, for an hour in which it plays. */
export interface NodeRate {
  readonly games: number;
  readonly games_per_hour: number | null;
}

/** Of every node that has played. */
export async function nodeRates(
  store: Pick<Store, "scan">,
  now: number,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, NodeRate>> {
  const played = await store.scan<{ node_id: string; games: number; ms: number }>(PLAYED, [now - DAY_MS], signal);
  return new Map(
    played.map(({ node_id, games, ms }) => [
      node_id,
      { games, games_per_hour: ms === 0 ? null : games / (ms / 3_600_000) },
    ]),
  );
}

/** A day's jobs of all nodes are gone through. */
export async function nodeFigures(
  store: Pick<Store, "scan">,
  nodeId: string,
  now: number,
  signal?: AbortSignal,
): Promise<NodeFigures> {
  const groups = await store.scan<Group>(DONE, [now - DAY_MS], signal);
  const own = groups.filter(({ node_id }) => node_id === nodeId);
  const [failed] = await store.scan<{ n: number }>(
    "SELECT count(*) AS n FROM work_jobs WHERE state = 'failed' AND node_id = ? AND finished_at >= ?",
    [nodeId, now - DAY_MS],
    signal,
  );
  const sum = (of: (group: Group) => number) => own.reduce((total, group) => total + of(group), 0);
  const { games = 0, games_per_hour = null } = (await nodeRates(store, now, signal)).get(nodeId) ?? {};
  return {
    completed: sum(({ jobs }) => jobs),
    failed: failed?.n ?? 0,
    busy_seconds: sum(({ ms }) => ms) / 1_000,
    games,
    games_per_hour,
    speed_residual: residualOf(own, groups, nodeId),
    results_residual: await resultsResidual(store, nodeId, now - DAY_MS, signal),
  };
}

/** The mean over lines of how much faster it is than the others together, weighted by its time there. */
function residualOf(own: readonly Group[], all: readonly Group[], nodeId: string): number | null {
  let weighted = 0;
  let weight = 0;
  for (const group of own) {
    const others = all.filter(({ node_id, line }) => node_id !== nodeId && line === group.line);
    const [theirs, theirMs] = [
      others.reduce((total, each) => total + amountOf(each), 0),
      others.reduce((total, { ms }) => total + ms, 0),
    ];
    const { ms } = group;
    if (ms <= 0 || theirMs <= 0 || theirs <= 0 || amountOf(group) <= 0) continue;
    weighted += ms * Math.log(amountOf(group) / ms / (theirs / theirMs));
    weight += ms;
  }
  return weight === 0 ? null : weighted / weight;
}
