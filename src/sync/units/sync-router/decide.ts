/** From where a transfer is tried next after a failure. */

/** A way that was tried for a transfer and failed. */
export interface FailedWay {
  readonly transport: string;
  readonly place: string;
}

export interface Route {
  readonly transport: string;
  /** The node that gives it. */
  readonly place: string;
}

export interface RouteQuestion {
  /** Who shall have it. */
  readonly to: string;
  /** Nodes that are there and hold it. */
  readonly holders: readonly string[];
  readonly home: string;
  readonly failed: readonly FailedWay[];
  /** Nodes whose transfers fail again and again. */
  readonly troubled: ReadonlySet<string>;
}

const COORDINATOR = "coordinator";
const PEER = "http";

/**
 * Every holder that was not tried in vain, those without trouble first, and the coordinator behind the others. Null if all of them
 * have failed: then only time helps, and the next try comes when it is due.
 */
export function nextRoute({ to, holders, home, failed, troubled }: RouteQuestion): Route | null {
  const isFailed = (place: string) =>
    failed.some((way) => way.place === place || (place === home && way.transport === COORDINATOR));
  const [place] = holders
    .filter((id) => id !== to && !isFailed(id))
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  if (place === undefined) return null;
  return { place, transport: place === home ? COORDINATOR : PEER };

  function rank(id: string): number {
    return (troubled.has(id) ? 2 : 0) + (id === home ? 1 : 0);
  }
}
