import type { KeyObject } from "node:crypto";
import type { Clock } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import { NodeLabels, unknownNode } from "./node-names.ts";
import {
  addNode,
  changeNode,
  freshRow,
  type NodeCapabilities,
  type NodeChanges,
  type NodeRow,
  storedNodes,
} from "./node-rows.ts";
import type { ReachReport } from "./reach-book.ts";
import { createReplayWindow, type ReplayWindow } from "./replay-window.ts";
import type { StoredView } from "./stored-view.ts";
import { TokenPlaces } from "./token-places.ts";

/** How a node does, as it says with every beat. */
export interface NodeBeat extends Pick<NodeRow, "node_id" | "incarnation" | "version"> {
  readonly capabilities?: NodeCapabilities | undefined;
  readonly load: { readonly running: number; readonly free: NodeCapabilities };
  readonly spool: { readonly waiting: number };
  /** How far its clock is ahead of ours; unknown where it does not say. */
  readonly clockAheadMs?: number | undefined;
  /** Events that it has kept: on their way, and set aside because they were refused. */
  readonly outbox?: { readonly waiting: number; readonly refused: number } | undefined;
  /** The room on its disk, and below which it begins no job. */
  readonly disk?: { readonly free_bytes: number; readonly reserve_bytes: number } | undefined;
  /** Whom it reaches, where nodes look after each other. */
  readonly swim?: ReachReport | undefined;
}

/** A node as it is stored, and what is known of it in memory only: lost with the process, and soon known again. */
export interface KnownNode {
  row: NodeRow;
  /** In the time that this process listened; undefined before its first sign of life here. */
  heardAt: number | undefined;
  seenAt: number | null;
  touchedAt: number;
  left: boolean;
  /** The last one. */
  beat: NodeBeat | undefined;
  key: KeyObject | undefined;
  incarnation: number;
  window: ReplayWindow;
  /** The capabilities as they were read last: thousands of nodes are looked through every few seconds. */
  read: { readonly text: string; readonly value: NodeCapabilities } | undefined;
  /** The same of what follows from its row. */
  shown: { readonly row: NodeRow; readonly view: StoredView } | undefined;
}

const knownNode = (row: NodeRow): KnownNode => ({
  row,
  heardAt: undefined,
  seenAt: row.last_seen_at,
  touchedAt: row.last_seen_at ?? 0,
  left: row.left_reason !== null,
  beat: undefined,
  key: undefined,
  incarnation: row.incarnation,
  window: createReplayWindow(),
  read: undefined,
  shown: undefined,
});

/** All nodes in memory, as they are on disk: a change is here once it is there. */
export class KnownNodes {
  readonly tokens = new TokenPlaces();
  readonly labels = new NodeLabels();
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #nodes = new Map<string, KnownNode>();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    for (const row of storedNodes(store)) this.#enter(row);
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** Those that were forgotten, and whose row is still there, as well. */
  all(): KnownNode[] {
    return [...this.#nodes.values()];
  }

  /** Also one that was forgotten. */
  any(nodeId: string): KnownNode | undefined {
    return this.#nodes.get(nodeId);
  }

  present(): KnownNode[] {
    return this.all().filter(({ row }) => row.forgotten_at === null);
  }

  get(nodeId: string): KnownNode | undefined {
    const node = this.#nodes.get(nodeId);
    return node?.row.forgotten_at === null ? node : undefined;
  }

  /** Changes a node, or adds it with what is only said once. */
  async put(nodeId: string, news: NodeChanges, once: NodeChanges): Promise<KnownNode> {
    const known = this.#nodes.get(nodeId);
    if (known !== undefined) {
      await this.change(known, news);
      return known;
    }
    const row = { ...freshRow(nodeId, this.#clock.now()), ...news, ...once };
    await this.#store.commit([addNode(row)]);
    // Two that joined at once are one.
    return this.#nodes.get(nodeId) ?? this.#enter(row);
  }

  async change({ row: { node_id: nodeId } }: KnownNode, changes: NodeChanges): Promise<NodeRow> {
    await this.#store.commit([changeNode({ nodeId, changes })]);
    this.settled(nodeId, changes);
    const node = this.#nodes.get(nodeId);
    if (node === undefined) throw unknownNode(nodeId, []);
    return node.row;
  }

  /** What somebody else has written down. */
  settled(nodeId: string, changes: NodeChanges): void {
    const node = this.#nodes.get(nodeId);
    if (node === undefined) return;
    this.#unlist(node.row);
    node.row = { ...node.row, ...changes };
    this.#list(node.row);
  }

  dropped(nodeId: string): void {
    this.#unlist(this.#nodes.get(nodeId)?.row);
    this.#nodes.delete(nodeId);
  }

  #list(row: NodeRow): void {
    this.tokens.enter(row);
    this.labels.enter(row);
  }

  #unlist(row: NodeRow | undefined): void {
    this.tokens.leave(row);
    this.labels.leave(row);
  }

  #enter(row: NodeRow): KnownNode {
    const node = knownNode(row);
    this.#nodes.set(row.node_id, node);
    this.#list(row);
    return node;
  }
}
