/** What the surface needs of the program behind it. `app` connects it. */
import type { FleetConsole } from "../../cluster/fleet/index.ts";
import type {
  Alerts,
  Availability,
  ClusterPort,
  HealthBook,
  IdleRequests,
  LockStore,
  NodeGate,
  NodeRegistry,
  ReachBook,
  RecoveryBook,
  RecoveryConsole,
  Refusals,
  SystemHealth,
} from "../../cluster/index.ts";
import type { AuditReport, Cause, DaemonManager, Readiness, UnitStatus } from "../../daemons/index.ts";
import type { Clock, Log, Moment } from "../../kernel/index.ts";
import type { PipelineConsole } from "../../pipeline/index.ts";
import type { EventRouter, Store } from "../../router/index.ts";
import type {
  ArtifactConsole,
  ArtifactStore,
  Backups,
  DiskView,
  Imports,
  MemberDesk,
  NodeDesk,
  SyncFacade,
} from "../../sync/index.ts";
import type { WorkServices } from "../../work/index.ts";
import type { SurfaceAddress } from "./address.ts";
import type { Metrics } from "./metrics.ts";
import type { ConfigReport } from "./settings-report.ts";
import type { Tokens } from "./tokens.ts";
import type { Writes } from "./writes.ts";

export type Phase = "starting" | "ready" | "stopping";

/** What stands between a subject and its work; times are milliseconds since the epoch. */
export interface Why {
  readonly subject: string;
  readonly label?: string | undefined;
  readonly kind: string;
  readonly verdict: string;
  readonly since: number | null;
  /** The root of it; null where nothing stands in the way. */
  readonly cause: Cause | null;
  readonly gates: readonly {
    readonly gate: string;
    readonly passed: boolean;
    readonly actual: unknown;
    readonly required: unknown;
    readonly since: number | null;
    readonly hint: string | null;
    readonly in_progress?: boolean | undefined;
    readonly advice?: Cause["advice"] | undefined;
  }[];
}

/** The nodes, the gate where they show who they are, and who was turned away there. */
export interface NodesPort {
  readonly book: NodeRegistry;
  readonly gate: NodeGate;
  readonly refusals: Refusals;
  /** Nodes that are to say with their next sign of life how idle they are. */
  readonly idleRequests: IdleRequests;
  /** Who reaches whom, where nodes look after each other. */
  readonly reach: Pick<ReachBook, "of" | "saidBy" | "peersFor">;
  readonly version: string;
  /** How each does, and what it may get. */
  readonly health: HealthBook;
  readonly availability: Availability;
}

export interface ControlPorts {
  readonly router: EventRouter;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
  readonly version: string;
  readonly started: Moment;
  /** What this process was started with, each value with where it came from. */
  readonly settings: ConfigReport;
  readonly daemons: DaemonManager;
  readonly tokens: Tokens;
  readonly writes: Writes;
  readonly metrics: Metrics;
  /** Where it is reached from outside. */
  readonly address: () => SurfaceAddress;
  phase(): Phase;
  readiness(): Readiness;
  /** All, or those that are named. */
  units(names?: readonly string[]): readonly UnitStatus[];
  audit(): Promise<AuditReport>;
  /** Who declares to emit an event, and which units to hear it. */
  wiringOf(eventType: string): { readonly emitters: readonly string[]; readonly hearers: readonly string[] };
  /** Begins to end the process; returns at once. */
  shutdown(reason: string, actor: string): void;
  readonly health: () => SystemHealth & { readonly causes: readonly Cause[] };
  /** What is wrong, each root once, worst first. */
  readonly causes: () => readonly Cause[];
  readonly alerts: Alerts;
  /** What stands between a subject (a daemon, a unit, a config) and its work; undefined for a subject nobody knows. */
  readonly why: (subject: string) => Why | undefined;
  readonly bootstrapStatus: () => Readonly<Record<string, unknown>>;
  readonly work: WorkServices;
  readonly nodes: NodesPort;
  /** What is done for nodes that are ill. */
  readonly recovery: Pick<RecoveryBook, "orderFor"> & RecoveryConsole;
  /** This node's own name. */
  readonly nodeId: string;
  /** The other coordinators, where there are several. */
  readonly cluster?: ClusterPort | undefined;
  /** Where the other coordinators say which files they hold. */
  readonly memberFiles?: MemberDesk | undefined;
  /** Named locks, for whoever asks. */
  readonly locks: LockStore;
  readonly artifacts: ArtifactStore;
  /** What is known of artifacts, and what people decide about them. */
  readonly library: ArtifactConsole;
  /** Where joined nodes say which copies they hold. */
  readonly copies: NodeDesk;
  /** Files that nodes were told to fetch and that may be under way, and how many may be. */
  readonly fetches: () => { readonly open: number; readonly max: number };
  /** How full the disk here is, and what was freed. */
  readonly disk: () => DiskView;
  /** Where one asks that files be brought to nodes. */
  readonly sync: SyncFacade;
  /** Where files that were made elsewhere are handed in. */
  readonly imports: Imports;
  /** Where one asks for backups. */
  readonly backups: Backups;
  /** The machines that are rented. */
  readonly fleet: FleetConsole;
  /** Its routes are there without it too, and say that it is not. */
  readonly pipeline?: PipelineConsole | undefined;
}
