import { type ContextOf, defineDaemon, onEach, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import type { Store } from "../../../router/index.ts";
import { dataTypeOf } from "../../artifact.ts";
import type { Archive } from "../../brought/archive.ts";
import { transferNewsLimits } from "../../limits.ts";
import type { TransferNews } from "../../transfer/index.ts";
import { type ArchiveRun, archived, importArchive, newArchiveRun } from "./archive.ts";
import { callSome, isOn, policies, switchPolicies } from "./policies.ts";
import { type PushPorts, pushKeptBack } from "./push.ts";
import { bestConfig, dataScores, noteScore, rankByQuality } from "./quality.ts";
import { bringHomeFromRented, broadcast, type StrategyPorts } from "./strategies.ts";

const wiring = {
  name: "auto_sync",
  layer: 3,
  placement: "each-node",
  profiles: ["coordinator", "training_node"],
  daemonTypes: [
    "AUTO_SYNC",
    "SYNC_COORDINATOR",
    "CLUSTER_DATA_SYNC",
    "EPHEMERAL_SYNC",
    "GOSSIP_SYNC",
    "HIGH_QUALITY_SYNC",
    "SYNC_PUSH",
    "UNIFIED_DATA_PLANE",
    "OWC_IMPORT",
    "S3_NODE_SYNC",
  ],
  alsoKnownAs: ["AutoSyncDaemon", "P2POrchestrator (sync result)", "BandwidthManager", "ClusterTransport"],
  dependsOn: ["event_router"],
  emits: ["GAME_SYNCED", "SYNC_STALLED", "SYNC_NODE_UNREACHABLE"],
} as const satisfies Wiring;

interface Cache {
  copies: number;
  stalls: number;
  unreachable: number;
  /** Rounds since the start. */
  round: number;
  /** How far the import of an archive is. */
  readonly archive: ArchiveRun;
}
type Context = ContextOf<typeof wiring, Cache>;
type Synced = PayloadFor<"GAME_SYNCED">;
type Stalled = PayloadFor<"SYNC_STALLED">;

export interface AutoSyncServices {
  readonly nodeId: string;
  /** Whether this node may vanish at any time. */
  readonly isRented: () => boolean;
  /** Silence after which a transfer takes the next way. */
  readonly stallMs: number;
  /** What came of the transfers of this node. */
  readonly news: TransferNews;
  /** Has a node ask for its orders soon. Only where nodes ask: on a joined node the orders come with the answers. */
  readonly wake?: ((nodeId: string) => void) | undefined;
  /** Where the orders are; only on the coordinator, as all that follows. */
  readonly store?: Pick<Store, "read" | "scan"> | undefined;
  /** What copies there are, and what nodes would like to let go. */
  readonly copies?: PushPorts["copies"] | undefined;
  readonly desk?: PushPorts["desk"] | undefined;
  readonly get?: PushPorts["get"] | undefined;
  /** Every node as a target is judged. */
  readonly planNodes?: StrategyPorts["planNodes"] | undefined;
  /** How games of an archive come in. */
  readonly archive?: Archive | undefined;
}

/**
 * The transfers of this node. What is to be moved stands in the orders: the coordinator gives them to a node when it asks, and has it
 * ask soon when it hears of new ones; the node carries them out on a thread, and here it tells what came of them. Some of its daemon
 * types are policies that one switches on by starting it under their name, and off by starting AUTO_SYNC: GOSSIP_SYNC calls a few nodes
 * with waiting transfers in every round, each in its turn; HIGH_QUALITY_SYNC has the segments with the best score go first;
 * CLUSTER_DATA_SYNC has every node that is able fetch what came in lately; EPHEMERAL_SYNC has rented nodes send home at once what home
 * lacks; SYNC_PUSH brings elsewhere what a node would like to let go; OWC_IMPORT takes games of the watched folder for configs that have
 * few; S3_NODE_SYNC has nodes bring what they hold to their S3 stores; UNIFIED_DATA_PLANE is all but
 * CLUSTER_DATA_SYNC.
 */
export const autoSync = (services: AutoSyncServices, limits = transferNewsLimits) => {
  const { isRented, stallMs, news, wake = () => {} } = services;
  const node_id = services.nodeId as Synced["node_id"];
  /** What it was started as since the last tick. */
  const asked = new Set<string>();

  const followPolicies = async (context: Context): Promise<void> => {
    const { store, copies, desk, get, archive, planNodes } = services;
    if (store === undefined) return;
    if (isOn(context, "GOSSIP_SYNC")) callSome(store, context, wake);
    if (isOn(context, "HIGH_QUALITY_SYNC")) rankByQuality(store, context);
    if (planNodes !== undefined) {
      const ports = { store, nodeId: services.nodeId, planNodes };
      if (isOn(context, "CLUSTER_DATA_SYNC")) broadcast(ports, context);
      if (isOn(context, "EPHEMERAL_SYNC")) bringHomeFromRented(ports, context, wake);
    }
    if (isOn(context, "SYNC_PUSH") && copies !== undefined && desk !== undefined && get !== undefined)
      pushKeptBack({ store, nodeId: services.nodeId, copies, desk, get }, context);
    if (isOn(context, "OWC_IMPORT") && archive !== undefined) await importArchive({ store, archive }, context);
  };

  const emitArrived = ({ emit, cache, afterCommit }: Context): void => {
    const { all, forget } = news.arrived.next(limits.maxEvents);
    for (const { sha256, games, configKey, from } of all)
      emit.GAME_SYNCED({
        artifact_hash: sha256 as Synced["artifact_hash"],
        games,
        source_node_id: from as Synced["source_node_id"],
        node_id,
        ephemeral: isRented(),
        ...(configKey === null ? {} : { config_key: configKey as NonNullable<Synced["config_key"]> }),
      });
    afterCommit(() => {
      forget();
      cache.copies += all.length;
    });
  };

  const emitStalls = ({ emit, cache, afterCommit }: Context): void => {
    const { all, forget } = news.stalls.next(limits.maxEvents);
    for (const { syncId, kinds, transport, nodeId: from, bytes } of all)
      emit.SYNC_STALLED({
        sync_id: syncId as Stalled["sync_id"],
        data_type: dataTypeOf(kinds) as Stalled["data_type"],
        transport,
        idle_seconds: stallMs / 1_000,
        bytes_transferred: bytes,
        node_id,
        ...(from === null ? {} : { source_node_id: from as NonNullable<Stalled["source_node_id"]> }),
      });
    afterCommit(() => {
      forget();
      cache.stalls += all.length;
    });
  };

  const emitUnreachable = ({ emit, cache, afterCommit }: Context): void => {
    const { all, forget } = news.unreachable.next(limits.maxEvents);
    for (const { nodeId, transport, message } of all)
      emit.SYNC_NODE_UNREACHABLE({ node_id: nodeId as Synced["node_id"], transport, error: message });
    afterCommit(() => {
      forget();
      cache.unreachable += all.length;
    });
  };

  return defineDaemon({
    ...wiring,
    state: {
      tables: { policies, dataScores, archived },
      cache: (): Cache => ({ copies: 0, stalls: 0, unreachable: 0, round: 0, archive: newArchiveRun() }),
    },
    startedAs: (daemonType) => void asked.add(daemonType),
    on: {
      ...onEach(["SYNC_REQUEST", "SYNC_RETRY_REQUESTED"], ({ payload }, { afterCommit }: Context) =>
        afterCommit(() => wake(payload.node_id)),
      ),
      HIGH_QUALITY_DATA_AVAILABLE: ({ payload: { config_key, quality_score } }, { rows, now }) =>
        noteScore(rows, now, { config_key, quality_score }),
      QUALITY_SCORE_UPDATED: ({ payload }, { rows, now }) => noteScore(rows, now, payload),
    },
    loop: {
      everyMs: limits.everyMs,
      async tick(context) {
        emitArrived(context);
        emitStalls(context);
        emitUnreachable(context);
        switchPolicies(context, asked);
        await followPolicies(context);
      },
    },
    health: ({ rows, now, cache: { copies, stalls, unreachable } }) => ({
      status: "running",
      message: healthText(
        rows.list(policies).map(([name]) => name),
        stalls,
        unreachable,
      ),
      details: {
        copies,
        stalls,
        unreachable,
        policies: rows.list(policies).map(([name]) => name),
        // Whose games HIGH_QUALITY_SYNC lets go first.
        best_data: bestConfig({ rows, now }) ?? null,
      },
    }),
  });
};

const healthText = (on: readonly string[], stalls: number, unreachable: number): string =>
  [
    ...(on.length === 0 ? [] : [`policies that are on: ${on.join(", ")}`]),
    ...(stalls + unreachable === 0
      ? []
      : [
          `since the start transfers fell silent ${stalls} times and found nobody ${unreachable} times; other ways took their place`,
        ]),
  ].join("; ");
