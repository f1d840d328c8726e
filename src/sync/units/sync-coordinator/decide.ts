/** What the books on transfers say of each host: whether its transfers fail for good, and which are not worth waiting for. */
import type { CopyNode } from "../../copies/decide.ts";
import type { HostFailures, OpenOrder } from "../../orders/hosts.ts";

/** A host whose transfers fail again and again. Times are milliseconds since the epoch. */
export type HostTrouble = {
  readonly failures: number;
  readonly code: string;
  readonly error: string;
  readonly since: number;
  readonly told_at: number;
};

export interface TroubleLimits {
  readonly criticalFailures: number;
  readonly remindMs: number;
}

/**
 * How things stand with a host now, and whether that is to be told: when it turns critical, and now and then while it is. It is over when
 * something arrives, and when nobody has waited for anything since the last reminder would have been due.
 */
export function judgeHost(
  known: HostTrouble | undefined,
  found: HostFailures | undefined,
  now: number,
  { criticalFailures, remindMs }: TroubleLimits,
): { readonly trouble: HostTrouble | undefined; readonly isDue: boolean } {
  const isOver = { trouble: undefined, isDue: false };
  if (found === undefined || found.failures < criticalFailures) return isOver;
  if (found.is_awaited === 0 && now - found.at >= remindMs) return isOver;
  const { failures, code, error } = found;
  const isDue = known === undefined || now - known.told_at >= remindMs;
  const told_at = isDue ? now : known.told_at;
  return { trouble: { failures, code, error, since: known?.since ?? now, told_at }, isDue };
}

/** Orders of nodes that are away too long, or that nobody knows any more. Whoever wanted them can ask another node then. */
export const hopeless = (
  open: readonly OpenOrder[],
  nodes: ReadonlyMap<string, Pick<CopyNode, "isThere">>,
  now: number,
  awayMs: number,
): OpenOrder[] => open.filter(({ node_id, since }) => nodes.get(node_id)?.isThere !== true && now - since >= awayMs);
