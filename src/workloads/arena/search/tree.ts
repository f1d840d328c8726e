/**
 * The tree of a search as a pool of typed arrays: nodes and edges are numbers, an edge leads from its node to a child.
 * Nothing is allocated while a search runs, unless the pool must grow.
 */

export interface Tree {
  nodes: number;
  edges: number;
  firstEdge: Int32Array;
  edgeCount: Int32Array;
  turn: Int32Array;
  nodeVisits: Int32Array;
  sums: Float64Array;
  /** 1 where the value is certain; then it stands in `exact`. */
  proven: Uint8Array;
  exact: Float64Array;
  move: Int32Array;
  prior: Float32Array;
  edgeVisits: Int32Array;
  edgeSum: Float64Array;
  child: Int32Array;
}

export const newTree = (nodes: number, edges: number, players: number): Tree => ({
  nodes: 0,
  edges: 0,
  firstEdge: new Int32Array(nodes),
  edgeCount: new Int32Array(nodes),
  turn: new Int32Array(nodes),
  nodeVisits: new Int32Array(nodes),
  sums: new Float64Array(nodes * players),
  proven: new Uint8Array(nodes),
  exact: new Float64Array(nodes * players),
  move: new Int32Array(edges),
  prior: new Float32Array(edges),
  edgeVisits: new Int32Array(edges),
  edgeSum: new Float64Array(edges),
  child: new Int32Array(edges),
});

/** The same tree with room for at least so many nodes and edges. */
export const grownTree = (tree: Tree, nodes: number, edges: number, players: number): Tree => {
  const larger = newTree(nodes, edges, players);
  larger.nodes = tree.nodes;
  larger.edges = tree.edges;
  for (const key of ["firstEdge", "edgeCount", "turn", "nodeVisits", "move", "edgeVisits", "child"] as const)
    larger[key].set(tree[key]);
  larger.sums.set(tree.sums);
  larger.proven.set(tree.proven);
  larger.exact.set(tree.exact);
  larger.prior.set(tree.prior);
  larger.edgeSum.set(tree.edgeSum);
  return larger;
};
