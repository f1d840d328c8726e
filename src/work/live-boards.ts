/**
 * Boards of games that are played right now, for whoever looks. They are told by workers, kept in memory alone, and forgotten within
 * seconds: while nobody looks, nobody tells, and however many look, few nodes tell.
 */
import type { Clock } from "../kernel/index.ts";
import { LIVE_BOARD_LIMITS } from "./limits.ts";

/** A position as people see it. */
export interface LiveBoard {
  readonly lines: readonly string[];
  readonly note?: string | undefined;
}

export interface ToldBoard extends LiveBoard {
  readonly work_id: string;
  readonly work_type: string;
  readonly config_key: string | null;
  readonly node_id: string;
  readonly at: number;
}

/** For so long after somebody has looked, boards are wanted; whoever goes on looking asks again. */
const LOOKED_MS = 15_000;
/** A board that is older is of a game that may be over. */
const FRESH_MS = 10_000;

export type LiveBoards = ReturnType<typeof createLiveBoards>;

export function createLiveBoards(clock: Pick<Clock, "monotonic">) {
  let lookedAt = Number.NEGATIVE_INFINITY;
  /** By node: when it told last, and what. */
  const told = new Map<string, { readonly heardAt: number; readonly boards: readonly ToldBoard[] }>();
  const sweep = (now: number) => {
    for (const [node, { heardAt }] of told) if (now - heardAt > FRESH_MS) told.delete(node);
  };
  const isWanted = (nodeId: string): boolean => {
    const now = clock.monotonic();
    if (now - lookedAt > LOOKED_MS) {
      told.clear();
      return false;
    }
    sweep(now);
    return told.has(nodeId) || told.size < LIVE_BOARD_LIMITS.nodes;
  };
  return {
    /** Whether this node shall tell its boards now. */
    isWanted,
    /** What a node tells of its games; false where nobody wants it any more. */
    tell(nodeId: string, boards: readonly ToldBoard[]): boolean {
      if (!isWanted(nodeId)) return false;
      told.set(nodeId, { heardAt: clock.monotonic(), boards: boards.slice(0, LIVE_BOARD_LIMITS.boardsOfNode) });
      return true;
    },
    /** All boards of now; whoever asks looks. */
    look(): readonly ToldBoard[] {
      const now = clock.monotonic();
      lookedAt = now;
      sweep(now);
      return [...told.values()].flatMap(({ boards }) => boards);
    },
  };
}
