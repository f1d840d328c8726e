import type { NodeTiming } from "./timing.ts";

/** Joined and never heard; heard lately; late; too late; said goodbye. */
export const NODE_STATES = ["joined", "online", "suspect", "dead", "left"] as const;
export type NodeState = (typeof NODE_STATES)[number];

export interface Signs {
  readonly state: NodeState;
  /** How long it has been silent while somebody listened; null for one that was not heard since the start. */
  readonly silentMs: number | null;
  /** How long this process has listened. */
  readonly listenedMs: number;
  /** It said goodbye after its last sign of life. */
  readonly left: boolean;
  /** Other nodes that were asked do not reach it either. */
  readonly isLost?: boolean;
}

/** What a node is now. Silence counts only while somebody listens, and not before the time of grace is over. */
export function nextState({ state, silentMs, listenedMs, left, isLost = false }: Signs, timing: NodeTiming): NodeState {
  if (left) return "left";
  if (silentMs !== null && silentMs <= timing.suspectMs) return "online";
  // Not heard since this process began: what it was before holds until it had its chance to speak.
  const silent = silentMs ?? listenedMs;
  if (state === "joined" || state === "left" || state === "dead")
    return silentMs === null ? state : judge(silent, isLost, timing);
  if (listenedMs < timing.startupGraceMs) return state;
  return judge(silent, isLost, timing);
}

/** A worker with a token is there while it asks or beats, and has left when it does neither: nobody waits for it. */
export function nextGuestState(
  { state, silentMs, listenedMs }: Omit<Signs, "left" | "isLost">,
  { deadMs }: NodeTiming,
): NodeState {
  if (silentMs !== null) return silentMs <= deadMs ? "online" : "left";
  return listenedMs <= deadMs ? state : "left";
}

/** Nobody waits for one that is late and that no other node reaches. */
const judge = (silentMs: number, isLost: boolean, { suspectMs, deadMs }: NodeTiming): NodeState => {
  if (silentMs > deadMs || (isLost && silentMs > suspectMs)) return "dead";
  return silentMs > suspectMs ? "suspect" : "online";
};
