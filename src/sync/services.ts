import type { Chore } from "../daemons/index.ts";
import {
  type Clock,
  createFileHasher,
  type Ids,
  isOperatingError,
  type Log,
  messageOf,
  OperatingError,
} from "../kernel/index.ts";
import type { EventRouter, Store } from "../router/index.ts";
import { ARTIFACT_STORE, createArtifactInspector } from "./artifact-inspector.ts";
import type { ArtifactStore } from "./artifact-store.ts";
import { ARTIFACT_AWAITED, awaitedFiles } from "./awaited-files.ts";
import { type Backups, type BackupsPorts, createBackups } from "./backup/backups.ts";
import { type Archive, createArchive } from "./brought/archive.ts";
import { type Brought, createBrought } from "./brought/brought.ts";
import { createImports, type Imports } from "./brought/imports.ts";
import { type ReadSegments, type ReadStructure, readNothing } from "./brought/structure.ts";
import { type ArtifactCatalog, createArtifactCatalog } from "./catalog.ts";
import { type ArtifactConsole, createArtifactConsole } from "./console.ts";
import { aloneOn } from "./copies/alone.ts";
import { type Copies, type CopiesPorts, createCopies } from "./copies/copies.ts";
import { createNodeDesk, type DeskPorts, type NodeDesk } from "./copies/node-desk.ts";
import type { CopyPolicy } from "./copies/policy.ts";
import { type Cleaning, type DiskSpace, type DiskView, lastCleanup } from "./disk-space.ts";
import { SyncFacade } from "./facade/facade.ts";
import type { PlanNode } from "./facade/plan.ts";
import { planNodesOf } from "./facade/plan-nodes.ts";
import type { Distribution, SyncBatch } from "./inspection-runs.ts";
import { MAX_READ_BYTES, SCRUB_EVERY_MS, SWEEPS_IN_A_ROW } from "./limits.ts";
import { createMemberDesk, type MemberDesk } from "./members/member-desk.ts";
import { createOrphanSearch, type OrphanFolder } from "./orphans/find-orphans.ts";
import { knownFiles } from "./orphans/known-files.ts";
import { setOrphanAside } from "./orphans/set-aside.ts";
import { createSources, type Sources, type SourcesPorts } from "./sources/sources.ts";
import { createSpreadView, type SpreadPorts, type SpreadView } from "./spread.ts";
import { createSweeper, type SweepPolicy, sweepPolicy } from "./sweep.ts";
import { createTransferNews, type TransferNews, transferDefaults } from "./transfer/index.ts";
import type { Wanted } from "./transport.port.ts";
import { policiesIn } from "./units/auto-sync/policies.ts";
import type { BackupPace } from "./units/backup/decide.ts";
import type { DiskSpaceServices } from "./units/disk-space-manager/disk-space-manager.unit.ts";
import type { OrphanServices } from "./units/orphan-detection/orphan-detection.unit.ts";
import { troubledHosts } from "./units/sync-coordinator/tables.ts";

/** How the background looks at files: how often, how many at once, and how long one that was sound is left alone. */
export interface ScrubPace {
  readonly everyMs: number;
  readonly againMs: number;
  readonly max: number;
}

export interface SyncSurroundings extends Pick<CopiesPorts, "copies" | "nodes"> {
  readonly router: EventRouter;
  readonly store: Store;
  readonly files: ArtifactStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeId: string;
  readonly ids: Ids;
  /** The node that a name means; throws for one that nobody knows. */
  readonly findNode: (name: string) => string;
  readonly scrub?: ScrubPace | undefined;
  /** How long what nobody holds stays. */
  readonly policy?: Partial<SweepPolicy>;
  /** What the way of champions to the nodes needs to know. */
  readonly spread: SpreadPorts;
  /** What was measured of the disk here, and the log that grows on it. */
  readonly disk?: Pick<DiskSpace, "measured" | "tidyLogs">;
  /** What is backed up, where, how and how often; nowhere unless given. */
  readonly backup?: Omit<BackupsPorts, "store" | "clock" | "ids"> & { readonly pace: BackupPace };
  /** Where files of games are looked for that no manifest knows, and who knows files beside the catalog; nowhere unless given. */
  readonly orphans?: {
    readonly folders: readonly OrphanFolder[];
    readonly inResults: (sha256s: readonly string[]) => Promise<readonly string[]>;
  };
  /** Reads files of others on a thread; nothing is known of any format unless given. */
  readonly readStructure?: ReadStructure;
  /** What files of others become; without it nothing is taken from an archive. */
  readonly readSegments?: ReadSegments | undefined;
  /** The names of all coordinators of the cluster, also of those that are away; not given for one by itself. */
  readonly coordinators?: (() => readonly string[]) | undefined;
  /** How nodes fetch from each other; without it they fetch from here alone. */
  readonly between?: (Pick<SourcesPorts, "ticketKey" | "home"> & Pick<DeskPorts, "onRefused" | "heard">) | undefined;
}

/** All that this room keeps while a process runs. What is asked for here is done behind the asker's back, and emitted. */
export interface SyncServices {
  readonly catalog: ArtifactCatalog;
  readonly handOver: {
    /** Verifies and registers the files of a batch: DATA_SYNC_*. */
    syncBatch(batch: SyncBatch): void;
    /** Makes a model available to whoever plays: MODEL_DISTRIBUTION_*. */
    distribute(model: Distribution): void;
  };
  /** What people ask about artifacts and decide about them. */
  readonly console: ArtifactConsole;
  /** Where joined nodes say what they hold. */
  readonly desk: NodeDesk;
  /** Where the other coordinators do. */
  readonly members: MemberDesk | undefined;
  /** How many files lie nowhere but on this node, as far as they are counted. */
  readonly aloneOn: (nodeId: string) => Promise<number>;
  /** Where one asks that files be brought to nodes. */
  readonly facade: SyncFacade;
  /** How far champions are on their way to the nodes. */
  readonly spread: SpreadView;
  /** How full the disk here is, and what was freed. */
  disk(): DiskView;
  /** Where one asks for backups. */
  readonly backups: Backups;
  /** Files that came by no job of ours. */
  readonly brought: Brought;
  /** Where files that were made elsewhere are handed in. */
  readonly imports: Imports;
  /** Looks at the bytes of files again. */
  verify(sha256s: readonly string[]): void;
  /** A whole file, after a look at its bytes: one that is damaged is not read, and one that is gone is not waited for. */
  readArtifact(file: Wanted): Promise<Uint8Array>;
  readonly chores: readonly Chore[];
  readonly units: SyncUnitServices;
  close(): void;
}

/** What the units of this room work with. */
export interface SyncUnitServices extends DiskSpaceServices, SpreadPorts, OrphanServices {
  readonly backups: Backups;
  readonly backupPace: BackupPace;
  readonly store: Store;
  readonly copies: Copies;
  /** From whom nodes fetch. */
  readonly sources: Sources;
  readonly desk: NodeDesk;
  readonly policy: CopyPolicy;
  /** Every node as a target is judged. */
  readonly planNodes: () => readonly PlanNode[];
  readonly get: ArtifactCatalog["get"];
  /** What came of transfers to this node. */
  readonly news: TransferNews;
  readonly isRented: () => boolean;
  readonly stallMs: number;
  readonly wake: (nodeId: string) => void;
  readonly archive: Archive | undefined;
}

/** What is asked again and again until it is done: one at a time of a name, and a failure is logged, not thrown. */
function once(log: Log, what: string): (name: string, run: () => Promise<unknown>) => void {
  const running = new Set<string>();
  /** That files are on their way is said once. */
  const waiting = new Set<string>();
  const failed = (name: string, thrown: unknown): void => {
    const error = messageOf(thrown);
    if (!isOperatingError(thrown, ARTIFACT_AWAITED)) log.error(`${what} failed; it is tried again`, { name, error });
    else if (!waiting.has(name)) log.info(`${what} waits`, { name, why: error });
    if (isOperatingError(thrown, ARTIFACT_AWAITED)) waiting.add(name);
  };
  return (name, run) => {
    if (running.has(name)) return;
    running.add(name);
    run()
      .then(
        () => waiting.delete(name),
        (thrown: unknown) => failed(name, thrown),
      )
      .finally(() => running.delete(name));
  };
}

/** Whether files of the catalog lie on a node. */
const EXPECTED = "SELECT 1 FROM sync_held WHERE node_id = ? AND state = 'held' LIMIT 1";

const unreadableFile = (message: string, code?: string) =>
  OperatingError.internal("FILE_UNREADABLE", `a file could not be read: ${message}`, {
    retryable: true,
    details: { code },
  });

const nowhere = async (): Promise<never> => {
  throw OperatingError.invalid("BACKUP_NO_PLACE", "no place for backups is set");
};
const NO_BACKUPS: NonNullable<SyncSurroundings["backup"]> = {
  places: [],
  secret: undefined,
  folder: { nodeId: "", version: "", dataDir: "", database: "", artifacts: "", otherFiles: [] },
  retention: { keep: 1, keepMs: 0 },
  scratch: "",
  run: nowhere,
  drill: nowhere,
  pace: { everyMs: Number.POSITIVE_INFINITY, drillEveryMs: Number.POSITIVE_INFINITY },
};

/** Whoever has so many alone has enough to wait for. */
const MAX_ALONE = 1_000;

/** One of several coordinators counts the copies of the others among those of the nodes. */
function withMembers(given: SyncSurroundings, counting: () => readonly string[]) {
  const { store, clock, nodeId, coordinators } = given;
  if (coordinators === undefined) return { members: undefined, surroundings: given };
  const members = createMemberDesk({ store, clock, nodeId, members: coordinators, counting });
  return { members, surroundings: { ...given, nodes: () => members.among(given.nodes()) } };
}

export function createSyncServices(given: SyncSurroundings): SyncServices {
  const { members, surroundings } = withMembers(given, () => copies.counting());
  const { files, log, scrub } = surroundings;
  const catalog = createArtifactCatalog(surroundings);
  /** Where there are several coordinators a file may lie at another one for a while. */
  const isAwaited = (sha256: string): boolean => {
    const row = members === undefined ? undefined : catalog.get(sha256);
    return row !== undefined && row.freed_at === null && members!.awaits(row);
  };
  const inspector = createArtifactInspector({ ...surroundings, catalog, isAwaited });
  const sweeper = createSweeper(surroundings);
  const copies: Copies = createCopies(surroundings);
  const sync = once(log, "looking through a batch of files");
  const spread = once(log, "handing out a model");
  const look = once(log, "looking at files again");
  const verify = (sha256s: readonly string[]) => look(sha256s.join(), () => inspector.verify(sha256s));
  /** Everything that one clean-up may take away, call by call, so that nobody waits long for the writer. */
  const clean = async (how: Cleaning, signal: AbortSignal) => {
    const done = { sha256s: [] as string[], bytes: 0, fromQuarantine: 0 };
    for (let calls = 0, more = true; more && calls < SWEEPS_IN_A_ROW && !signal.aborted; calls += 1) {
      const report = await sweeper.sweep({ ...how, signal });
      done.sha256s.push(...report.files.map(({ sha256 }) => sha256));
      done.bytes += report.bytes;
      done.fromQuarantine += report.fromQuarantine;
      more = report.more;
    }
    return done;
  };
  const { measured = () => undefined, tidyLogs = () => false } = surroundings.disk ?? {};
  const troubled = () => troubledHosts(surroundings.store);
  const sources = createSources({ ...surroundings, ...surroundings.between, copies, troubled });
  const planNodes = () => planNodesOf({ ...surroundings, now: surroundings.clock.now(), copies, desk });
  const news = createTransferNews();
  /** What a node sent here counts once its bytes were looked at; whoever waits for its games is told. */
  const verifyBrought = (sha256s: readonly string[], from: string) =>
    look(sha256s.join(), async () => {
      for (const { sha256, sound } of await inspector.verify(sha256s)) {
        const { games = 0, config_key: configKey = null } = catalog.get(sha256) ?? {};
        if (sound && games > 0) news.noteArrived({ sha256, games, configKey, from });
      }
    });
  const knows = knownFiles(surroundings.store, surroundings.orphans?.inResults);
  const desk: NodeDesk = createNodeDesk({
    ...surroundings,
    ...surroundings.between,
    news,
    copies,
    sources,
    get: catalog.get,
    verify: verifyBrought,
    policies: () => policiesIn(surroundings.store),
  });
  const readStructure = surroundings.readStructure ?? readNothing;
  const brought = createBrought({ files, inspector, readStructure });
  const hasher = createFileHasher(unreadableFile);
  const orphanSearch = createOrphanSearch({
    folders: surroundings.orphans?.folders ?? [],
    knows,
    expectsFiles: () => surroundings.store.read(EXPECTED, surroundings.nodeId).length > 0,
    readStructure,
    hasher,
  });
  const imports = createImports({
    ...surroundings,
    catalog,
    brought,
    transact: (body) => surroundings.router.transact({ source: ARTIFACT_STORE, validation: "strict" }, body),
  });
  const { readSegments } = surroundings;
  const { pace: backupPace, ...backupPorts } = surroundings.backup ?? NO_BACKUPS;
  const backups = createBackups({ ...surroundings, ...backupPorts });
  return {
    catalog,
    handOver: {
      syncBatch: (batch) => sync(batch.syncId, () => inspector.syncBatch(batch)),
      distribute: (model) => spread(model.sha256, () => inspector.distribute(model)),
    },
    console: createArtifactConsole({ ...surroundings, catalog, copies, desk, inspector, knows, isAwaited }),
    desk,
    members,
    async aloneOn(nodeId) {
      const ask = { heldBefore: surroundings.clock.now(), max: MAX_ALONE };
      const others = copies.counting().filter((id) => id !== nodeId);
      return (await aloneOn(surroundings.store, [nodeId], others, ask)).length;
    },
    facade: new SyncFacade({
      ...surroundings,
      nodes: planNodes,
      sources,
      nameOf: (nodeId) => copies.nodes().get(nodeId)?.name ?? nodeId,
    }),
    backups,
    brought,
    imports,
    units: {
      orphanSearch,
      setOrphanAside: (orphan) => setOrphanAside(orphan.folder, orphan),
      backups,
      backupPace,
      store: surroundings.store,
      nodeId: surroundings.nodeId,
      copies,
      sources,
      desk,
      policy: surroundings.copies,
      planNodes,
      get: catalog.get,
      ...surroundings.spread,
      space: { measured, clean, tidyLogs },
      graces: sweepPolicy(surroundings.policy),
      news,
      isRented: () => copies.nodes().get(surroundings.nodeId)?.isRented === true,
      stallMs: transferDefaults.stallMs,
      wake: desk.wake,
      archive: readSegments === undefined ? undefined : createArchive({ files, imports, readSegments }),
    },
    spread: createSpreadView(surroundings.store),
    disk: () => ({ measured: measured(), last: lastCleanup(surroundings.store, surroundings.nodeId) }),
    verify,
    async readArtifact({ sha256, bytes }) {
      const { size } = await files.stat(sha256);
      if (size === null && members?.awaits({ sha256, bytes }) === true) throw awaitedFiles([sha256]);
      if (size === null) throw OperatingError.notFound("ARTIFACT_NOT_FOUND", `there is no artifact ${sha256}`);
      if (size > MAX_READ_BYTES)
        throw OperatingError.denied(
          "ARTIFACT_TOO_LARGE",
          `${sha256} has ${size} bytes, ${MAX_READ_BYTES} are read at once`,
          { status: 413 },
        );
      const chunks: Uint8Array[] = [];
      for await (const chunk of files.read(sha256, 0, size)) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
    chores: [
      {
        name: "artifact scrub",
        everyMs: scrub?.everyMs ?? SCRUB_EVERY_MS,
        async run(signal) {
          const pace = scrub === undefined ? {} : { everyMs: scrub.againMs, max: scrub.max };
          const { checked, damaged } = await inspector.scrub({ signal, ...pace });
          const isNews = scrub === undefined ? checked > 0 : damaged.length > 0;
          return isNews ? { checked, damaged: damaged.length } : undefined;
        },
      },
    ],
    close() {
      inspector.close();
      void hasher.close();
    },
  };
}
