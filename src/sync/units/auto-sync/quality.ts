/** HIGH_QUALITY_SYNC: of what is equally urgent, the segments with the best score go first. */
import type { HealthView, UnitContext } from "../../../daemons/index.ts";
import { defineTable, type Store } from "../../../router/index.ts";
import { policyLimits } from "../../limits.ts";
import { rankOrders } from "../../orders/order-operations.ts";

/** How good the data of a config was found last, as a whole and by the files of its newest segments. */
export type DataScore = {
  readonly score: number;
  readonly at: number;
  /** A row of an older version has none. */
  readonly segments?: Readonly<Record<string, number>>;
};

/** By config_key. Written by `auto_sync`. */
export const dataScores = defineTable<DataScore>("sync_data_scores");

type Rows = UnitContext<never>["rows"];

interface Scored {
  readonly config_key: string;
  readonly quality_score: number;
  readonly segments?: readonly { readonly artifact_hash: string; readonly quality_score: number }[] | undefined;
}

/** A score that names no segments leaves those of before as they are. */
export function noteScore(rows: Rows, now: number, { config_key, quality_score, segments }: Scored): void {
  const known =
    segments === undefined
      ? rows.get(dataScores, config_key)?.segments
      : Object.fromEntries(segments.map((one) => [one.artifact_hash, one.quality_score]));
  rows.put(dataScores, config_key, { score: quality_score, at: now, segments: known ?? {} });
}

const freshScores = ({ rows, now }: Pick<HealthView, "rows" | "now">) =>
  rows.list(dataScores).filter(([, { at }]) => at >= now - policyLimits.freshMs);

/** The config whose data was found best lately; the first by name where several were. */
export const bestConfig = (view: Pick<HealthView, "rows" | "now">): string | undefined =>
  freshScores(view).sort(([a, { score: x }], [b, { score: y }]) => y - x || (a < b ? -1 : 1))[0]?.[0];

/** A file of data that some node waits for. */
export interface WaitingData {
  readonly seq: number;
  readonly sha256: string;
  readonly config_key: string | null;
  /** As its transfers are ranked now. */
  readonly quality: number;
}

/** What changes in the order of those that wait, the best first: a segment goes by its own score, or else by that of its config. */
export const newRanks = (waiting: readonly WaitingData[], scores: ReadonlyMap<string, DataScore>, max: number) =>
  waiting
    .flatMap(({ seq, sha256, config_key, quality: before }) => {
      const known = scores.get(config_key ?? "");
      const score = known?.segments?.[sha256] ?? known?.score;
      const quality = score === undefined ? 0 : Math.round(1_000 * score);
      return quality === before ? [] : [{ seq, quality }];
    })
    .sort((a, b) => b.quality - a.quality || a.seq - b.seq)
    .slice(0, max);

const WAITING = `SELECT DISTINCT o.seq, o.quality, a.sha256, a.config_key
  FROM sync_orders o JOIN sync_artifacts a ON a.seq = o.seq
  WHERE o.state = 'waiting' AND a.kind IN ('games', 'samples') LIMIT ?`;

export function rankByQuality(store: Pick<Store, "read">, context: Pick<UnitContext<never>, "rows" | "now">): void {
  const { maxOrders, maxWaiting } = policyLimits;
  const scores = new Map(freshScores(context));
  if (scores.size === 0) return;
  const ranks = newRanks(store.read<WaitingData>(WAITING, maxWaiting), scores, maxOrders);
  if (ranks.length > 0) context.rows.apply(rankOrders({ ranks }));
}
