import type { Clock } from "../../kernel/index.ts";
import { nodeOutcomeLimits } from "../limits.ts";

/** How an attempt on a node ended. */
export interface NodeOutcome {
  /** Kind and config: what others do as well can be compared. */
  readonly sort: string;
  readonly ok: boolean;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly error: string | null;
}

/**
 * How the last attempts on each node ended. Kept in memory: it costs no commit, and after a start it is soon known again. A job
 * that comes back unspent says nothing of its node and is not among them.
 */
export interface NodeOutcomes {
  note(nodeId: string, outcome: NodeOutcome): void;
  /** Of one node, oldest first. */
  of(nodeId: string): readonly NodeOutcome[];
  /** Whether another node was done with such work lately, and failed at it less often than not. */
  othersDo(sort: string, nodeId: string): boolean;
  /** When a job was last done anywhere; null before the first. */
  readonly doneAt: number | null;
}

export function createNodeOutcomes(clock: Pick<Clock, "now">, limits = nodeOutcomeLimits): NodeOutcomes {
  const nodes = new Map<string, readonly NodeOutcome[]>();
  let doneAt: number | null = null;

  const recent = (outcomes: readonly NodeOutcome[] = []): readonly NodeOutcome[] => {
    const since = clock.now() - limits.windowMs;
    return outcomes.filter(({ at }) => at > since);
  };

  return {
    note(nodeId, outcome) {
      if (outcome.ok) doneAt = Math.max(doneAt ?? 0, outcome.at);
      const known = recent(nodes.get(nodeId));
      // Those heard longest ago stand in front, so that they are the ones that go when there are too many.
      nodes.delete(nodeId);
      nodes.set(nodeId, [...known, outcome].slice(-limits.keep));
      if (nodes.size > limits.maxNodes) nodes.delete(nodes.keys().next().value!);
    },
    of: (nodeId) => recent(nodes.get(nodeId)),
    othersDo(sort, nodeId) {
      let [done, failed] = [0, 0];
      for (const [other, outcomes] of nodes) {
        if (other === nodeId) continue;
        for (const each of recent(outcomes)) {
          if (each.sort !== sort) continue;
          if (each.ok) done += 1;
          else failed += 1;
        }
      }
      return done > failed;
    },
    get doneAt() {
      return doneAt;
    },
  };
}
