/** What the surface needs of the program behind it. `app` connects it; what is optional decides which routes there are. */
import type {
  Alert,
  AlertSeverity,
  AlertStatus,
  NodeBook,
  NodeGate,
  Refusals,
  SystemHealth,
} from "../../cluster/index.ts";
import type { DaemonManager, Readiness, UnitStatus } from "../../daemons/index.ts";
import type { Clock, Log } from "../../kernel/index.ts";
import type { EventRouter, Store } from "../../router/index.ts";
import type { ArtifactStore } from "../../sync/index.ts";
import type { ClaimDesk, WorkQueue } from "../../work/index.ts";
import type { Metrics } from "./metrics.ts";
import type { Tokens } from "./tokens.ts";
import type { Writes } from "./writes.ts";

export type Phase = "starting" | "ready" | "stopping";

export interface AlertFilter {
  readonly status?: AlertStatus | undefined;
  readonly severity?: AlertSeverity | undefined;
  readonly limit: number;
}

export interface AlertDecision {
  readonly actor: string;
  readonly note?: string | undefined;
}

/** Refusals are operating errors: `ALERT_NOT_FOUND` for an id that nobody knows. */
export interface AlertsPort {
  list(filter: AlertFilter): readonly Alert[];
  get(id: string): Alert | undefined;
  acknowledge(id: string, decision: AlertDecision): Promise<Alert>;
  close(id: string, decision: AlertDecision): Promise<Alert>;
}

export interface Why {
  readonly subject: string;
  readonly kind: string;
  readonly verdict: string;
  readonly since: number | null;
  readonly gates: readonly {
    readonly gate: string;
    readonly passed: boolean;
    readonly actual: unknown;
    readonly required: unknown;
    readonly since: number | null;
    readonly hint: string | null;
  }[];
}

/** The queue, and the desk where claims stand in line. */
export interface WorkPort {
  readonly queue: WorkQueue;
  readonly desk: ClaimDesk;
}

/** The nodes, the gate where they show who they are, and who was turned away there. */
export interface NodesPort {
  readonly book: NodeBook;
  readonly gate: NodeGate;
  readonly refusals: Refusals;
  readonly version: string;
}

export interface ControlPorts {
  readonly router: EventRouter;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
  readonly version: string;
  readonly daemons: DaemonManager;
  readonly tokens: Tokens;
  readonly writes: Writes;
  readonly metrics: Metrics;
  phase(): Phase;
  readiness(): Readiness;
  units(): readonly UnitStatus[];
  /** The whole state of the process, for `/status`. */
  status(): Readonly<Record<string, unknown>>;
  audit(): unknown;
  /** Begins to end the process; returns at once. */
  shutdown(reason: string, actor: string): void;
  readonly health?: () => SystemHealth;
  readonly alerts?: AlertsPort;
  /** What stands between a subject (a daemon, a unit, a config) and its work; undefined for a subject nobody knows. */
  readonly why?: (subject: string) => Why | undefined;
  readonly bootstrapStatus?: () => Readonly<Record<string, unknown>>;
  readonly work?: WorkPort;
  readonly nodes?: NodesPort;
  readonly artifacts?: ArtifactStore;
}

export type OptionalPort = "health" | "alerts" | "why" | "bootstrapStatus" | "work" | "nodes" | "artifacts";
