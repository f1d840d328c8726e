import type { KeyObject } from "node:crypto";
import { type Clock, didYouMean, type Log, messageOf, OperatingError, sayWhich } from "../../kernel/index.ts";
import { settingDefaults } from "../../kernel/settings/index.ts";
import type { Store } from "../../router/index.ts";
import { nodeSettings } from "../settings.ts";
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
import { type NodeState, nextGuestState, nextState } from "./states.ts";
import type { NodeTiming } from "./timing.ts";
import { assertProtocol, isDeprecated, PROTOCOL } from "./versions.ts";

export interface JoinRequest extends Pick<NodeRow, "label" | "version" | "protocol"> {
  readonly public_key: string;
  readonly capabilities: NodeCapabilities;
}

/** How a node does, as it says with every beat. */
export interface NodeBeat extends Pick<NodeRow, "node_id" | "incarnation" | "version"> {
  readonly capabilities?: NodeCapabilities | undefined;
  readonly load: { readonly running: number; readonly free: NodeCapabilities };
  readonly spool: { readonly waiting: number };
  /** Events that it has kept: on their way, and set aside because they were refused. */
  readonly outbox?: { readonly waiting: number; readonly refused: number } | undefined;
}

/** A worker that comes with a token instead of a key. */
export interface TokenWorker {
  readonly node_id: string;
  readonly tokenId: string;
  /** What the token is called. */
  readonly actor: string;
  readonly address: string;
  readonly capabilities: NodeCapabilities;
}

/** Whose place a name is. */
type TokenPlace = Pick<NodeRow, "token_id" | "node_id">;

/** What of the row is told in another form, or not at all. */
type Untold = "public_key" | "token_id" | "protocol" | "cordon_reason" | "cordoned_at" | "cordoned_by" | "forgotten_at";

/** A node for people and clients. */
export interface NodeView extends Omit<NodeRow, Untold | "capabilities" | "draining"> {
  readonly deprecated: boolean;
  readonly capabilities: NodeCapabilities;
  readonly cordoned: { readonly reason: string; readonly at: number; readonly by: string } | null;
  readonly draining: boolean;
  readonly load: NodeBeat["load"] | null;
  readonly spool: NodeBeat["spool"] | null;
  readonly outbox: NonNullable<NodeBeat["outbox"]> | null;
  /** It is the coordinator's own, and needs no key. */
  readonly local: boolean;
  /** It came with a token instead of a key. */
  readonly with_token: boolean;
}

/** A node as it is stored, and what is known of it in memory only: lost with the process, and soon known again. */
interface Known {
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
}

/** A node whose state is not what is stored: what `membership` writes down and tells. */
export interface NodeEdge {
  readonly row: NodeRow;
  readonly to: NodeState;
  readonly silentMs: number;
}

export interface NodeRegistryOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Milliseconds in which this process listened: silence is counted in them. The clock's own unless said. */
  readonly listened?: () => number;
  readonly log: Log;
  readonly timing: NodeTiming;
  /** The coordinator's own node. */
  readonly localNodeId: string;
  readonly version: string;
  /** Workers that one token may bring under names of their own; the default of the setting unless said. */
  readonly maxOfToken?: number;
}

const MAX_NODES = 20_000;
const TOUCH_EVERY_MS = 60_000;
/** The id of a node that joined with a key, and the start of one. */
const JOINED_ID = /\bn[0-9a-f]{16}\b/g;
const SHORT_ID = /^n[0-9a-f]{3,16}$/;
const shortNodeId = (nodeId: string): string => nodeId.slice(0, 8);

const unknown = (nodeId: string, known: Iterable<string>) =>
  OperatingError.notFound(
    "NODE_NOT_FOUND",
    `there is no node '${nodeId.slice(0, 100)}'.${didYouMean(nodeId, [...known])}`,
    {
      hint: "'ringrift nodes list' lists them.",
    },
  );

/** All nodes: rows that are stored, and signs of life that are not. */
export class NodeRegistry {
  readonly timing: NodeTiming;
  readonly #ports: NodeRegistryOptions;
  readonly #nodes = new Map<string, Known>();
  /** The names under which the workers of each token came. */
  readonly #ofToken = new Map<string, Set<string>>();
  readonly #listened: () => number;
  readonly #startedAt: number;

  constructor(ports: NodeRegistryOptions) {
    this.#ports = ports;
    this.timing = ports.timing;
    this.#listened = ports.listened ?? (() => ports.clock.monotonic());
    this.#startedAt = this.#listened();
    for (const row of storedNodes(ports.store)) this.#enter(row);
  }

  get size(): number {
    return this.#nodes.size;
  }

  row(nodeId: string): NodeRow | undefined {
    return this.#known(nodeId)?.row;
  }

  /** What people call a node: its label, with the start of its id where others have the same. */
  nameOf(nodeId: string): string {
    const row = this.#nodes.get(nodeId)?.row;
    if (row === undefined || row.label === nodeId) return nodeId;
    const isShared = this.#present().some(({ row: { label, node_id } }) => label === row.label && node_id !== nodeId);
    return isShared ? `${row.label} (${shortNodeId(nodeId)})` : row.label;
  }

  /** A text for people, in which nodes that joined stand by their names. */
  named(text: string): string {
    return text.replaceAll(JOINED_ID, (nodeId) => this.nameOf(nodeId));
  }

  /** The node that a name means: its id, the start of it, or a label that only one has. */
  find(name: string): NodeRow {
    return this.#find(name).row;
  }

  /** The coordinator's own node: it has no key, and lives as long as this process. */
  async ensureLocal(capabilities: NodeCapabilities): Promise<void> {
    const { localNodeId, version } = this.#ports;
    const news = { version, capabilities: JSON.stringify(capabilities), forgotten_at: null };
    await this.#put(localNodeId, news, { joined_by: "local" });
    this.heard(localNodeId);
  }

  /** The id that a request to join would have, if it is sound. */
  identify({ public_key, protocol }: Pick<JoinRequest, "public_key" | "protocol">): string {
    assertProtocol(protocol);
    return nodeIdOf(nodeKeyOf(public_key).raw);
  }

  /** `tokenId` is that of a token whose joins nobody counts but this. */
  async join(
    request: JoinRequest,
    by: { readonly actor: string; readonly address: string; readonly tokenId?: string | null },
  ): Promise<NodeRow> {
    assertProtocol(request.protocol);
    const { raw } = nodeKeyOf(request.public_key);
    const nodeId = nodeIdOf(raw);
    if (!this.#nodes.has(nodeId)) this.#assertRoom();
    const { label, version, protocol } = request;
    const { address, tokenId: token_id = null } = by;
    const capabilities = JSON.stringify(request.capabilities);
    const node = await this.#putInPlace(
      nodeId,
      { label, version, protocol, capabilities, address, left_reason: null, forgotten_at: null, token_id },
      { public_key: raw.toString("base64"), joined_by: by.actor },
    );
    node.left = false;
    this.#ports.log.info(`${label} joined`, { node_id: nodeId, version, address });
    return node.row;
  }

  /** A worker with a token is a node from its first claim on: it is listed, and can be cordoned and drained. */
  async enlist({ node_id: nodeId, tokenId, actor, address, capabilities }: TokenWorker): Promise<void> {
    const known = this.#nodes.get(nodeId);
    // With a key, or forgotten a moment ago: it is what it is.
    if (known !== undefined && (!isGuest(known.row) || known.row.forgotten_at !== null)) return;
    const has = widest(known && capabilitiesOf(known.row, known), capabilities);
    const news = { token_id: tokenId, joined_by: actor, capabilities: JSON.stringify(has) };
    const isNews = Object.entries(news).some(([column, value]) => known?.row[column as keyof typeof news] !== value);
    if (isNews) await this.#putInPlace(nodeId, news, { address });
    this.heard(nodeId);
  }

  /** All names under which the workers of a node's token came; undefined for a node with a key. */
  withSameToken(nodeId: string): readonly string[] | undefined {
    const row = this.#nodes.get(nodeId)?.row;
    if (row === undefined || !isGuest(row)) return undefined;
    return [...(this.#ofToken.get(row.token_id) ?? [])].filter((name) => this.row(name)?.public_key === null);
  }

  /** Changes or adds a node of a token, if the token may bring one more. */
  async #putInPlace(nodeId: string, news: NodeChanges & { token_id: string | null }, once: NodeChanges) {
    const { token_id: tokenId } = news;
    const before = this.#nodes.get(nodeId)?.row.token_id;
    if (tokenId === null || before === tokenId) return this.#put(nodeId, news, once);
    await this.#takePlace(tokenId, nodeId);
    try {
      return await this.#put(nodeId, news, once);
    } catch (thrown) {
      this.#leaveToken({ token_id: tokenId, node_id: nodeId });
      throw thrown;
    }
  }

  /** For one more name under a token; where it has too many, the worker goes that left first. */
  async #takePlace(tokenId: string, nodeId: string): Promise<void> {
    const max = this.#ports.maxOfToken ?? settingDefaults(nodeSettings).maxOfToken;
    const names = this.#ofToken.get(tokenId) ?? new Set();
    if (!this.#nodes.has(nodeId)) this.#assertRoom();
    const [gone] = [...names]
      .flatMap((name) => this.#known(name) ?? [])
      .filter(({ row }) => isGuest(row) && row.state === "left")
      .sort((a, b) => a.row.state_since - b.row.state_since);
    if (names.size >= max && gone === undefined)
      throw OperatingError.busy(
        "TOO_MANY_NODES_OF_TOKEN",
        `this token has brought ${names.size} nodes, and ${max} are allowed (nodes.max_of_token)`,
        { hint: "Let each machine keep its name, or create another token." },
      );
    // Taken before anything is awaited: those that come at once count as well.
    this.#enterToken({ token_id: tokenId, node_id: nodeId, forgotten_at: null });
    if (names.size > max) await this.#change(gone!, { forgotten_at: this.#ports.clock.now() });
  }

  /** A sign of life: a request that was proven to be its own. */
  heard(nodeId: string): void {
    const node = this.#nodes.get(nodeId);
    if (node === undefined) return;
    node.heardAt = this.#listened();
    node.seenAt = this.#ports.clock.now();
  }

  async beat(beat: NodeBeat): Promise<NodeRow> {
    const node = this.#known(beat.node_id);
    if (node === undefined) throw unknown(beat.node_id, []);
    this.assertIncarnation(beat.node_id, beat.incarnation);
    node.left = false;
    node.beat = beat;
    node.incarnation = Math.max(node.incarnation, beat.incarnation);
    this.heard(beat.node_id);
    const { row } = node;
    const told = {
      incarnation: Math.max(row.incarnation, beat.incarnation),
      version: beat.version,
      capabilities: beat.capabilities === undefined ? row.capabilities : JSON.stringify(beat.capabilities),
      left_reason: null,
    };
    const news = Object.entries(told).filter(([column, value]) => row[column as keyof typeof told] !== value);
    // Most beats change nothing that is stored, and cost no commit.
    return news.length === 0 ? row : this.#change(node, Object.fromEntries(news));
  }

  /** What an earlier life of a node still says is not believed any more. */
  assertIncarnation(nodeId: string, incarnation: number): void {
    const known = this.#nodes.get(nodeId)?.incarnation ?? 0;
    if (incarnation < known)
      throw OperatingError.conflict("STALE_INCARNATION", `node ${nodeId} has restarted since (${known})`, {
        hint: "Two processes use one identity: stop the older one.",
      });
  }

  async leave(nodeId: string, reason: string): Promise<NodeRow> {
    const node = this.#find(nodeId);
    const row = await this.#change(node, { left_reason: reason });
    node.left = true;
    return row;
  }

  cordon(nodeId: string, { reason, by, drain }: { reason: string; by: string; drain: boolean }): Promise<NodeRow> {
    const cordoned_at = this.#ports.clock.now();
    const changes = { cordon_reason: reason, cordoned_at, cordoned_by: by, draining: drain ? 1 : 0 };
    return this.#change(this.#find(nodeId), changes);
  }

  uncordon(nodeId: string): Promise<NodeRow> {
    const changes = { cordon_reason: null, cordoned_at: null, cordoned_by: null, draining: 0 };
    return this.#change(this.#find(nodeId), changes);
  }

  /** From here on it is nobody; `membership` takes its row away and says so. */
  forget(nodeId: string): Promise<NodeRow> {
    const node = this.#find(nodeId);
    if (node.row.node_id === this.#ports.localNodeId)
      throw OperatingError.conflict("NODE_IS_LOCAL", "the coordinator cannot forget its own node", {
        hint: "To give it no work, cordon it.",
      });
    if (isGuest(node.row) && node.row.state === "online")
      throw OperatingError.conflict(
        "NODE_HAS_TOKEN",
        `${node.row.label} uses the token '${node.row.joined_by}', so it would come back with its next claim`,
        {
          hint: `Revoke its token: 'ringrift token revoke ${node.row.token_id}'. Or give it no new work: 'ringrift nodes cordon'.`,
        },
      );
    return this.#change(node, { forgotten_at: this.#ports.clock.now() });
  }

  /** Why a node gets no work; undefined if it may, or if nobody knows it. */
  barred(nodeId: string): string | undefined {
    const row = this.#nodes.get(nodeId)?.row;
    if (row === undefined) return undefined;
    if (row.forgotten_at !== null) return "it was forgotten";
    if (row.cordon_reason === null) return undefined;
    return `${row.draining === 1 ? "it is being drained" : "it is cordoned"}: ${row.cordon_reason}`;
  }

  /** Nodes that are there and may have work. */
  working(): string[] {
    return this.#present()
      .map(({ row }) => row)
      .filter(({ state, node_id }) => state === "online" && this.barred(node_id) === undefined)
      .map(({ node_id }) => node_id)
      .sort();
  }

  /** The key of a node, and what it may no longer say. */
  session(
    nodeId: string,
  ): { key: KeyObject; incarnation: number; begin(incarnation: number): ReplayWindow } | undefined {
    const node = this.#known(nodeId);
    if (node === undefined || node.row.public_key === null) return undefined;
    node.key ??= nodeKeyOf(node.row.public_key).key;
    return {
      key: node.key,
      incarnation: node.incarnation,
      begin(incarnation) {
        if (incarnation > node.incarnation) {
          node.incarnation = incarnation;
          node.window = createReplayWindow();
        }
        return node.window;
      },
    };
  }

  /** Nodes whose state is no longer what is stored. */
  edges(): NodeEdge[] {
    const now = this.#listened();
    this.heard(this.#ports.localNodeId);
    const listenedMs = now - this.#startedAt;
    return this.#present().flatMap(({ row, heardAt, left }) => {
      const silentMs = heardAt === undefined ? null : Math.max(0, now - heardAt);
      const signs = { state: row.state, silentMs, listenedMs, left };
      const to = isGuest(row) ? nextGuestState(signs, this.timing) : nextState(signs, this.timing);
      return to === row.state ? [] : [{ row, to, silentMs: silentMs ?? listenedMs }];
    });
  }

  /** Those that were forgotten, or that have been gone for so long that nobody waits for them. */
  gone(): { readonly row: NodeRow; readonly reason: string }[] {
    const before = this.#ports.clock.now() - this.timing.purgeMs;
    return [...this.#nodes.values()].flatMap(({ row }) => {
      if (row.forgotten_at !== null) return [{ row, reason: "an operator forgot it" }];
      const away = row.state === "dead" || row.state === "left" || row.state === "joined";
      return away && row.state_since < before && row.node_id !== this.#ports.localNodeId
        ? [{ row, reason: `it has been ${row.state} for ${Math.round(this.timing.purgeMs / 86_400_000)} days` }]
        : [];
    });
  }

  /** What `membership` has written down. */
  settled(nodeId: string, changes: NodeChanges): void {
    const node = this.#nodes.get(nodeId);
    if (node === undefined) return;
    this.#leaveToken(node.row);
    node.row = { ...node.row, ...changes };
    this.#enterToken(node.row);
  }

  dropped(nodeId: string): void {
    this.#leaveToken(this.#nodes.get(nodeId)?.row);
    this.#nodes.delete(nodeId);
  }

  /** Signs of life that are worth writing down, so that one knows after a restart when each was last heard. */
  async saveSeen(): Promise<void> {
    const now = this.#ports.clock.now();
    const due = [...this.#nodes.values()].filter(
      ({ seenAt, touchedAt }) => seenAt !== null && seenAt > touchedAt && now - touchedAt >= TOUCH_EVERY_MS,
    );
    if (due.length === 0) return;
    const seen = due.map(({ row, seenAt }) => ({ nodeId: row.node_id, at: seenAt! }));
    for (const node of due) node.touchedAt = now;
    await this.#ports.store
      .commit([touchNodes(seen)])
      .catch((thrown: unknown) =>
        this.#ports.log.warn("signs of life were not written down", { error: messageOf(thrown) }),
      );
    for (const { nodeId, at } of seen) this.settled(nodeId, { last_seen_at: at });
  }

  view(row: NodeRow): NodeView {
    const node = this.#nodes.get(row.node_id);
    const { public_key, token_id, protocol, cordon_reason, cordoned_at, cordoned_by, forgotten_at, ...told } = row;
    return {
      ...told,
      deprecated: isDeprecated(row.version, this.#ports.version),
      capabilities: capabilitiesOf(row, node),
      last_seen_at: node?.seenAt ?? row.last_seen_at,
      cordoned:
        cordon_reason === null ? null : { reason: cordon_reason, at: cordoned_at ?? 0, by: cordoned_by ?? "unknown" },
      draining: row.draining === 1,
      load: node?.beat?.load ?? null,
      spool: node?.beat?.spool ?? null,
      outbox: node?.beat?.outbox ?? null,
      local: row.node_id === this.#ports.localNodeId,
      with_token: isGuest(row),
    };
  }

  list(): NodeView[] {
    return this.#present()
      .map(({ row }) => this.view(row))
      .sort((a, b) => (a.node_id < b.node_id ? -1 : 1));
  }

  /** How many nodes there are in each state. */
  counts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { row } of this.#present()) counts[row.state] = (counts[row.state] ?? 0) + 1;
    return counts;
  }

  /** All but those that were forgotten. */
  #present(): Known[] {
    return [...this.#nodes.values()].filter(({ row }) => row.forgotten_at === null);
  }

  #known(nodeId: string): Known | undefined {
    const node = this.#nodes.get(nodeId);
    return node?.row.forgotten_at === null ? node : undefined;
  }

  #find(name: string): Known {
    const direct = this.#known(name);
    if (direct !== undefined) return direct;
    const present = this.#present();
    const called = present.filter(({ row }) => row.label === name);
    // As short as it is printed, and no shorter than it can be told from a word.
    const begun = SHORT_ID.test(name) ? present.filter(({ row }) => row.node_id.startsWith(name)) : [];
    const [labelled, ...others] = called.length > 0 ? called : begun;
    if (labelled === undefined)
      throw unknown(
        name,
        present.flatMap(({ row }) => [row.node_id, row.label]),
      );
    if (others.length > 0)
      throw OperatingError.conflict("NODE_AMBIGUOUS", `${others.length + 1} nodes are called '${name}'`, {
        hint: sayWhich([labelled, ...others].map(({ row }) => row.node_id)),
      });
    return labelled;
  }

  #enter(row: NodeRow): Known {
    const node: Known = {
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
    };
    this.#nodes.set(row.node_id, node);
    this.#enterToken(row);
    return node;
  }

  #assertRoom(): void {
    if (this.#nodes.size >= MAX_NODES)
      throw OperatingError.conflict("TOO_MANY_NODES", `there are ${MAX_NODES} nodes`, {
        hint: "Remove nodes that are gone: 'ringrift nodes forget <node>'.",
      });
  }

  #enterToken({ token_id: tokenId, node_id, forgotten_at }: TokenPlace & Pick<NodeRow, "forgotten_at">): void {
    if (tokenId === null || forgotten_at !== null) return;
    const names = this.#ofToken.get(tokenId) ?? new Set();
    this.#ofToken.set(tokenId, names.add(node_id));
  }

  #leaveToken(row: TokenPlace | undefined): void {
    if (row === undefined || row.token_id === null) return;
    const names = this.#ofToken.get(row.token_id);
    names?.delete(row.node_id);
    if (names?.size === 0) this.#ofToken.delete(row.token_id);
  }

  /** Changes a node, or adds it with what is only said once. */
  async #put(nodeId: string, news: NodeChanges, once: NodeChanges): Promise<Known> {
    const known = this.#nodes.get(nodeId);
    if (known !== undefined) {
      await this.#change(known, news);
      return known;
    }
    const row = { ...freshRow(nodeId, this.#ports.clock.now()), ...news, ...once };
    await this.#ports.store.commit([addNode(row)]);
    // Two that joined at once are one.
    return this.#nodes.get(nodeId) ?? this.#enter(row);
  }

  async #change({ row: { node_id: nodeId } }: Known, changes: NodeChanges): Promise<NodeRow> {
    await this.#ports.store.commit([changeNode({ nodeId, changes })]);
    this.settled(nodeId, changes);
    const node = this.#nodes.get(nodeId);
    if (node === undefined) throw unknown(nodeId, []);
    return node.row;
  }
}

/** It came with a token instead of a key. */
export const isGuest = (row: NodeRow): row is NodeRow & { readonly token_id: string } =>
  row.public_key === null && row.token_id !== null;

function capabilitiesOf({ capabilities: text }: NodeRow, node: Known | undefined): NodeCapabilities {
  if (node?.read?.text === text) return node.read.value;
  const value = JSON.parse(text) as NodeCapabilities;
  if (node !== undefined) node.read = { text, value };
  return value;
}

/** What a worker has, from what it has free: the most that it ever offered. */
function widest(before: NodeCapabilities | undefined, offer: NodeCapabilities): NodeCapabilities {
  if (before === undefined) return offer;
  const most = (of: "cpu" | "gpu" | "memory_gb" | "gpu_memory_gb") => Math.max(before[of], offer[of]);
  return {
    ...offer,
    cpu: most("cpu"),
    gpu: most("gpu"),
    memory_gb: most("memory_gb"),
    gpu_memory_gb: most("gpu_memory_gb"),
  };
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
  token_id: null,
  last_seen_at: null,
  address: null,
  cordon_reason: null,
  cordoned_at: null,
  cordoned_by: null,
  draining: 0,
  left_reason: null,
  forgotten_at: null,
});
