import type { KeyObject } from "node:crypto";
import { type Clock, type Log, messageOf, OperatingError } from "../../kernel/index.ts";
import { settingDefaults } from "../../kernel/settings/index.ts";
import type { Store } from "../../router/index.ts";
import type { NodeHealthView } from "../node-health/health-book.ts";
import { nodeSettings } from "../settings.ts";
import { type HostPolicy, hostPolicyIn } from "./host-policy.ts";
import { nodeIdOf, nodeKeyOf } from "./identity.ts";
import { type KnownNode, KnownNodes, type NodeBeat } from "./known-nodes.ts";
import { nodeCalled, unknownNode, withNodeNames } from "./node-names.ts";
import { isGuest, type NodeCapabilities, type NodeChanges, type NodeRow, touchNodes } from "./node-rows.ts";
import type { NodeSetting, ReportedSettings } from "./node-settings.ts";
import { capabilitiesOf, type NodeView, nodeView, widest } from "./node-view.ts";
import { changedStates, type GoneNode, goneNodes, heardSince, type NodeEdge } from "./presence.ts";
import type { KeptReport } from "./reach-book.ts";
import { createReplayWindow, type ReplayWindow } from "./replay-window.ts";
import type { NodeTiming } from "./timing.ts";
import { firstToHaveLeft } from "./token-places.ts";
import { assertProtocol } from "./versions.ts";

export interface JoinRequest extends Pick<NodeRow, "label" | "version" | "protocol"> {
  readonly public_key: string;
  readonly capabilities: NodeCapabilities;
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
  /** How each node does; all do well unless said. */
  readonly healthOf?: (nodeId: string) => NodeHealthView;
  /** Workers that one token may bring under names of their own; the default of the setting unless said. */
  readonly maxOfToken?: number;
}

const MAX_NODES = 20_000;
const WELL: NodeHealthView = { condition: "healthy", reason: null, since: null };

/** Who let the own node of a coordinator in. */
const LOCAL = "local";

/** All nodes, as everybody sees them: who joins, beats, leaves, is cordoned or forgotten, and who is there. */
export class NodeRegistry {
  readonly timing: NodeTiming;
  readonly #ports: NodeRegistryOptions;
  readonly #nodes: KnownNodes;
  readonly #listened: () => number;
  readonly #startedAt: number;

  constructor(ports: NodeRegistryOptions) {
    this.#ports = ports;
    this.timing = ports.timing;
    this.#listened = ports.listened ?? (() => ports.clock.monotonic());
    this.#startedAt = this.#listened();
    this.#nodes = new KnownNodes(ports.store, ports.clock);
  }

  get size(): number {
    return this.#nodes.size;
  }

  row(nodeId: string): NodeRow | undefined {
    return this.#nodes.get(nodeId)?.row;
  }

  /** What people call a node: its label, with the start of its id where others have the same. */
  nameOf(nodeId: string): string {
    const row = this.#nodes.any(nodeId)?.row;
    return row === undefined ? nodeId : this.#nodes.labels.nameOf(row);
  }

  /** A text for people, in which nodes that joined stand by their names. */
  named(text: string): string {
    return withNodeNames(text, (nodeId) => this.nameOf(nodeId));
  }

  /** The node that a name means: its id, the start of it, or a label that only one has. */
  find(name: string): NodeRow {
    return this.#find(name).row;
  }

  /** The coordinator's own node: it has no key, and lives as long as this process. */
  async ensureLocal(capabilities: NodeCapabilities): Promise<void> {
    const { localNodeId, version } = this.#ports;
    const news = { version, capabilities: JSON.stringify(capabilities), forgotten_at: null, left_reason: null };
    const own = await this.#nodes.put(localNodeId, news, { joined_by: LOCAL });
    own.left = false;
    this.heard(localNodeId);
    // Of several coordinators only the one that leads is a node by itself: whoever led before is missed by nobody.
    for (const { row } of this.#nodes.present())
      if (row.joined_by === LOCAL && row.node_id !== localNodeId && row.left_reason === null)
        await this.leave(row.node_id, "another coordinator leads");
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
    if (this.#nodes.any(nodeId) === undefined) this.#assertRoom();
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
    const known = this.#nodes.any(nodeId);
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
    const row = this.#nodes.any(nodeId)?.row;
    if (row === undefined || !isGuest(row)) return undefined;
    return [...this.#nodes.tokens.names(row.token_id)].filter((name) => this.row(name)?.public_key === null);
  }

  /** A sign of life: a request that was proven to be its own. */
  heard(nodeId: string): void {
    const node = this.#nodes.any(nodeId);
    if (node === undefined) return;
    node.heardAt = this.#listened();
    node.seenAt = this.#ports.clock.now();
  }

  async beat(beat: NodeBeat): Promise<NodeRow> {
    const node = this.#nodes.get(beat.node_id);
    if (node === undefined) throw unknownNode(beat.node_id, []);
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
    return news.length === 0 ? row : this.#nodes.change(node, Object.fromEntries(news));
  }

  /** The settings that a node has set, as its worker found them at its start. */
  async reportSettings(nodeId: string, incarnation: number, settings: readonly NodeSetting[]): Promise<void> {
    const node = this.#nodes.get(nodeId);
    if (node === undefined) throw unknownNode(nodeId, []);
    this.assertIncarnation(nodeId, incarnation);
    const text = JSON.stringify(settings);
    if (node.row.settings !== text) await this.#nodes.change(node, { settings: text });
  }

  /** The same of all nodes that have reported them. */
  settings(): ReportedSettings[] {
    return this.#nodes
      .present()
      .flatMap(({ row: { node_id, version, settings } }) =>
        settings === null ? [] : [{ node: this.nameOf(node_id), version, settings: JSON.parse(settings) }],
      );
  }

  /** What an earlier life of a node still says is not believed any more. */
  assertIncarnation(nodeId: string, incarnation: number): void {
    const known = this.#nodes.any(nodeId)?.incarnation ?? 0;
    if (incarnation < known)
      throw OperatingError.conflict("STALE_INCARNATION", `node ${nodeId} has restarted since (${known})`, {
        hint: "Two processes use one identity: stop the older one.",
      });
  }

  /** The key of a node, and what it may no longer say. */
  session(
    nodeId: string,
  ): { key: KeyObject; incarnation: number; begin(incarnation: number): ReplayWindow } | undefined {
    const node = this.#nodes.get(nodeId);
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

  async leave(nodeId: string, reason: string): Promise<NodeRow> {
    const node = this.#find(nodeId);
    const row = await this.#nodes.change(node, { left_reason: reason });
    node.left = true;
    return row;
  }

  cordon(nodeId: string, { reason, by, drain }: { reason: string; by: string; drain: boolean }): Promise<NodeRow> {
    const cordoned_at = this.#ports.clock.now();
    const changes = { cordon_reason: reason, cordoned_at, cordoned_by: by, draining: drain ? 1 : 0 };
    return this.#nodes.change(this.#find(nodeId), changes);
  }

  uncordon(nodeId: string): Promise<NodeRow> {
    const changes = { cordon_reason: null, cordoned_at: null, cordoned_by: null, draining: 0 };
    return this.#nodes.change(this.#find(nodeId), changes);
  }

  /** What its operators allow a host from now on; null: everything. */
  allow(nodeId: string, policy: Omit<HostPolicy, "at"> | null): Promise<NodeRow> {
    const text = policy === null ? null : JSON.stringify({ ...policy, at: this.#ports.clock.now() });
    return this.#nodes.change(this.#find(nodeId), { policy: text });
  }

  /** What they allow it; null where they have said nothing. */
  policyOf(nodeId: string): HostPolicy | null {
    return hostPolicyIn(this.#nodes.any(nodeId)?.row);
  }

  /** From here on it is nobody; `membership` takes its row away and says so. */
  async forget(nodeId: string, dryRun = false): Promise<NodeRow> {
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
    return dryRun ? node.row : await this.#nodes.change(node, { forgotten_at: this.#ports.clock.now() });
  }

  /** What operators decided against a node; undefined if it may have work, or if nobody knows it. */
  barred(nodeId: string): string | undefined {
    const row = this.#nodes.any(nodeId)?.row;
    if (row === undefined) return undefined;
    if (row.forgotten_at !== null) return "it was forgotten";
    if (row.cordon_reason === null) return undefined;
    return `${row.draining === 1 ? "it is being drained" : "it is cordoned"}: ${row.cordon_reason}`;
  }

  /** Nodes whose state is no longer what is stored. `isLost`: whom others do not reach either. */
  edges(isLost: (nodeId: string) => boolean = () => false): NodeEdge[] {
    this.heard(this.#ports.localNodeId);
    const { timing } = this;
    return changedStates(this.#nodes.present(), { now: this.#listened(), startedAt: this.#startedAt, timing, isLost });
  }

  /** What nodes have said with their last beats of whom they reach. */
  reports(): KeptReport[] {
    const now = this.#listened();
    return this.#nodes
      .present()
      .flatMap(({ row: { node_id: nodeId, address }, incarnation, heardAt, left, beat }) =>
        beat?.swim === undefined || left || heardAt === undefined
          ? []
          : [{ nodeId, incarnation, address, silentMs: now - heardAt, report: beat.swim }],
      );
  }

  /** Those that were forgotten, or that have been gone for so long that nobody waits for them. */
  gone(): GoneNode[] {
    const { clock, localNodeId } = this.#ports;
    return goneNodes(this.#nodes.all(), { now: clock.now(), purgeMs: this.timing.purgeMs, localNodeId });
  }

  /** What `membership` has written down. */
  settled(nodeId: string, changes: NodeChanges): void {
    this.#nodes.settled(nodeId, changes);
  }

  dropped(nodeId: string): void {
    this.#nodes.dropped(nodeId);
  }

  /** Writes signs of life down, so that one knows after a restart when each was last heard. */
  async saveSeen(): Promise<void> {
    const { clock, store, log } = this.#ports;
    const now = clock.now();
    const due = heardSince(this.#nodes.all(), now);
    if (due.length === 0) return;
    const seen = due.map(({ row, seenAt }) => ({ nodeId: row.node_id, at: seenAt! }));
    for (const node of due) node.touchedAt = now;
    await store
      .commit([touchNodes(seen)])
      .catch((thrown: unknown) => log.warn("heartbeats were not stored", { error: messageOf(thrown) }));
    for (const { nodeId, at } of seen) this.settled(nodeId, { last_seen_at: at });
  }

  view(row: NodeRow): NodeView {
    const { localNodeId, version, healthOf = () => WELL } = this.#ports;
    return nodeView(row, this.#nodes.any(row.node_id), { localNodeId, version, healthOf });
  }

  list(): NodeView[] {
    return this.#nodes
      .present()
      .map(({ row }) => this.view(row))
      .sort((a, b) => (a.node_id < b.node_id ? -1 : 1));
  }

  /** How many nodes there are in each state. */
  counts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { row } of this.#nodes.present()) counts[row.state] = (counts[row.state] ?? 0) + 1;
    return counts;
  }

  #find(name: string): KnownNode {
    return this.#nodes.get(name) ?? nodeCalled(name, this.#nodes.present());
  }

  #assertRoom(): void {
    if (this.#nodes.size >= MAX_NODES)
      throw OperatingError.conflict("TOO_MANY_NODES", `there are ${MAX_NODES} nodes`, {
        hint: "Remove nodes that are gone: 'ringrift nodes forget <node>'.",
      });
  }

  /** Changes or adds a node of a token, if the token may bring one more. */
  async #putInPlace(nodeId: string, news: NodeChanges & { token_id: string | null }, once: NodeChanges) {
    const { token_id: tokenId } = news;
    const before = this.#nodes.any(nodeId)?.row.token_id;
    if (tokenId === null || before === tokenId) return this.#nodes.put(nodeId, news, once);
    await this.#takePlace(tokenId, nodeId);
    try {
      return await this.#nodes.put(nodeId, news, once);
    } catch (thrown) {
      this.#nodes.tokens.leave({ token_id: tokenId, node_id: nodeId });
      throw thrown;
    }
  }

  /** For one more name under a token; where it has too many, the worker goes that left first. */
  async #takePlace(tokenId: string, nodeId: string): Promise<void> {
    const max = this.#ports.maxOfToken ?? settingDefaults(nodeSettings).maxOfToken;
    const { tokens } = this.#nodes;
    const names = [...tokens.names(tokenId)];
    if (this.#nodes.any(nodeId) === undefined) this.#assertRoom();
    const gone = firstToHaveLeft(names.flatMap((name) => this.#nodes.get(name) ?? []));
    if (names.length >= max && gone === undefined)
      throw OperatingError.busy(
        "TOO_MANY_NODES_OF_TOKEN",
        `this token has brought ${names.length} nodes, and ${max} are allowed (nodes.max_of_token)`,
        { hint: "Let each machine keep its name, or create another token." },
      );
    // Taken before anything is awaited: those that come at once count as well.
    tokens.enter({ token_id: tokenId, node_id: nodeId, forgotten_at: null });
    if (tokens.names(tokenId).size > max) await this.#nodes.change(gone!, { forgotten_at: this.#ports.clock.now() });
  }
}
