/**
 * The tree of a search as a pool of typed arrays: nodes and edges are numbers, an edge leads from its node to a child.
 * Nothing is allocated while a search runs, unless the pool must grow.
 */

export const newTree = (nodes: number, edges: number, players: number) => ({
  nodes: 0,
  edges: 0,
  firstEdge: new Int32Array(nodes),
  edgeCount: new Int32Array(nodes),
  turn: new Int32Array(nodes),
  nodeVisits: new Int32Array(nodes),
  sums: new Float64Array(nodes * players),
  /** 1 where the value is certain; then it stands in `exact`. */
  proven: new Uint8Array(nodes),
  exact: new Float64Array(nodes * players),
  move: new Int32Array(edges),
  prior: new Float32Array(edges),
  edgeVisits: new Int32Array(edges),
  edgeSum: new Float64Array(edges),
  child: new Int32Array(edges),
});

export type Tree = ReturnType<typeof newTree>;

/** The same tree with room for at least so many nodes and edges. */
export const grownTree = ({ nodes, edges, ...arrays }: Tree, maxNodes: number, maxEdges: number, players: number) => {
  const larger = newTree(maxNodes, maxEdges, players);
  for (const key of Object.keys(arrays) as (keyof typeof arrays)[]) larger[key].set(arrays[key]);
  return Object.assign(larger, { nodes, edges });
};

/** The edge to try next: what its results promise, and what the prior adds while it was tried little. */
export function selectEdge(tree: Tree, node: number, players: number, exploration: number, reduction: number): number {
  const { prior, edgeVisits, edgeSum, child, proven, exact } = tree;
  const first = tree.firstEdge[node]!;
  const end = first + tree.edgeCount[node]!;
  const total = tree.nodeVisits[node]!;
  const mover = tree.turn[node]!;
  const scale = exploration * Math.sqrt(total);
  const unvisited = tree.sums[node * players + mover]! / total - reduction;
  let best = first;
  let bestScore = Number.NEGATIVE_INFINITY;
  for (let edge = first; edge < end; edge += 1) {
    const n = edgeVisits[edge]!;
    let score: number;
    if (n === 0) score = unvisited + scale * prior[edge]!;
    // What is certain needs no exploring.
    else if (proven[child[edge]!]! === 1) score = exact[child[edge]! * players + mover]!;
    else score = edgeSum[edge]! / n + (scale * prior[edge]!) / (1 + n);
    if (score > bestScore) {
      bestScore = score;
      best = edge;
    }
  }
  return best;
}

/** How many visits a move of a noisy root is owed for its prior alone: the root of `forced` times prior times all visits. */
const forcedVisits = (tree: Tree, edge: number, total: number, forced: number): number =>
  Math.sqrt(forced * tree.prior[edge]! * total);

/** The first move of a root that was tried and is owed more visits, or -1. So noise is looked into, and not only drawn. */
export function forcedEdge(tree: Tree, root: number, forced: number): number {
  const { edgeVisits, child, proven } = tree;
  const first = tree.firstEdge[root]!;
  const total = tree.nodeVisits[root]! - 1;
  for (let edge = first; edge < first + tree.edgeCount[root]!; edge += 1) {
    const n = edgeVisits[edge]!;
    if (n > 0 && proven[child[edge]!]! === 0 && n < forcedVisits(tree, edge, total, forced)) return edge;
  }
  return -1;
}

/**
 * The visits of a root's edge less those that it was only owed: as many as can go without making it look better than the most visited
 * move. What is left of one visit goes too. So what was forced never becomes what is learned.
 */
export function prunedVisits(
  tree: Tree,
  edge: number,
  root: number,
  players: number,
  exploration: number,
  forced: number,
): number {
  const { prior, edgeVisits, edgeSum, child, proven } = tree;
  const n = edgeVisits[edge]!;
  const best = bestEdge(tree, root, players);
  if (edge === best || n === 0 || proven[child[edge]!]! === 1) return n;
  const total = tree.nodeVisits[root]!;
  const scale = exploration * Math.sqrt(total);
  const bestScore = edgeSum[best]! / edgeVisits[best]! + (scale * prior[best]!) / (1 + edgeVisits[best]!);
  const lead = bestScore - edgeSum[edge]! / n;
  if (!(lead > 0)) return n;
  const enough = Math.ceil((scale * prior[edge]!) / lead - 1);
  const owed = Math.floor(forcedVisits(tree, edge, total - 1, forced));
  const left = Math.min(n, Math.max(0, enough, n - owed));
  return left <= 1 ? 0 : left;
}

/** Proves a node if the mover has a proven win there, or if all its moves are proven. */
export function prove(tree: Tree, node: number, players: number): boolean {
  const { child, proven, exact } = tree;
  const first = tree.firstEdge[node]!;
  const end = first + tree.edgeCount[node]!;
  const mover = tree.turn[node]!;
  let best = -1;
  let all = true;
  for (let edge = first; edge < end; edge += 1) {
    const next = child[edge]!;
    if (next < 0 || proven[next]! === 0) all = false;
    else if (best < 0 || exact[next * players + mover]! > exact[best * players + mover]!) best = next;
  }
  if (best < 0 || !(all || exact[best * players + mover]! === 1)) return false;
  proven[node] = 1;
  for (let seat = 0; seat < players; seat += 1) exact[node * players + seat] = exact[best * players + seat]!;
  return true;
}

/** Whether an edge keeps what its node is proven to be worth. */
export function keepsValue(tree: Tree, edge: number, node: number, players: number): boolean {
  const next = tree.child[edge]!;
  const mover = tree.turn[node]!;
  return (
    next >= 0 && tree.proven[next]! === 1 && tree.exact[next * players + mover]! === tree.exact[node * players + mover]!
  );
}

/** The edge of a node that leads to what it is proven to be worth, or else the most visited; then the better, then the first. */
export function bestEdge(tree: Tree, node: number, players: number): number {
  const { edgeVisits, edgeSum } = tree;
  const first = tree.firstEdge[node]!;
  const certain = tree.proven[node]! === 1;
  let best = -1;
  for (let edge = first; edge < first + tree.edgeCount[node]!; edge += 1) {
    if (certain && !keepsValue(tree, edge, node, players)) continue;
    const more = best < 0 ? 1 : edgeVisits[edge]! - edgeVisits[best]!;
    if (more > 0 || (more === 0 && edgeSum[edge]! > edgeSum[best]!)) best = edge;
  }
  return best;
}
