import { randomBytes } from "node:crypto";
import type { Catalog } from "../events/index.ts";
import { type Clock, type Guard, guarded, type Log, messageOf, type Random } from "../kernel/index.ts";
import type { Store } from "../router/index.ts";
import type { AbsenceRule } from "./alerts/absence.ts";
import { type Alerts, createAlerts, recipientsOf } from "./alerts/alerts.ts";
import { readAlertRules } from "./alerts/rules-file.ts";
import { type AlertSink, logSink, slackSink, webhookSink } from "./alerts/sink.ts";
import { type Availability, createAvailability } from "./availability.ts";
import type { ComponentWork } from "./health/components.ts";
import type { ClusterPort } from "./leadership/index.ts";
import { type ClusterWork, noWork } from "./node-health/cluster-work.port.ts";
import { HealthBook } from "./node-health/health-book.ts";
import type { NodeLine } from "./node-health/node-line.port.ts";
import { type NodeSigns, noSigns } from "./node-health/node-signs.port.ts";
import { createNodeGate, type NodeGate } from "./nodes/node-gate.ts";
import { NodeRegistry } from "./nodes/node-registry.ts";
import type { NodeView } from "./nodes/node-view.ts";
import { ownCapabilities } from "./nodes/own-capabilities.ts";
import { createReachBook, type ReachBook } from "./nodes/reach-book.ts";
import { createRefusals, type Refusals } from "./nodes/refusals.ts";
import { type NodeDuties, noDuties } from "./recovery/node-duties.port.ts";
import { type NodePower, nobodysPower } from "./recovery/node-power.port.ts";
import { RecoveryBook } from "./recovery/recovery-book.ts";
import { createDiskGauge, type DiskGauge } from "./resources/disk-gauge.ts";
import type { ResourceSampler } from "./resources/sample.ts";
import { systemSampler } from "./resources/system-sampler.ts";
import { createIdleRequests, createUsageGauge, type IdleRequests, type UsageGauge } from "./resources/usage-gauge.ts";
import type { AlertSettings, ClusterSettings } from "./settings.ts";

export interface ClusterSurroundings {
  readonly settings: ClusterSettings & { readonly nodeId: string; readonly dataDir: string };
  readonly store: Store;
  readonly clock: Clock;
  /** Milliseconds in which this process listened. */
  readonly listened: () => number;
  readonly random: Random;
  readonly log: Log;
  readonly catalog: Catalog;
  readonly version: string;
  /** What the runtime says of its units; asked only while it runs. */
  readonly work: () => readonly ComponentWork[];
  /** What other rooms know of how nodes work. */
  readonly signs?: NodeSigns;
  /** What the whole cluster does. */
  readonly clusterWork?: ClusterWork;
  /** What nodes are entrusted with. */
  readonly duties?: NodeDuties;
  /** Who can reboot and replace machines; nobody unless said. */
  readonly power?: NodePower;
  /** What the worker of this node does; undefined where none asks for jobs. */
  readonly ownWork?: OwnWork;
  /** Where several coordinators share a log; a coordinator by itself has none. */
  readonly leadership?: LeadershipPort | undefined;
  /** Asked before anything is sent to others. */
  readonly guard?: Guard | undefined;
}

/** What the units of this room see and do of the lease. */
export type LeadershipPort = Pick<ClusterPort, "view" | "trustedForMs" | "timing" | "stepDown">;

/** Jobs that a worker does, and how many it does at once. */
export type OwnWork = () => { readonly running: number; readonly slots: number } | undefined;

/** All that this room keeps while a process runs. Its units, and the surfaces, take it as it is. */
export interface ClusterServices {
  readonly nodeId: string;
  readonly version: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: ClusterSettings;
  readonly nodes: NodeRegistry;
  /** How each node does. */
  readonly health: HealthBook;
  readonly signs: NodeSigns;
  readonly clusterWork: ClusterWork;
  /** The ways of the coordinator to its nodes. */
  readonly line: NodeLine;
  /** Who reaches whom, where nodes look after each other. */
  readonly reach: ReachBook;
  /** What is being done for nodes that are ill. */
  readonly recovery: RecoveryBook;
  readonly duties: NodeDuties;
  readonly power: NodePower;
  /** Who may get work, data and models. */
  readonly availability: Availability;
  /** Where nodes show who they are. */
  readonly gate: NodeGate;
  readonly refusals: Refusals;
  readonly sampler: ResourceSampler;
  /** What was measured of the disk. */
  readonly disk: DiskGauge;
  /** What was measured of this node, and who is to be asked how idle it is. */
  readonly usage: UsageGauge;
  readonly idleRequests: IdleRequests;
  readonly ownWork: OwnWork;
  readonly leadership: LeadershipPort | undefined;
  readonly sinks: readonly AlertSink[];
  /** Rules of the user: which events must not stay away. */
  readonly absence: readonly AbsenceRule[];
  readonly alerts: Alerts;
  readonly work: () => readonly ComponentWork[];
  /** Writes the coordinator's own node down. */
  enterOwnNode(): Promise<void>;
  close(): void;
}

const SEND = { deliver: "an alert" };

/** Where alerts go. The log gets all of them. */
export function alertSinks(settings: AlertSettings, clock: Clock, log: Log, guard?: Guard): AlertSink[] {
  const { webhookUrl, webhookSecret, slackUrl, leastSeverity: minSeverity } = settings;
  const sinks: AlertSink[] = [logSink(log)];
  if (webhookUrl !== undefined)
    sinks.push(
      guarded(
        guard,
        webhookSink({
          url: webhookUrl.reveal(),
          clock,
          minSeverity,
          secret: webhookSecret && (() => webhookSecret.reveal()),
        }),
        SEND,
      ),
    );
  if (slackUrl !== undefined)
    sinks.push(guarded(guard, slackSink({ url: slackUrl.reveal(), clock, minSeverity }), SEND));
  return sinks;
}

/** Nodes dial in: whom the coordinator reaches is who is heard in time, of those that were there lately. */
const lineTo = (nodes: NodeRegistry, reach: Pick<ReachBook, "isLost">): NodeLine => ({
  reach() {
    // Whom the others do not reach either is away: that is not our line.
    const isOther = ({ local, with_token, node_id, state }: NodeView) =>
      !local && !with_token && (state === "online" || !reach.isLost(node_id));
    const others = nodes.list().filter(isOther);
    const isExpected = ({ state }: (typeof others)[number]) =>
      state === "online" || state === "suspect" || state === "dead";
    const peers = others.filter(({ state }) => state === "online").length;
    return { peers, expected: others.filter(isExpected).length };
  },
  failures: () => null,
  reopen: () => undefined,
});

export function createClusterServices(around: ClusterSurroundings): ClusterServices {
  const { settings, store, clock, listened, random, log, catalog, version, work } = around;
  const { signs = noSigns, duties = noDuties, power = nobodysPower, clusterWork = noWork } = around;
  const { ownWork = () => undefined } = around;
  const { nodeId, dataDir } = settings;
  const { rulesFile } = settings.alerts;
  const { timing, maxOfToken } = settings.nodes;
  const health = new HealthBook(store);
  const recovery = new RecoveryBook(store);
  const nodes = new NodeRegistry({
    ...{ store, clock, listened, log, timing, version, maxOfToken },
    localNodeId: nodeId,
    healthOf: (id) => health.view(id),
  });
  const reach = createReachBook({ isOn: settings.p2p.swimEnabled, reports: () => nodes.reports(), timing, clock });
  const sinks = alertSinks(settings.alerts, clock, log, around.guard);
  const sampler = systemSampler({ dataDir, clock });
  return {
    nodeId,
    version,
    store,
    clock,
    random,
    settings,
    nodes,
    health,
    signs,
    recovery,
    clusterWork,
    line: lineTo(nodes, reach),
    reach,
    duties,
    power: guarded(around.guard, power, { carryOut: "the repair of a node" }),
    leadership: around.leadership,
    availability: createAvailability({ nodes, health, recovery, signs, localNodeId: nodeId }),
    gate: createNodeGate({ nodes: nodes, clock, boot: randomBytes(12).toString("hex") }),
    refusals: createRefusals(clock),
    sampler,
    disk: createDiskGauge(),
    usage: createUsageGauge(),
    idleRequests: createIdleRequests(),
    ownWork,
    sinks,
    absence: rulesFile === undefined ? [] : readAlertRules(rulesFile, catalog),
    alerts: createAlerts({ store, clock, recipients: recipientsOf(sinks) }),
    work,
    enterOwnNode: () =>
      nodes
        .ensureLocal(ownCapabilities())
        .catch((thrown: unknown) => log.error("this node was not stored", { error: messageOf(thrown) })),
    close: () => sampler.close(),
  };
}
