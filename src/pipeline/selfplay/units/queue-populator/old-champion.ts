/** Self-play that a champion of before has begun, and what becomes of it when it is champion no more. */
import { champions } from "../../../models/index.ts";
import type { ConfigLook, StageServices, Waiting } from "../../../stage/index.ts";
import type { SelfplayOrder } from "../../tables.ts";
import { judgeOldChampion } from "./decide.ts";

interface OrderOfNow {
  readonly order: SelfplayOrder;
  /** Parts whose jobs are to be put out anew, and the old ones taken back. */
  readonly replaced: readonly string[];
  /** Why an old champion plays on. */
  readonly relaxed: Waiting[];
}

const CHAMPION_OF_NOW = "champion_of_now";

/**
 * The order as it is to be played now: parts that are not done are the champion's of now, if the one that plays them is none any more for
 * longer than it may be. Their jobs are put out anew.
 */
export function withChampionOfNow(
  { queue, settings, spread }: Pick<StageServices, "queue" | "settings" | "spread">,
  { row, configKey, now }: Pick<ConfigLook, "row" | "configKey" | "now">,
  order: SelfplayOrder,
): OrderOfNow {
  const champion = row(champions);
  const played = (part: string) => order.played_by?.[part] ?? order.model;
  const isOpen = (part: string): boolean => {
    const workId = order.jobs[part];
    const state = workId === undefined ? undefined : queue.show(workId)?.state;
    return (
      state === undefined || state === "pending" || state === "delayed" || state === "claimed" || state === "running"
    );
  };
  const judge = (part: string) => {
    const isOut = champion !== undefined && spread.isOut(configKey, champion.model);
    return judgeOldChampion(played(part), champion, { now, maxMs: settings.oldChampionMs, isOut });
  };
  const old = order.wanted.filter((part) => judge(part) !== "keep" && isOpen(part));
  if (old.length === 0 || champion === undefined) return { order, replaced: [], relaxed: [] };
  if (judge(old[0]!) === "relaxed") {
    const actual = `${old.length} jobs go on with a champion of before: no node has shown yet that it can play with the new one`;
    return { order, replaced: [], relaxed: [{ for: CHAMPION_OF_NOW, actual, required: champion.model.slice(0, 12) }] };
  }
  const played_by = { ...order.played_by, ...Object.fromEntries(old.map((part) => [part, champion.model])) };
  return {
    order: { ...order, played_by },
    replaced: old.filter((part) => order.jobs[part] !== undefined),
    relaxed: [],
  };
}
