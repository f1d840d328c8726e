/**
 * PUCT for any number of players: each node maximises the share of the seat that moves there, and a result is a share
 * for every seat (MaxN). With two players this is the usual search.
 *
 * Results that are certain are kept as such: a finished game is proven, and so is a position where the mover can reach
 * a proven win, or where every move is proven. A proven position is never searched again, and a proven root ends the
 * search, so endings are played exactly as soon as the budget reaches them.
 *
 * The tree is a pool of typed arrays that lives for a game. After a move the chosen child becomes the root, so its
 * visits are kept; nothing is freed until the next game. No clock and no hidden randomness: the same state, network,
 * config and seed give the same visits everywhere.
 */
import type { Random } from "../../../kernel/index.ts";
import { type Game, OUTCOME, RUNNING, type State, scores, TURN } from "../games/game.ts";
import { dirichlet } from "../numerics/samplers.ts";
import type { Evaluator } from "./evaluator.ts";
import { bestEdge, forcedEdge, grownTree, keepsValue, newTree, prove, prunedVisits, selectEdge } from "./tree.ts";

export interface SearchConfig {
  /** Visits of the root that a search ends with, unless it is proven before; those inherited from the last move count. */
  readonly simulations: number;
  /** How much the prior weighs against the results so far. */
  readonly exploration: number;
  /** How far below its parent's value an unvisited move is assumed to be. */
  readonly unvisitedReduction: number;
  /** The share of the root's priors that noise replaces, where a search is given randomness. */
  readonly noiseWeight: number;
  /** The Dirichlet concentration summed over the legal moves. */
  readonly noiseTotal: number;
  /** How much a noisy root owes each move for its prior; 0 for nothing. What is forced is not among the visits that are told. */
  readonly forcedPlayouts: number;
}

export const DEFAULT_SEARCH: SearchConfig = {
  simulations: 48,
  exploration: 0.6,
  unvisitedReduction: 0.1,
  noiseWeight: 0.25,
  noiseTotal: 10,
  forcedPlayouts: 0,
};

export function createSearch(game: Game, evaluator: Evaluator, config: SearchConfig) {
  const { players } = game;
  const { simulations, exploration, unvisitedReduction, noiseWeight, noiseTotal, forcedPlayouts } = config;
  const work = game.newState();
  const moves = new Int32Array(game.moves);
  const noise = new Float64Array(game.moves);
  const leafValues = new Float64Array(players);
  const pathNodes = new Int32Array(game.maxPlies + 1);
  const pathEdges = new Int32Array(game.maxPlies + 1);
  const visits = new Int32Array(game.moves);
  const values = new Float64Array(players);
  let tree = newTree(simulations * 4 + 8, (simulations * 4 + 8) * 12 + game.moves, players);
  let root = -1;
  /** The root whose priors are mixed with noise already: running it again must not mix them twice. */
  let noisyRoot = -1;

  const reset = (): void => {
    tree.nodes = 0;
    tree.edges = 0;
    root = -1;
    noisyRoot = -1;
  };

  /** Adds the state in `work` as a node and leaves its value in `leafValues`. */
  const expand = (): number => {
    if (tree.nodes === tree.firstEdge.length || tree.edges + game.moves > tree.move.length)
      tree = grownTree(tree, tree.firstEdge.length * 2, tree.move.length * 2 + game.moves, players);
    const node = tree.nodes;
    tree.nodes += 1;
    const outcome = work[OUTCOME]!;
    tree.proven[node] = outcome === RUNNING ? 0 : 1;
    tree.turn[node] = work[TURN]!;
    tree.nodeVisits[node] = 1;
    tree.firstEdge[node] = tree.edges;
    if (outcome !== RUNNING) {
      tree.edgeCount[node] = 0;
      scores(players, outcome, leafValues);
      tree.exact.set(leafValues, node * players);
    } else {
      const count = game.legalMoves(work, moves);
      evaluator.evaluate(work, moves, count, tree.prior, tree.edges, leafValues);
      tree.edgeCount[node] = count;
      for (let i = 0; i < count; i += 1) {
        const edge = tree.edges + i;
        tree.move[edge] = moves[i]!;
        tree.edgeVisits[edge] = 0;
        tree.edgeSum[edge] = 0;
        tree.child[edge] = -1;
      }
      tree.edges += count;
    }
    for (let seat = 0; seat < players; seat += 1) tree.sums[node * players + seat] = leafValues[seat]!;
    return node;
  };

  const recall = (node: number): void => {
    for (let seat = 0; seat < players; seat += 1) leafValues[seat] = tree.exact[node * players + seat]!;
  };

  /** Goes down from the root to a new or a proven node, and carries its value back up. */
  const simulate = (state: State, forced: number): void => {
    work.set(state);
    let depth = 0;
    let node = root;
    for (;;) {
      const owed = forced > 0 && depth === 0 ? forcedEdge(tree, root, forced) : -1;
      const edge = owed >= 0 ? owed : selectEdge(tree, node, players, exploration, unvisitedReduction);
      pathNodes[depth] = node;
      pathEdges[depth] = edge;
      depth += 1;
      game.play(work, tree.move[edge]!);
      node = tree.child[edge]!;
      if (node < 0) {
        node = expand();
        tree.child[edge] = node;
        break;
      }
      if (tree.proven[node]! === 1) {
        recall(node);
        tree.nodeVisits[node] = tree.nodeVisits[node]! + 1;
        break;
      }
    }
    const { nodeVisits, sums, edgeVisits, edgeSum, turn, proven } = tree;
    let solving = proven[node]! === 1;
    for (let i = depth - 1; i >= 0; i -= 1) {
      const at = pathNodes[i]!;
      const edge = pathEdges[i]!;
      nodeVisits[at] = nodeVisits[at]! + 1;
      edgeVisits[edge] = edgeVisits[edge]! + 1;
      edgeSum[edge] = edgeSum[edge]! + leafValues[turn[at]!]!;
      solving = solving && prove(tree, at, players);
      if (solving) recall(at);
      for (let seat = 0; seat < players; seat += 1)
        sums[at * players + seat] = sums[at * players + seat]! + leafValues[seat]!;
    }
  };

  const addNoise = (random: Random): void => {
    const first = tree.firstEdge[root]!;
    const count = tree.edgeCount[root]!;
    if (root === noisyRoot || count < 2 || noiseWeight === 0) return;
    noisyRoot = root;
    dirichlet(random, noiseTotal / count, count, noise);
    for (let i = 0; i < count; i += 1)
      tree.prior[first + i] = (1 - noiseWeight) * tree.prior[first + i]! + noiseWeight * noise[i]!;
  };

  return {
    /** The root's visits by move, without forced ones; moves that are not legal have none, nor have others than the winning ones in a proven win. */
    visits,
    /** What each seat may expect at the root. */
    values,

    /** Forgets the tree; call it before each game. */
    reset,

    /** Searches from a state, with so many simulations. Randomness turns on the root noise, and what it forces. */
    run(state: State, random?: Random, most = simulations): void {
      if (root < 0) {
        reset();
        work.set(state);
        root = expand();
      }
      if (random) addNoise(random);
      const forced = random === undefined ? 0 : forcedPlayouts;
      while (tree.nodeVisits[root]! <= most && tree.proven[root]! === 0) simulate(state, forced);
      const certain = tree.proven[root]! === 1;
      const won = certain && tree.exact[root * players + tree.turn[root]!]! === 1;
      visits.fill(0);
      const first = tree.firstEdge[root]!;
      for (let edge = first; edge < first + tree.edgeCount[root]!; edge += 1)
        if (!won || keepsValue(tree, edge, root, players))
          visits[tree.move[edge]!] =
            forced > 0 && !certain
              ? prunedVisits(tree, edge, root, players, exploration, forced)
              : tree.edgeVisits[edge]!;
      for (let seat = 0; seat < players; seat += 1) {
        const at = root * players + seat;
        values[seat] = certain ? tree.exact[at]! : tree.sums[at]! / tree.nodeVisits[root]!;
      }
    },

    /** Tells the search which move was played, so that the next `run` may go on from there. */
    advance(move: number): void {
      if (root < 0) return;
      const first = tree.firstEdge[root]!;
      let next = -1;
      for (let i = 0; i < tree.edgeCount[root]!; i += 1)
        if (tree.move[first + i]! === move) next = tree.child[first + i]!;
      root = next;
    },

    /** The proven best move, or else the most visited; among equals the one with the better result, then the lower number. */
    best: (): number => tree.move[bestEdge(tree, root, players)]!,
  };
}

export type Search = ReturnType<typeof createSearch>;
