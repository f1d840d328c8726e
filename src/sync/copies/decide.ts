/** What follows from who holds an artifact: whether it is safe, who may let go of it, and whether a listing is believed. */
import { MIN_COPIES, requiredCopies } from "./policy.ts";

/** A copy is held, or its node was told that it may go, or its artifact was given up and it shall go. */
export const COPY_STATES = ["held", "dropping", "retired"] as const;
export type CopyState = (typeof COPY_STATES)[number];

/** A node as far as copies are concerned. */
export interface CopyNode {
  readonly node_id: string;
  /** What people call it. */
  readonly name: string;
  /** It was heard lately, or is only just late: nobody makes new copies for a hiccup. */
  readonly isThere: boolean;
  /** It is late: nobody lets go of a copy relying on it. */
  readonly isLate?: boolean;
  /** It may vanish at any time, and what only it holds with it. */
  readonly isRented: boolean;
  /** Why nothing new goes there; undefined if it may. */
  readonly barred?: string | undefined;
  /** It is drained: what it holds shall lie elsewhere before it goes. */
  readonly isLeaving?: boolean;
  /** It has said since its start what it holds. */
  readonly isConfirmed: boolean;
  /** It is one of several coordinators: any of them may be the next to give files to everybody. */
  readonly isCoordinator?: boolean;
}

/** Whether a copy on this node is one to rely on. */
export const counts = (node: CopyNode): boolean => node.isThere && node.isConfirmed && !mayGo(node);

/** Whether it may not be there tomorrow. */
export const mayGo = ({ isRented, isLeaving = false }: Pick<CopyNode, "isRented" | "isLeaving">): boolean =>
  isRented || isLeaving;

/** Where there are several coordinators, so many of them have a file before it counts as safe: the disk of one may be lost. */
const COORDINATOR_COPIES = 2;

/** How many coordinators must hold a file, going by all that belong to the cluster, there or not; none where there is one alone. */
export const requiredCoordinators = (coordinators: number): number =>
  coordinators < COORDINATOR_COPIES ? 0 : COORDINATOR_COPIES;

export interface Copy {
  readonly node_id: string;
  readonly state: CopyState;
}

export interface CopyVerdict {
  /** Verified copies on nodes to rely on. */
  readonly copies: number;
  /** As the policy wishes, and as can be had now. */
  readonly factor: number;
  readonly required: number;
  readonly safe: boolean;
  /** It lies nowhere but on nodes that may vanish. */
  readonly at_risk: boolean;
}

/** How safe an artifact is that these nodes hold. */
export function judgeCopies(
  copies: readonly Copy[],
  factor: number,
  nodes: ReadonlyMap<string, CopyNode>,
  places: number,
): CopyVerdict {
  const held = copies.filter(({ state }) => state === "held").flatMap(({ node_id }) => nodes.get(node_id) ?? []);
  const reliable = held.filter(counts).length;
  const required = requiredCopies(factor, places);
  const isCoordinator = (node: CopyNode) => node.isCoordinator === true;
  const atCoordinators = held.filter((node) => isCoordinator(node) && counts(node)).length;
  const coordinators = requiredCoordinators([...nodes.values()].filter(isCoordinator).length);
  return {
    copies: reliable,
    factor,
    required: Math.max(required, coordinators),
    safe: reliable >= required && atCoordinators >= coordinators,
    at_risk: reliable === 0 && held.some((node) => mayGo(node) && node.isThere),
  };
}

/** A copy while somebody wants to let go of one: locked ones stay until the other has gone. */
export interface LockableCopy extends Copy {
  readonly isLocked: boolean;
}

export interface DropQuestion {
  readonly node_id: string;
  readonly copies: readonly LockableCopy[];
  /** Nodes whose copies count now. */
  readonly counting: ReadonlySet<string>;
  readonly required: number;
  /** All coordinators, where there are several. */
  readonly coordinators?: ReadonlySet<string>;
}

export type DropAnswer =
  /** It may go, against this other copy, which is locked meanwhile. */
  | { readonly allowed: true; readonly against: string }
  | { readonly allowed: false; readonly why: string; readonly actual: number; readonly required: number };

/**
 * Whether a node may let go of its copy: as many as are required must lie elsewhere, verified. A copy on a node that counts
 * for nothing may go against the least there must be. One that another relies on while it goes stays.
 */
export function mayDrop({ node_id, copies, counting, required, coordinators = new Set() }: DropQuestion): DropAnswer {
  const own = copies.find((copy) => copy.node_id === node_id);
  const elsewhere = copies.filter(
    (copy) => copy.node_id !== node_id && copy.state === "held" && counting.has(copy.node_id),
  );
  const needed = counting.has(node_id) ? Math.max(MIN_COPIES, required) : MIN_COPIES;
  const facts = { actual: elsewhere.length, required: needed };
  if (own?.isLocked === true)
    return { allowed: false, why: "another node relies on it while its own copy goes", ...facts };
  const atCoordinators = elsewhere.filter((copy) => coordinators.has(copy.node_id)).length;
  const neededThere = requiredCoordinators(coordinators.size);
  if (atCoordinators < neededThere)
    return {
      allowed: false,
      why: "too few coordinators have it",
      actual: atCoordinators,
      required: neededThere,
    };
  const [against] = elsewhere;
  if (against === undefined || elsewhere.length < needed)
    return { allowed: false, why: "too few verified copies lie elsewhere", ...facts };
  return { allowed: true, against: against.node_id };
}

/**
 * Whether to believe a node that says which of its copies are there. One that finds nothing of all it had looks at a disk
 * that is not mounted; what it says is a fault, and no news of its copies.
 */
export const believeListing = (expected: number, found: number): boolean => expected === 0 || found > 0;
