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
import type { EndedStage } from "../../pipeline/history.ts";
import type { BooksView, GateView, LoopSnapshot, LossPoint, Rated } from "../../pipeline/snapshot.ts";
import type { Stage } from "../../pipeline/stages.ts";
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

/** A model in the registry, as the wire shows it. Times are Unix seconds. */
export interface ModelView {
  /** SHA-256 of its file. */
  readonly model_id: string;
  readonly config_key: string;
  readonly iteration: number;
  /** As in the registry: `evaluating`, `production`, `rolled_back`, `archived`. */
  readonly stage: string;
  /** As a champion; null for one that never was. */
  readonly generation: number | null;
  readonly created_at: number;
  readonly bytes: number | null;
  /** The model that it went on from. */
  readonly parent: string | null;
  readonly rating: Pick<Rated, "elo" | "low" | "high" | "games"> | null;
}

export interface ModelDetails extends ModelView {
  readonly loss: LossPoint | null;
  readonly gate: GateView | null;
  readonly files: readonly { readonly sha256: string; readonly kind: string; readonly rows: number }[];
  /** What it was when, oldest first. */
  readonly history: readonly {
    readonly at: number;
    readonly stage: string;
    readonly by: string;
    readonly reason: string;
  }[];
}

/** Where something comes from and what came of it: a graph, as a file may have several parents. */
export interface Lineage {
  readonly asked: string;
  readonly nodes: readonly {
    readonly id: string;
    /** `game`, `segment`, `shard`, `model`, `job`, `node`. */
    readonly kind: string;
    readonly about: string;
    readonly at: number | null;
  }[];
  /** `to` was made of `from`, or by it. */
  readonly edges: readonly { readonly from: string; readonly to: string }[];
}

export interface LoopDecision {
  readonly actor: string;
  readonly reason: string;
  /** Only says what would change. */
  readonly dryRun: boolean;
}

/** What a decision changed, or would. No changes: there was nothing to do. */
export interface LoopDecided {
  readonly config_key: string;
  readonly applied: boolean;
  readonly changes: readonly {
    readonly what: string;
    readonly before: string | number | null;
    readonly after: string | number | null;
  }[];
}

type Answered<T> = T | Promise<T>;

/**
 * The closed loop. Configs that are passed in are known to it. What it refuses is an operating error: `PROMOTION_REFUSED`,
 * `ROLLBACK_REFUSED`, with why. All times of a snapshot are Unix seconds, those of waits included; those of a history are
 * milliseconds, as it is stored.
 */
export interface LoopPort {
  snapshot(): Answered<LoopSnapshot>;
  /** Newest first. */
  history(filter: {
    readonly configKey: string;
    readonly stage?: Stage;
    readonly limit: number;
  }): Answered<readonly EndedStage[]>;
  /** Newest first. */
  models(filter: {
    readonly configKey?: string;
    readonly stage?: string;
    readonly limit: number;
  }): Answered<readonly ModelView[]>;
  /** By its whole id. */
  model(id: string): Answered<ModelDetails | undefined>;
  books(): Answered<readonly BooksView[]>;
  /** Of a game, a model, a file or a job. */
  lineage(id: string): Answered<Lineage | undefined>;
  pause(configKey: string, decision: LoopDecision): Promise<LoopDecided>;
  resume(configKey: string, decision: LoopDecision): Promise<LoopDecided>;
  promote(modelId: string, decision: LoopDecision): Promise<LoopDecided>;
  /** To the last good champion. */
  rollback(configKey: string, decision: LoopDecision): Promise<LoopDecided>;
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
  /** Its routes are there without it too, and say that it is not. */
  readonly loop?: LoopPort | undefined;
}

export type OptionalPort = "health" | "alerts" | "why" | "bootstrapStatus" | "work" | "nodes" | "artifacts";
