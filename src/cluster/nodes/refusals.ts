import type { Clock } from "../../kernel/index.ts";

/** Somebody was turned away: for which reason, from where, and as whom it came. */
export interface Refusal {
  readonly code: string;
  readonly from: string;
  readonly nodeId?: string | undefined;
}

const refusalDefaults = {
  /** So many for one reason within the time below are worth an alert. */
  max: 5,
  withinMs: 60_000,
  /** After this long without one the next ones are news again. */
  quietMs: 600_000,
};

/** Reasons for which nobody honest is turned away again and again. */
const SUSPICIOUS: ReadonlySet<string> = new Set([
  "UNAUTHORIZED",
  "SCOPE_TOO_SMALL",
  "UNKNOWN_NODE",
  "BAD_SIGNATURE",
  "REPLAYED_REQUEST",
  "STALE_INCARNATION",
  "CLOCK_SKEW",
  "NOT_YOUR_NODE",
  "PROTOCOL_REFUSED",
  "PAYLOAD_TOO_LARGE",
  "TICKET_EXPIRED",
]);

/** Nobody honest comes with one of these even once. */
const FORGED: ReadonlySet<string> = new Set(["BAD_TICKET", "TICKET_OF_ANOTHER"]);

interface Episode {
  recent: number[];
  lastAt: number;
  isEmitted: boolean;
  sources: Set<string>;
}

export interface RefusalNews {
  readonly code: string;
  readonly count: number;
  readonly sources: readonly string[];
}

/** Counts who is turned away, and says once for each episode that it repeats. */
export type Refusals = ReturnType<typeof createRefusals>;

const MAX_SOURCES = 5;

export function createRefusals(clock: Pick<Clock, "monotonic">, policy = refusalDefaults) {
  const episodes = new Map<string, Episode>();
  const counts = new Map<string, number>();
  return {
    note({ code, from, nodeId }: Refusal) {
      if (!SUSPICIOUS.has(code) && !FORGED.has(code)) return;
      const now = clock.monotonic();
      counts.set(code, (counts.get(code) ?? 0) + 1);
      let episode = episodes.get(code);
      if (episode === undefined || now - episode.lastAt > policy.quietMs) {
        episode = { recent: [], lastAt: now, isEmitted: false, sources: new Set() };
        episodes.set(code, episode);
      }
      episode.lastAt = now;
      episode.recent = [...episode.recent, now].slice(-policy.max);
      if (episode.sources.size < MAX_SOURCES) episode.sources.add(nodeId === undefined ? from : `${nodeId} at ${from}`);
    },
    /** Reasons that have repeated since the last call. */
    news(): RefusalNews[] {
      const now = clock.monotonic();
      return [...episodes].flatMap(([code, episode]) => {
        const max = FORGED.has(code) ? 1 : policy.max;
        const repeats = episode.recent.length >= max && now - episode.recent[0]! <= policy.withinMs;
        if (!repeats || episode.isEmitted) return [];
        episode.isEmitted = true;
        return [{ code, count: counts.get(code) ?? 0, sources: [...episode.sources] }];
      });
    },
  };
}
