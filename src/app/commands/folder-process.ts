/**
 * What a main process that is gone would answer, read from its folder: the same handlers over the same views, on a store that
 * refuses to be written. So commands that only look need to know nothing of it.
 */
import { createFleetConsole } from "../../cluster/fleet/index.ts";
import {
  createAlerts,
  createAvailability,
  createRecoveryConsole,
  HealthBook,
  LockStore,
  NodeRegistry,
  nobodyReports,
  nobodysPower,
  noDuties,
  noSigns,
  RecoveryBook,
} from "../../cluster/index.ts";
import { causeOf } from "../../daemons/index.ts";
import { assert, type Clock, createIds, type Random, silentLog } from "../../kernel/index.ts";
import { createPipelineConsole } from "../../pipeline/index.ts";
import type { EventRouter, Store } from "../../router/index.ts";
import type { Answering } from "../../surfaces/commands/index.ts";
import {
  allRoutes,
  answerHere,
  answerOnce,
  type ControlPorts,
  createTokens,
  createWrites,
  type Why,
} from "../../surfaces/index.ts";
import {
  createArtifactCatalog,
  createArtifactConsole,
  createBackups,
  createCopies,
  createSources,
  SyncFacade,
} from "../../sync/index.ts";
import { createWorkServices } from "../../work/index.ts";
import { backupPortsOf } from "../backup/ports.ts";
import { createFleet } from "../between-rooms/fleet.ts";
import { holdersIn } from "../between-rooms/holders.ts";
import { whyConfig } from "../causes/why-config.ts";
import { whyFile } from "../causes/why-file.ts";
import { whyJobOrNode } from "../causes/why-job-or-node.ts";
import type { Settings } from "../settings.ts";
import { storeModules } from "../store-modules.ts";
import { readVersion } from "../version.ts";
import { assertVersions, type FolderReader, openFolder } from "./read-folder.ts";

export interface FolderSurroundings {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly random: Random;
}

const readOnly = ({ read, scan }: FolderReader): Store => ({
  read,
  scan,
  commit: async () => assert(false, "a folder is only read") as never,
  fault: null,
  onFault: () => {},
  close: async () => {},
});

/** Nothing goes on while nothing runs: that comes first, and then what stood in the way before. */
const stopped = (found: Why | undefined, dataDir: string): Why | undefined =>
  found && {
    ...found,
    verdict: `nothing is running on ${dataDir}; before it stopped: ${found.verdict}`,
    cause: causeOf("bad", "nothing_runs", dataDir, `nothing is running on ${dataDir}`, {
      actual: "nothing runs",
      required: "a process that runs on this folder",
      advice: { action: "up", subject: "" },
    }),
    gates: [
      {
        gate: "main process",
        passed: false,
        actual: "nothing runs",
        required: "a process that runs on this folder",
        since: null,
        hint: "Start it with 'ringrift up', or with 'ringrift train' if you train on this machine.",
      },
      ...found.gates,
    ],
  };

function portsOver(store: Store, { settings, clock, random }: FolderSurroundings): ControlPorts {
  const { nodeId: localNodeId, dataDir } = settings;
  const version = readVersion();
  const log = silentLog();
  // Only changes go through it.
  const router = { store } as EventRouter;
  const health = new HealthBook(store);
  const healthOf = (id: string) => health.view(id);
  const book = new NodeRegistry({ store, clock, log, timing: settings.nodes.timing, localNodeId, version, healthOf });
  const recovery = new RecoveryBook(store);
  const availability = createAvailability({
    ...{ nodes: book, health, recovery },
    ...{ signs: noSigns, localNodeId },
  });
  const work = createWorkServices({
    router,
    store,
    clock,
    random,
    listened: () => 0,
    settings: settings.work,
    barred: (node) => availability.barred(node),
    limited: (node) => availability.limited(node),
    excludedKinds: (node) => availability.excludedKinds(node),
    withSameToken: (node) => book.withSameToken(node),
  });
  const catalog = createArtifactCatalog({ store, clock });
  const nodes = () => holdersIn(book, availability, settings.worker.tags);
  const copies = createCopies({ store, nodeId: localNodeId, copies: settings.artifacts.copies, nodes });
  const pipeline = createPipelineConsole({ router, store, clock, queue: work.queue, catalog });
  const library = createArtifactConsole({ store, clock, nodeId: localNodeId, catalog, copies });
  const why = (subject: string) =>
    whyJobOrNode(subject, { queue: work.queue, book, recovery, now: clock.now() }) ??
    whyConfig(subject, pipeline.snapshot(subject), () => []) ??
    whyFile(subject, library);
  return {
    store,
    clock,
    log,
    version,
    alerts: createAlerts({ store, clock }),
    tokens: createTokens(store, clock, log),
    writes: createWrites(store, clock, () => {}),
    work,
    nodes: { book, version, health, availability, reach: nobodyReports },
    nodeId: localNodeId,
    locks: new LockStore({ store, router, clock, listened: () => 0, nodeId: localNodeId }),
    sync: new SyncFacade({
      router,
      store,
      clock,
      log,
      ids: createIds(clock, random),
      nodes: () => [],
      findNode: (name) => book.find(name).node_id,
      nameOf: (nodeId) => book.nameOf(nodeId),
      sources: createSources({ store, clock, nodeId: localNodeId, copies, nodes }),
      nodeId: localNodeId,
    }),
    library,
    backups: createBackups({
      ...backupPortsOf(settings, version, ""),
      store,
      clock,
      ids: createIds(clock, random),
    }),
    recovery: createRecoveryConsole({
      ...{ store, clock, nodes: book, health, recovery, settings },
      ...{ duties: noDuties, power: nobodysPower, reach: nobodyReports },
    }),
    fleet: createFleetConsole(
      createFleet({ settings, store, clock, random, log, cluster: { nodes: book }, work, aloneOn: async () => 0 })
        .fleet,
    ),
    pipeline,
    why: (subject: string) => stopped(why(subject), dataDir),
  } as unknown as ControlPorts;
}

/** When the last thing that is in the journal happened: milliseconds since the epoch. */
const lastSign = ({ read }: FolderReader): number | null => {
  const [newest] = read<{ timestamp: number }>("SELECT timestamp FROM events ORDER BY seq DESC LIMIT 1");
  return newest === undefined ? null : newest.timestamp * 1_000;
};

/** Undefined where no process has ever worked. */
export function openFolderProcess(around: FolderSurroundings): Answering | undefined {
  const reader = openFolder(around.settings.dataDir);
  if (reader === undefined) return undefined;
  try {
    assertVersions(reader, storeModules);
    const raw = answerHere(allRoutes, portsOver(readOnly(reader), around));
    return {
      leftAt: lastSign(reader),
      raw,
      call: async (route, ...input) => answerOnce(route, await raw(route, ...input)),
      read: answerOnce,
      [Symbol.dispose]: () => reader.close(),
    };
  } catch (thrown) {
    reader.close();
    throw thrown;
  }
}
