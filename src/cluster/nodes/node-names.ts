import { didYouMean, OperatingError, sayWhich } from "../../kernel/index.ts";
import type { NodeRow } from "./node-rows.ts";

type Named = { readonly row: Pick<NodeRow, "node_id" | "label"> };

/** The id of a node that joined with a key, and the start of one. */
const JOINED_ID = /\bn[0-9a-f]{16}\b/g;
const SHORT_ID = /^n[0-9a-f]{3,16}$/;
const shortNodeId = (nodeId: string): string => nodeId.slice(0, 8);

export const unknownNode = (nodeId: string, known: Iterable<string>) =>
  OperatingError.notFound(
    "NODE_NOT_FOUND",
    `there is no node '${nodeId.slice(0, 100)}'.${didYouMean(nodeId, [...known])}`,
    {
      hint: "'ringrift nodes list' lists them.",
    },
  );

/** The labels of all nodes that are present. They are counted, because the names of thousands of nodes are asked for at once. */
export class NodeLabels {
  readonly #nodes = new Map<string, Set<string>>();

  enter({ node_id, label, forgotten_at }: Named["row"] & Pick<NodeRow, "forgotten_at">): void {
    if (forgotten_at !== null) return;
    const nodes = this.#nodes.get(label) ?? new Set();
    this.#nodes.set(label, nodes.add(node_id));
  }

  leave(row: Named["row"] | undefined): void {
    if (row === undefined) return;
    const nodes = this.#nodes.get(row.label);
    nodes?.delete(row.node_id);
    if (nodes?.size === 0) this.#nodes.delete(row.label);
  }

  /** What people call a node: its label, with the start of its id where others have the same. */
  nameOf({ node_id: nodeId, label }: Named["row"]): string {
    if (label === nodeId) return nodeId;
    const nodes = this.#nodes.get(label);
    const others = (nodes?.size ?? 0) - (nodes?.has(nodeId) ? 1 : 0);
    return others > 0 ? `${label} (${shortNodeId(nodeId)})` : label;
  }
}

/** A text for people, in which nodes that joined stand by their names. */
export const withNodeNames = (text: string, nameOf: (nodeId: string) => string): string =>
  text.replaceAll(JOINED_ID, nameOf);

/** The node that a name means, where it is not its id: the start of it, or a label that only one has. */
export function nodeCalled<N extends Named>(name: string, present: readonly N[]): N {
  const called = present.filter(({ row }) => row.label === name);
  // As short as it is printed, and no shorter than it can be told from a word.
  const begun = SHORT_ID.test(name) ? present.filter(({ row }) => row.node_id.startsWith(name)) : [];
  const [labelled, ...others] = called.length > 0 ? called : begun;
  if (labelled === undefined)
    throw unknownNode(
      name,
      present.flatMap(({ row }) => [row.node_id, row.label]),
    );
  if (others.length > 0)
    throw OperatingError.conflict("NODE_AMBIGUOUS", `${others.length + 1} nodes are called '${name}'`, {
      hint: sayWhich([labelled, ...others].map(({ row }) => row.node_id)),
    });
  return labelled;
}
