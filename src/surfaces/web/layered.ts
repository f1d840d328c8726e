/**
 * Places the nodes of a graph in columns, causes left of effects, with as few crossings as a handful of sweeps find. Pure: the same
 * graph is always drawn alike.
 */
export interface Placed {
  readonly id: string;
  readonly column: number;
  readonly row: number;
}

export interface Edge {
  readonly from: string;
  readonly to: string;
}

const SWEEPS = 6;

/** The column of each: one right of the furthest that leads to it. A circle is cut where it is met again. */
function columnsOf(ids: readonly string[], edges: readonly Edge[]): Map<string, number> {
  const before = Map.groupBy(edges, ({ to }) => to);
  const columns = new Map<string, number>();
  const open = new Set<string>();
  for (const start of ids) {
    const stack = [start];
    while (stack.length > 0) {
      const id = stack.at(-1)!;
      if (columns.has(id)) {
        stack.pop();
        continue;
      }
      open.add(id);
      const waits = (before.get(id) ?? [])
        .map(({ from }) => from)
        .filter((from) => !columns.has(from) && !open.has(from));
      if (waits.length > 0) {
        stack.push(waits[0]!);
        continue;
      }
      const known = (before.get(id) ?? []).map(({ from }) => columns.get(from) ?? -1);
      columns.set(id, Math.max(-1, ...known) + 1);
      open.delete(id);
      stack.pop();
    }
  }
  return columns;
}

/**
 * Without the edges that a longer way says as well: whoever waits for B, which waits for A, waits for A. So each is drawn beside those
 * that it really waits for, and one that all wait for does not hide the rest.
 */
export function withoutDetours(edges: readonly Edge[]): readonly Edge[] {
  const next = Map.groupBy(edges, ({ from }) => from);
  const isReached = (from: string, to: string): boolean => {
    const seen = new Set<string>([from]);
    const stack = (next.get(from) ?? []).map((edge) => edge.to).filter((each) => each !== to);
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      if (at === to) return true;
      if (seen.has(at)) continue;
      seen.add(at);
      for (const edge of next.get(at) ?? []) stack.push(edge.to);
    }
    return false;
  };
  return edges.filter(({ from, to }) => !isReached(from, to));
}

export function layered(nodes: readonly string[], allEdges: readonly Edge[]): readonly Placed[] {
  const known = new Set(nodes);
  const edges = allEdges.filter(({ from, to }) => known.has(from) && known.has(to) && from !== to);
  const columns = columnsOf(nodes, edges);
  const byColumn = [...Map.groupBy(nodes, (id) => columns.get(id)!)]
    .sort(([a], [b]) => a - b)
    .map(([, ids]) => [...ids]);
  const rows = new Map<string, number>();
  const number = () => {
    for (const ids of byColumn) for (const [row, id] of ids.entries()) rows.set(id, row);
  };
  number();
  const near = new Map<string, string[]>();
  for (const { from, to } of edges) {
    near.set(from, [...(near.get(from) ?? []), to]);
    near.set(to, [...(near.get(to) ?? []), from]);
  }
  /** Each moves to the middle of those that it hangs with. */
  const middle = (id: string): number => {
    const rowsNear = (near.get(id) ?? []).map((other) => rows.get(other)!);
    return rowsNear.length === 0 ? rows.get(id)! : rowsNear.reduce((sum, row) => sum + row, 0) / rowsNear.length;
  };
  for (let sweep = 0; sweep < SWEEPS; sweep += 1)
    for (const ids of sweep % 2 === 0 ? byColumn : byColumn.toReversed()) {
      const places = new Map(ids.map((id) => [id, middle(id)]));
      ids.sort((a, b) => places.get(a)! - places.get(b)!);
      for (const [row, id] of ids.entries()) rows.set(id, row);
    }
  return nodes.map((id) => ({ id, column: columns.get(id)!, row: rows.get(id)! }));
}
