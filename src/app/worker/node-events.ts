/** What a joined node says by itself: its outbox, the units of the profile `training_node`, and who sends it all on. */
import { dirname } from "node:path";
import {
  connectivityMonitorDaemon,
  createDiskGauge,
  createUsageGauge,
  idleResourceDaemon,
  type NodeLine,
  resourceMonitorDaemon,
  systemSampler,
} from "../../cluster/index.ts";
import { DaemonManager, type Unit } from "../../daemons/index.ts";
import { aborted, createFileHasher, defined, type Edges, OperatingError } from "../../kernel/index.ts";
import { createForwarder } from "../../router/outbox/index.ts";
import { eventsOver, type NodeLink } from "../../surfaces/index.ts";
import {
  autoSync,
  createOrphanSearch,
  type DiskSpace,
  diskSpaceManager,
  type OrphanSearchPorts,
  orphanDetection,
  setOrphanAside,
  sweepPolicy,
  type TransferNews,
  transferVerifier,
} from "../../sync/index.ts";
import { createStructureReader } from "../../workloads/arena/index.ts";
import { isRented } from "../between-rooms/holders.ts";
import type { Settings } from "../settings.ts";
import { openSendingOutbox } from "./node-outbox.ts";
import { runNodeUnit } from "./node-unit.ts";

export interface NodeEventsOptions extends Edges {
  readonly settings: Settings;
  readonly link: NodeLink;
  readonly nodeId: string;
  /** What the worker here does, and how many jobs it does at once. */
  readonly ownWork: () => { readonly running: number; readonly slots: number };
  /** Configs whose jobs keep running out of something here. */
  readonly misfits?: () => readonly string[];
  /** What came of the transfers of this node. */
  readonly news: TransferNews;
  /** Where this node looks for games that no manifest knows. */
  readonly orphans: Pick<OrphanSearchPorts, "folders" | "knows" | "expectsFiles" | "packed">;
  /** Its way to the main process. */
  readonly line: NodeLine;
  /** What frees the files of this node. */
  readonly space: Pick<DiskSpace, "clean" | "tidyLogs">;
}

/** What does not get away in this time is sent after the next start. */
const FINISH_MS = 2_000;

export async function startNodeEvents(options: NodeEventsOptions) {
  const { settings, clock, random, log, link, nodeId, news, ownWork, misfits } = options;
  const { dataDir } = settings;
  const undo = new AsyncDisposableStack();
  try {
    const outbox = await openSendingOutbox({ dataDir, nodeId, bounds: settings.worker.outbox, clock, random, log });
    undo.defer(() => outbox.store.close());
    const forwarder = createForwarder({ outbox, port: eventsOver(link, nodeId), clock, random, log });
    undo.defer(() => forwarder.stop());
    const sampler = systemSampler({ dataDir, clock });
    undo.defer(() => sampler.close());
    const daemons = new DaemonManager({ clock, random, log, nodeId, pid: process.pid, config: settings.daemons });
    undo.defer(async () => void (await daemons.shutdown()));
    const structures = createStructureReader();
    undo.defer(() => structures.close());
    const hasher = createFileHasher((message, code) =>
      OperatingError.internal("FILE_UNREADABLE", `a file could not be read: ${message}`, { details: { code } }),
    );
    undo.defer(() => hasher.close());
    const disk = createDiskGauge();
    const usage = createUsageGauge();
    const units: readonly Unit[] = [
      resourceMonitorDaemon({ nodeId, sampler, settings, disk, usage }),
      idleResourceDaemon({ nodeId, usage, ownWork, ...defined({ misfits }) }),
      diskSpaceManager({
        nodeId,
        space: { ...options.space, measured: disk.measured },
        graces: sweepPolicy(settings.artifacts),
      }),
      autoSync({
        nodeId,
        news,
        isRented: () => isRented(settings.worker.tags),
        stallMs: settings.transfers.stallMs,
      }),
      transferVerifier({ nodeId, news }),
      connectivityMonitorDaemon({ nodeId, line: options.line }),
      orphanDetection({
        nodeId,
        orphanSearch: createOrphanSearch({ ...options.orphans, readStructure: structures.read, hasher }),
        setOrphanAside: (orphan) => setOrphanAside(dirname(orphan.folder), orphan),
      }),
    ];
    for (const unit of units)
      daemons.registerFactory({
        daemonType: unit.name,
        daemonTypes: unit.daemonTypes,
        profiles: unit.profiles,
        async factory({ signal, ready }) {
          const running = runNodeUnit({ unit, outbox, clock, log });
          ready();
          await aborted(signal);
          await running.stop();
        },
      });
    await daemons.startAll({ profile: "training_node" });
    const { waiting, refused } = outbox.status();
    if (waiting + refused > 0) log.info("events of an earlier start are in the outbox", { waiting, refused });
    let finished: Promise<void> | undefined;
    return {
      /** Its supervisor. */
      daemons,
      /** The main process wants to know how idle this node is. */
      tellIdle: () => usage.ask(),
      /** Events that wait here, and those that the main process refused. */
      waiting() {
        const status = outbox.status();
        return { waiting: status.waiting, refused: status.refused };
      },
      /** Emits nothing more, and has a moment to send what waits. Doing it twice is doing it once. */
      finish(): Promise<void> {
        finished ??= (async () => {
          await daemons.shutdown();
          if (outbox.status().waiting > 0) await forwarder.flush(FINISH_MS);
        })();
        return finished;
      },
      close: () => undo.disposeAsync(),
    };
  } catch (thrown) {
    await undo.disposeAsync();
    throw thrown;
  }
}
