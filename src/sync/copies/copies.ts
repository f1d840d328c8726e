import type { Store } from "../../router/index.ts";
import type { ArtifactRow } from "../artifact.ts";
import { type Copy, type CopyNode, type CopyState, type CopyVerdict, counts, judgeCopies } from "./decide.ts";
import { type CopyPolicy, factorOf, requiredCopies } from "./policy.ts";

/** What `app` knows of a node that may hold copies. */
export interface HolderFacts extends Omit<CopyNode, "isConfirmed"> {
  readonly incarnation: number;
  /** Only where it is known otherwise than by its incarnation. */
  readonly isConfirmed?: boolean;
  /** What bars it passes by itself: it is being repaired, or is ill. */
  readonly isBarredForNow?: boolean;
  /** Kinds of work that it does, and processors that are free for more. */
  readonly kinds: readonly string[];
  readonly freeCpus: number;
  /** From where it calls; null for one that is not known to. */
  readonly address?: string | null;
}

export interface CopiesPorts {
  readonly store: Pick<Store, "read">;
  /** This process's own node: what its store holds it knows by itself. */
  readonly nodeId: string;
  readonly copies: CopyPolicy;
  /** All nodes there are. */
  readonly nodes: () => readonly HolderFacts[];
}

/** A copy as people see it. */
export interface CopyRow {
  readonly node_id: string;
  readonly name: string;
  readonly state: CopyState;
  /** When its bytes were hashed last, and by whom. */
  readonly verified_at: number;
  readonly verified_by: string;
  readonly counts: boolean;
  /** Why it does not count; null if it does. */
  readonly why: string | null;
}

export interface CopiesOf extends CopyVerdict {
  readonly holders: readonly CopyRow[];
}

type Held = Copy & { readonly verified_at: number; readonly verified_by: string };

function whyNot({ state }: Copy, node: CopyNode | undefined): string | null {
  if (node === undefined) return "nobody knows this node any more";
  if (state === "retired") return "the artifact was given up; the copy goes";
  if (state === "dropping") return "its node may remove it";
  if (!node.isThere) return "its node is away";
  if (!node.isConfirmed) return "its node has not said yet what it holds";
  if (node.isLeaving === true) return "its node is being drained";
  return node.isRented ? "its node is rented" : null;
}

/** Who holds what, read from the last commit and judged by who is there now. */
export function createCopies(ports: CopiesPorts) {
  const { store, nodeId, copies: policy } = ports;

  const nodes = (): ReadonlyMap<string, CopyNode> => {
    const confirmed = new Map(
      store
        .read<{ node_id: string; incarnation: number }>("SELECT node_id, incarnation FROM sync_storage")
        .map(({ node_id, incarnation }) => [node_id, incarnation]),
    );
    return new Map(
      ports
        .nodes()
        .map(
          ({
            incarnation,
            isConfirmed: isKnown,
            isLate = false,
            isLeaving = false,
            isCoordinator = false,
            ...node
          }) => {
            const { node_id, name, isThere, isRented, barred } = node;
            const isConfirmed = isKnown ?? (node_id === nodeId || confirmed.get(node_id) === incarnation);
            const facts = { node_id, name, isThere, isLate, isRented, isLeaving, isConfirmed, isCoordinator, barred };
            return [node_id, facts];
          },
        ),
    );
  };

  const counting = (known = nodes()): string[] => [...known.values()].filter(counts).map(({ node_id }) => node_id);

  return {
    nodes,
    /** Nodes whose copies count now; as many places there are for copies. */
    counting,
    /** All coordinators there are, where there are several. */
    coordinators: (known = nodes()): string[] =>
      [...known.values()].filter(({ isCoordinator }) => isCoordinator === true).map(({ node_id }) => node_id),
    /** Of those, the ones to rely on when another copy goes. */
    reliable: (known = nodes()): string[] => counting(known).filter((id) => known.get(id)?.isLate !== true),
    factorOf: (artifact: Pick<ArtifactRow, "kind" | "config_key">) => factorOf(artifact, policy),
    /** How many copies an artifact must have, as far as there are places. */
    requiredOf: (artifact: Pick<ArtifactRow, "kind" | "config_key">, places: number) =>
      requiredCopies(factorOf(artifact, policy), places),
    of(artifact: Pick<ArtifactRow, "seq" | "kind" | "config_key">, known = nodes()): CopiesOf {
      const held = store.read<Held>(
        "SELECT node_id, state, verified_at, verified_by FROM sync_held WHERE seq = ? ORDER BY node_id",
        artifact.seq,
      );
      const verdict = judgeCopies(held, factorOf(artifact, policy), known, counting(known).length);
      const named = (id: string) => known.get(id)?.name ?? id;
      return {
        ...verdict,
        holders: held.map((copy) => {
          const why = whyNot(copy, known.get(copy.node_id));
          const { node_id, state, verified_at } = copy;
          const verified_by = named(copy.verified_by);
          return { node_id, name: named(node_id), state, verified_at, verified_by, counts: why === null, why };
        }),
      };
    },
  };
}

export type Copies = ReturnType<typeof createCopies>;
