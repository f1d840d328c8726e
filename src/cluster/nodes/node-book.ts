import type { KeyObject } from "node:crypto";
import { type Clock, didYouMean, type Log, messageOf, OperatingError } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import { nodeIdOf, nodeKeyOf } from "./identity.ts";
import {
  addNode,
  changeNode,
  type NodeCapabilities,
  type NodeChanges,
  type NodeRow,
  storedNodes,
  touchNodes,
} from "./node-rows.ts";
import { createReplayWindow, type ReplayWindow } from "./replay-window.ts";
import { type NodeState, nextState } from "./states.ts";
import type { NodeTiming } from "./timing.ts";
import { assertProtocol, isDeprecated, PROTOCOL } from "./versions.ts";

export interface JoinRequest {
  readonly public_key: string;
  readonly label: string;
  readonly version: string;
  readonly protocol: number;
  readonly capabilities: NodeCapabilities;
}

/** How a node does, as it says with every beat. */
export interface NodeLoad {
  readonly running: number;
  readonly free: NodeCapabilities;
}

export interface NodeBeat {
  readonly node_id: string;
  readonly incarnation: number;
  readonly version: string;
  readonly capabilities?: NodeCapabilities | undefined;
  readonly load: NodeLoad;
  readonly spool: { readonly waiting: number };
  readonly outbox?: NodeOutbox | undefined;
}

/** Events that a node has kept: on their way, and set aside because they were refused. */
export interface NodeOutbox {
  readonly waiting: number;
  readonly refused: number;
}

/** A node for people and clients. Times are Unix seconds. */
export interface NodeView {
  readonly node_id: string;
  readonly label: string;
  readonly state: NodeState;
  readonly state_since: number;
  readonly incarnation: number;
  readonly version: string;
  readonly deprecated: boolean;
  readonly capabilities: NodeCapabilities;
  readonly joined_at: number;
  readonly joined_by: string;
  readonly last_seen_at: number | null;
  readonly address: string | null;
  readonly cordoned: { readonly reason: string; readonly at: number; readonly by: string } | null;
  readonly draining: boolean;
  readonly left_reason: string | null;
  readonly load: NodeLoad | null;
  readonly spool: { readonly waiting: number } | null;
  readonly outbox: NodeOutbox | null;
  /** It is the coordinator's own, and needs no key. */
  readonly local: boolean;
}

/** What is known of a node in memory only: lost with the process, and soon known again. */
interface Live {
  /** On the clock that never goes back; undefined before its first sign of life here. */
  heardAt: number | undefined;
  seenAt: number | null;
  touchedAt: number;
  left: boolean;
  load: NodeLoad | null;
  spool: { readonly waiting: number } | null;
  outbox: NodeOutbox | null;
  key: KeyObject | undefined;
  incarnation: number;
  window: ReplayWindow;
  /** The capabilities as they were read last: thousands of nodes are looked through every few seconds. */
  read: { readonly text: string; readonly value: NodeCapabilities } | undefined;
}

/** A node whose state is not what is stored: what `membership` writes down and tells. */
export interface NodeEdge {
  readonly row: NodeRow;
  readonly to: NodeState;
  readonly silentMs: number;
}

export interface NodeBookPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly timing: NodeTiming;
  /** The coordinator's own node. */
  readonly localNodeId: string;
  readonly version: string;
  readonly mostNodes?: number;
}

const MOST_NODES = 20_000;
const TOUCH_EVERY_MS = 60_000;

const unknown = (nodeId: string, known: Iterable<string>) =>
  new OperatingError("NODE_NOT_FOUND", `there is no node '${nodeId.slice(0, 100)}'.${didYouMean(nodeId, [...known])}`, {
    hint: "'ringrift nodes list' lists them.",
  });

/** All nodes: rows that are stored, and signs of life that are not. */
export class NodeBook {
  readonly timing: NodeTiming;
  readonly #ports: NodeBookPorts;
  readonly #rows = new Map<string, NodeRow>();
  readonly #live = new Map<string, Live>();
  readonly #startedAt: number;
  #credited = 0;

  constructor(ports: NodeBookPorts) {
    this.#ports = ports;
    this.timing = ports.timing;
    this.#startedAt = ports.clock.monotonic();
    for (const row of storedNodes(ports.store)) this.#enter(row);
  }

  get size(): number {
    return this.#rows.size;
  }

  row(nodeId: string): NodeRow | undefined {
    const row = this.#rows.get(nodeId);
    return row?.forgotten_at === null ? row : undefined;
  }

  /** The node that a name means: its id, or a label that only one has. */
  find(name: string): NodeRow {
    const direct = this.row(name);
    if (direct !== undefined) return direct;
    const live = [...this.#rows.values()].filter(({ forgotten_at }) => forgotten_at === null);
    const labelled = live.filter(({ label }) => label === name);
    if (labelled.length === 1) return labelled[0]!;
    if (labelled.length > 1)
      throw new OperatingError("NODE_AMBIGUOUS", `${labelled.length} nodes are called '${name}'`, {
        hint: `Say which: ${labelled.map(({ node_id }) => node_id).join(", ")}.`,
      });
    throw unknown(
      name,
      live.flatMap(({ node_id, label }) => [node_id, label]),
    );
  }

  /** The coordinator's own node: it has no key, and lives as long as this process. */
  async ensureLocal(capabilities: NodeCapabilities): Promise<void> {
    const { localNodeId, version, clock } = this.#ports;
    const now = clock.now();
    const changes = { version, capabilities: JSON.stringify(capabilities), forgotten_at: null };
    if (this.#rows.has(localNodeId)) await this.#change(localNodeId, changes);
    else
      await this.#add({
        ...freshRow(localNodeId, now),
        ...changes,
        label: localNodeId,
        joined_by: "local",
      });
    this.heard(localNodeId);
  }

  async join(request: JoinRequest, by: { readonly actor: string; readonly address: string }): Promise<NodeRow> {
    assertProtocol(request.protocol);
    const { raw } = nodeKeyOf(request.public_key);
    const nodeId = nodeIdOf(raw);
    const { label, version, protocol } = request;
    const news = {
      label,
      version,
      protocol,
      capabilities: JSON.stringify(request.capabilities),
      address: by.address,
      left_reason: null,
      forgotten_at: null,
    };
    if (this.#rows.has(nodeId)) await this.#change(nodeId, news);
    else {
      const most = this.#ports.mostNodes ?? MOST_NODES;
      if (this.#rows.size >= most)
        throw new OperatingError("TOO_MANY_NODES", `there are ${most} nodes`, {
          hint: "Forget those that are gone: 'ringrift nodes forget <node>'.",
        });
      await this.#add({
        ...freshRow(nodeId, this.#ports.clock.now()),
        ...news,
        public_key: raw.toString("base64"),
        joined_by: by.actor,
      });
    }
    this.#live.get(nodeId)!.left = false;
    this.#ports.log.info("a node joined", { node_id: nodeId, label, version, address: by.address });
    return this.#rows.get(nodeId)!;
  }

  /** A sign of life: a request that was proven to be its own. */
  heard(nodeId: string): void {
    const live = this.#live.get(nodeId);
    if (live === undefined) return;
    live.heardAt = this.#ports.clock.monotonic();
    live.seenAt = this.#ports.clock.now();
  }

  async beat(beat: NodeBeat): Promise<NodeRow> {
    const row = this.row(beat.node_id);
    if (row === undefined) throw unknown(beat.node_id, []);
    const live = this.#live.get(beat.node_id)!;
    this.assertIncarnation(beat.node_id, beat.incarnation);
    live.left = false;
    live.load = beat.load;
    live.spool = beat.spool;
    live.outbox = beat.outbox ?? null;
    live.incarnation = Math.max(live.incarnation, beat.incarnation);
    this.heard(beat.node_id);
    const capabilities = beat.capabilities === undefined ? row.capabilities : JSON.stringify(beat.capabilities);
    const changes: NodeChanges = {
      ...(beat.incarnation > row.incarnation ? { incarnation: beat.incarnation } : {}),
      ...(beat.version === row.version ? {} : { version: beat.version }),
      ...(capabilities === row.capabilities ? {} : { capabilities }),
      ...(row.left_reason === null ? {} : { left_reason: null }),
    };
    // Most beats change nothing that is stored, and cost no commit.
    if (Object.keys(changes).length > 0) await this.#change(beat.node_id, changes);
    return this.#rows.get(beat.node_id) ?? row;
  }

  /** What an earlier life of a node still says is not believed any more. */
  assertIncarnation(nodeId: string, incarnation: number): void {
    const known = this.#live.get(nodeId)?.incarnation ?? 0;
    if (incarnation < known)
      throw new OperatingError("STALE_INCARNATION", `node ${nodeId} has been started again since (${known})`, {
        hint: "Two processes use one identity: stop the older one.",
      });
  }

  async leave(nodeId: string, reason: string): Promise<NodeRow> {
    const row = this.find(nodeId);
    await this.#change(row.node_id, { left_reason: reason });
    this.#live.get(row.node_id)!.left = true;
    return this.#rows.get(row.node_id)!;
  }

  cordon(nodeId: string, { reason, by, drain }: { reason: string; by: string; drain: boolean }): Promise<NodeRow> {
    const { node_id } = this.find(nodeId);
    const cordoned_at = this.#ports.clock.now();
    return this.#change(node_id, { cordon_reason: reason, cordoned_at, cordoned_by: by, draining: drain ? 1 : 0 });
  }

  uncordon(nodeId: string): Promise<NodeRow> {
    const { node_id } = this.find(nodeId);
    return this.#change(node_id, { cordon_reason: null, cordoned_at: null, cordoned_by: null, draining: 0 });
  }

  /** From here on it is nobody; `membership` takes its row away and says so. */
  forget(nodeId: string): Promise<NodeRow> {
    const { node_id } = this.find(nodeId);
    if (node_id === this.#ports.localNodeId)
      throw new OperatingError("NODE_IS_LOCAL", "the coordinator cannot forget its own node", {
        hint: "Cordon it, and it gets no work.",
      });
    return this.#change(node_id, { forgotten_at: this.#ports.clock.now() });
  }

  /** Why a node gets no work; undefined if it may, or if nobody knows it. */
  barred(nodeId: string): string | undefined {
    const row = this.#rows.get(nodeId);
    if (row === undefined) return undefined;
    if (row.forgotten_at !== null) return "it was forgotten";
    if (row.cordon_reason === null) return undefined;
    return `${row.draining === 1 ? "it is being drained" : "it is cordoned"}: ${row.cordon_reason}`;
  }

  /** The key of a node, and what it may no longer say. */
  session(
    nodeId: string,
  ): { key: KeyObject; incarnation: number; begin(incarnation: number): ReplayWindow } | undefined {
    const row = this.row(nodeId);
    const live = this.#live.get(nodeId);
    if (row === undefined || row.public_key === null || live === undefined) return undefined;
    live.key ??= nodeKeyOf(row.public_key).key;
    return {
      key: live.key,
      incarnation: live.incarnation,
      begin(incarnation) {
        if (incarnation > live.incarnation) {
          live.incarnation = incarnation;
          live.window = createReplayWindow();
        }
        return live.window;
      },
    };
  }

  /** Time in which nobody listened counts as nobody's silence. */
  credit(ms: number): void {
    this.#credited += ms;
    for (const live of this.#live.values()) if (live.heardAt !== undefined) live.heardAt += ms;
  }

  /** Nodes whose state is no longer what is stored. */
  edges(): NodeEdge[] {
    const now = this.#ports.clock.monotonic();
    this.heard(this.#ports.localNodeId);
    const listenedMs = now - this.#startedAt - this.#credited;
    return [...this.#rows.values()].flatMap((row) => {
      if (row.forgotten_at !== null) return [];
      const live = this.#live.get(row.node_id)!;
      const silentMs = live.heardAt === undefined ? null : Math.max(0, now - live.heardAt);
      const to = nextState({ state: row.state, silentMs, listenedMs, left: live.left }, this.timing);
      return to === row.state ? [] : [{ row, to, silentMs: silentMs ?? listenedMs }];
    });
  }

  /** Those that were forgotten, or that have been gone for so long that nobody waits for them. */
  gone(): { readonly row: NodeRow; readonly reason: string }[] {
    const before = this.#ports.clock.now() - this.timing.purgeMs;
    return [...this.#rows.values()].flatMap((row) => {
      if (row.forgotten_at !== null) return [{ row, reason: "an operator forgot it" }];
      const away = row.state === "dead" || row.state === "left" || row.state === "joined";
      return away && row.state_since < before && row.node_id !== this.#ports.localNodeId
        ? [{ row, reason: `it has been ${row.state} for ${Math.round(this.timing.purgeMs / 86_400_000)} days` }]
        : [];
    });
  }

  /** What `membership` has written down. */
  settled(nodeId: string, changes: NodeChanges): void {
    const row = this.#rows.get(nodeId);
    if (row !== undefined) this.#rows.set(nodeId, { ...row, ...changes });
  }

  dropped(nodeId: string): void {
    this.#rows.delete(nodeId);
    this.#live.delete(nodeId);
  }

  /** Signs of life that are worth writing down, so that one knows after a restart when each was last heard. */
  async saveSeen(): Promise<void> {
    const now = this.#ports.clock.now();
    const due = [...this.#live].filter(
      ([, { seenAt, touchedAt }]) => seenAt !== null && seenAt > touchedAt && now - touchedAt >= TOUCH_EVERY_MS,
    );
    if (due.length === 0) return;
    const seen = due.map(([nodeId, { seenAt }]) => ({ nodeId, at: seenAt! }));
    for (const [, live] of due) live.touchedAt = now;
    await this.#ports.store
      .commit([touchNodes(seen)])
      .catch((thrown: unknown) =>
        this.#ports.log.warn("signs of life were not written down", { error: messageOf(thrown) }),
      );
    for (const { nodeId, at } of seen) this.settled(nodeId, { last_seen_at: at });
  }

  view(row: NodeRow): NodeView {
    const live = this.#live.get(row.node_id);
    const seenAt = live?.seenAt ?? row.last_seen_at;
    return {
      node_id: row.node_id,
      label: row.label,
      state: row.state,
      state_since: row.state_since / 1_000,
      incarnation: row.incarnation,
      version: row.version,
      deprecated: isDeprecated(row.version, this.#ports.version),
      capabilities: this.#capabilitiesOf(row),
      joined_at: row.joined_at / 1_000,
      joined_by: row.joined_by,
      last_seen_at: seenAt === null ? null : seenAt / 1_000,
      address: row.address,
      cordoned:
        row.cordon_reason === null
          ? null
          : { reason: row.cordon_reason, at: (row.cordoned_at ?? 0) / 1_000, by: row.cordoned_by ?? "unknown" },
      draining: row.draining === 1,
      left_reason: row.left_reason,
      load: live?.load ?? null,
      spool: live?.spool ?? null,
      outbox: live?.outbox ?? null,
      local: row.node_id === this.#ports.localNodeId,
    };
  }

  list(): NodeView[] {
    return [...this.#rows.values()]
      .filter(({ forgotten_at }) => forgotten_at === null)
      .map((row) => this.view(row))
      .sort((a, b) => (a.node_id < b.node_id ? -1 : 1));
  }

  /** How many nodes there are in each state. */
  counts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { state, forgotten_at } of this.#rows.values())
      if (forgotten_at === null) counts[state] = (counts[state] ?? 0) + 1;
    return counts;
  }

  #capabilitiesOf({ node_id, capabilities: text }: NodeRow): NodeCapabilities {
    const live = this.#live.get(node_id);
    if (live?.read?.text === text) return live.read.value;
    const value = JSON.parse(text) as NodeCapabilities;
    if (live !== undefined) live.read = { text, value };
    return value;
  }

  #enter(row: NodeRow): void {
    this.#rows.set(row.node_id, row);
    if (this.#live.has(row.node_id)) return;
    this.#live.set(row.node_id, {
      heardAt: undefined,
      seenAt: row.last_seen_at,
      touchedAt: row.last_seen_at ?? 0,
      left: row.left_reason !== null,
      load: null,
      spool: null,
      outbox: null,
      key: undefined,
      incarnation: row.incarnation,
      window: createReplayWindow(),
      read: undefined,
    });
  }

  async #add(row: NodeRow): Promise<void> {
    await this.#ports.store.commit([addNode(row)]);
    this.#enter(row);
  }

  async #change(nodeId: string, changes: NodeChanges): Promise<NodeRow> {
    await this.#ports.store.commit([changeNode({ nodeId, changes })]);
    this.settled(nodeId, changes);
    const row = this.#rows.get(nodeId);
    if (row === undefined) throw unknown(nodeId, []);
    return row;
  }
}

const freshRow = (nodeId: string, now: number): NodeRow => ({
  node_id: nodeId,
  public_key: null,
  label: nodeId,
  version: "",
  protocol: PROTOCOL.current,
  capabilities: "{}",
  incarnation: 0,
  state: "joined",
  state_since: now,
  joined_at: now,
  joined_by: "",
  last_seen_at: null,
  address: null,
  cordon_reason: null,
  cordoned_at: null,
  cordoned_by: null,
  draining: 0,
  left_reason: null,
  forgotten_at: null,
});
