/** Whether a node is cut off, and what it does about its own line. Pure. */

export const linkDefaults = {
  /** Tries in a row without an answer after which a line counts as down, and is begun anew. */
  failures: 3,
  /** Pause between two new beginnings: doubled each time. */
  reopenMs: 30_000,
  maxReopenMs: 600_000,
  /** A node that reaches so few of the others, for so long, is cut off. */
  isolatedBelow: 0.55,
  isolatedMs: 30_000,
};
export type LinkPolicy = typeof linkDefaults;

export interface LinkFacts {
  readonly peers: number;
  readonly expected: number;
  /** Null where there is no line to a coordinator. */
  readonly failures: number | null;
}

/** What is known of an outage. Times are milliseconds since the epoch; null while there is none. */
export type LinkState = {
  readonly downSince: number | null;
  readonly reopens: number;
  readonly reopenedAt: number | null;
  /** It was told that it is cut off. */
  readonly isTold: boolean;
};

export const soundLink: LinkState = { downSince: null, reopens: 0, reopenedAt: null, isTold: false };

export interface LinkNews {
  readonly reopen: boolean;
  readonly isolated: boolean;
  /** How long it was down; null unless it is up again after something was told of it. */
  readonly downMs: number | null;
}

/**
 * Whose line is down and who reaches other nodes all the same is not cut off: the coordinator is, or the way to it. The line itself is
 * one of those that are expected.
 */
const reachesNobody = ({ peers, expected }: LinkFacts, { isolatedBelow }: LinkPolicy): boolean =>
  expected <= 1 || peers < isolatedBelow * (expected - 1);

/** Few of many: one other that is away is that one's trouble. */
const reachesFew = ({ peers, expected }: LinkFacts, { isolatedBelow }: LinkPolicy): boolean =>
  expected - peers >= 2 && peers < isolatedBelow * expected;

export function nextLink(
  before: LinkState,
  facts: LinkFacts,
  now: number,
  policy: LinkPolicy = linkDefaults,
): { readonly state: LinkState; readonly news: LinkNews } {
  const isLineDown = facts.failures !== null && facts.failures >= policy.failures;
  const isDown = isLineDown || (facts.failures === null && reachesFew(facts, policy));
  if (!isDown) {
    const wasTold = before.isTold || before.reopens > 0;
    const downMs = wasTold && before.downSince !== null ? now - before.downSince : null;
    return { state: soundLink, news: { reopen: false, isolated: false, downMs } };
  }
  const downSince = before.downSince ?? now;
  const pauseMs = Math.min(policy.maxReopenMs, policy.reopenMs * 2 ** Math.max(0, before.reopens - 1));
  const reopen = isLineDown && (before.reopenedAt === null || now - before.reopenedAt >= pauseMs);
  const isAlone = !isLineDown || reachesNobody(facts, policy);
  const isolated = !before.isTold && isAlone && now - downSince >= policy.isolatedMs;
  return {
    state: {
      downSince,
      reopens: before.reopens + (reopen ? 1 : 0),
      reopenedAt: reopen ? now : before.reopenedAt,
      isTold: before.isTold || isolated,
    },
    news: { reopen, isolated, downMs: null },
  };
}
