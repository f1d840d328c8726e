/**
 * Plain Monte Carlo tree search: UCT over results of random playouts, for any number of players. It knows only the
 * rules, keeps nothing between moves, and will never change: that makes it a fixed mark to measure others by.
 */
import { pick, seededRandom } from "../../../kernel/index.ts";
import { type Game, isOver, OUTCOME, scores, TURN } from "../games/game.ts";
import { log } from "../numerics/exp-log.ts";
import type { Player } from "./player.ts";

/** On shares between 0 and 1; the best of 0.5, 0.7, 1 and 1.41 in matches between them on the default game. */
const EXPLORATION = 0.7;

export function plainMcts(game: Game, rollouts: number): Player {
  const { players } = game;
  const work = game.newState();
  const moves = new Int32Array(game.moves);
  const shares = new Float64Array(players);
  const path = new Int32Array(game.maxPlies + 2);
  // Every rollout adds at most one node, together with room for all of its parent's moves.
  const capacity = (rollouts + 2) * Math.min(game.moves, 64);
  const firstChild = new Int32Array(capacity);
  const childCount = new Int32Array(capacity);
  const moveOf = new Int32Array(capacity);
  const mover = new Int32Array(capacity);
  const visits = new Int32Array(capacity);
  const sums = new Float64Array(capacity);
  let random = seededRandom(0);
  let nodes = 0;

  const addNode = (move: number): number => {
    const node = nodes;
    nodes += 1;
    childCount[node] = -1;
    moveOf[node] = move;
    visits[node] = 0;
    sums[node] = 0;
    return node;
  };

  /** Gives a node its children, in the order of the moves. */
  const open = (node: number): void => {
    const count = game.legalMoves(work, moves);
    mover[node] = work[TURN]!;
    firstChild[node] = nodes;
    childCount[node] = count;
    for (let i = 0; i < count; i += 1) addNode(moves[i]!);
  };

  /** An unvisited child, drawn at random while there are any; then the best upper bound. */
  const descend = (node: number): number => {
    const first = firstChild[node]!;
    const count = childCount[node]!;
    const logVisits = log(visits[node]!);
    let best = -1;
    let bestScore = Number.NEGATIVE_INFINITY;
    let fresh = 0;
    for (let child = first; child < first + count; child += 1) {
      const n = visits[child]!;
      if (n === 0) {
        fresh += 1;
        if (pick(random, fresh) === 0) best = child;
      } else if (fresh === 0) {
        const score = sums[child]! / n + EXPLORATION * Math.sqrt(logVisits / n);
        if (score > bestScore) {
          bestScore = score;
          best = child;
        }
      }
    }
    return best;
  };

  const rollout = (state: Int32Array): void => {
    work.set(state);
    let node = 0;
    let depth = 0;
    path[0] = 0;
    while (!isOver(work)) {
      if (childCount[node]! < 0) {
        if (visits[node]! === 0 && node !== 0) break;
        open(node);
      }
      node = descend(node);
      depth += 1;
      path[depth] = node;
      game.play(work, moveOf[node]!);
    }
    while (!isOver(work)) game.play(work, moves[pick(random, game.legalMoves(work, moves))]!);
    scores(players, work[OUTCOME]!, shares);
    visits[0] = visits[0]! + 1;
    for (let i = 1; i <= depth; i += 1) {
      const at = path[i]!;
      visits[at] = visits[at]! + 1;
      sums[at] = sums[at]! + shares[mover[path[i - 1]!]!]!;
    }
  };

  return {
    name: `mcts-${rollouts}`,
    newGame(seed) {
      random = seededRandom(seed);
    },
    choose(state) {
      const count = game.legalMoves(state, moves);
      if (count === 1) return moves[0]!;
      nodes = 0;
      addNode(-1);
      for (let i = 0; i < rollouts; i += 1) rollout(state);
      let best = firstChild[0]!;
      for (let child = best + 1; child < firstChild[0]! + childCount[0]!; child += 1) {
        const more = visits[child]! - visits[best]!;
        if (more > 0 || (more === 0 && sums[child]! > sums[best]!)) best = child;
      }
      return moveOf[best]!;
    },
    played() {},
  };
}
