import type { Declaration, Pattern } from "./unit.ts";

/** The nine layers in which coordinators are brought up, lowest first. */
export const coordinatorLayers = {
  1: "Foundational: depends on nothing",
  2: "Infrastructure support",
  3: "Sync and training",
  4: "Data integrity",
  5: "Selfplay",
  6: "Pipeline and jobs",
  7: "Background automation",
  8: "Metrics and optimization",
  9: "Leadership",
} as const satisfies Readonly<Record<number, string>>;

export type CoordinatorLayer = keyof typeof coordinatorLayers;

interface PlannedCoordinator {
  readonly layer: CoordinatorLayer;
  readonly pattern: Pattern;
  /** The switch that leaves it out. */
  readonly feature: string;
  /** For DELEGATE: who answers in its place. */
  readonly delegatesTo?: string;
}

/**
 * Every coordinator that the Python system knows, by layer. A name here is a plan; it stands in `COORDINATOR_REGISTRY` once
 * a unit does its work, and the audit counts the others as open.
 */
export const plannedCoordinators = {
  task_coordinator: { layer: 1, pattern: "WIRE", feature: "tasks" },
  global_task_coordinator: { layer: 1, pattern: "WIRE", feature: "tasks" },
  resource_coordinator: { layer: 1, pattern: "WIRE", feature: "resources" },
  cache_orchestrator: { layer: 1, pattern: "WIRE", feature: "cache" },
  health_manager: { layer: 2, pattern: "WIRE", feature: "health" },
  error_coordinator: { layer: 2, pattern: "DELEGATE", feature: "health", delegatesTo: "health_manager" },
  recovery_manager: { layer: 2, pattern: "SKIP", feature: "health" },
  model_coordinator: { layer: 2, pattern: "WIRE", feature: "models" },
  sync_coordinator: { layer: 3, pattern: "WIRE", feature: "sync" },
  training_coordinator: { layer: 3, pattern: "WIRE", feature: "training" },
  transfer_verifier: { layer: 4, pattern: "WIRE", feature: "transfer" },
  ephemeral_guard: { layer: 4, pattern: "WIRE", feature: "ephemeral" },
  queue_populator: { layer: 4, pattern: "WIRE", feature: "queue" },
  selfplay_orchestrator: { layer: 5, pattern: "WIRE", feature: "selfplay" },
  selfplay_scheduler: { layer: 5, pattern: "GET", feature: "selfplay" },
  pipeline_orchestrator: { layer: 6, pattern: "WIRE", feature: "pipeline" },
  multi_provider: { layer: 6, pattern: "WIRE", feature: "providers" },
  job_scheduler: { layer: 6, pattern: "WIRE", feature: "jobs" },
  auto_export_daemon: { layer: 7, pattern: "GET", feature: "export" },
  evaluation_daemon: { layer: 7, pattern: "GET", feature: "evaluation" },
  model_distribution_daemon: { layer: 7, pattern: "IMPORT", feature: "distribution" },
  idle_resource_daemon: { layer: 7, pattern: "IMPORT", feature: "idle" },
  quality_monitor_daemon: { layer: 7, pattern: "IMPORT", feature: "quality" },
  orphan_detection_daemon: { layer: 7, pattern: "IMPORT", feature: "orphans" },
  training_activity: { layer: 7, pattern: "GET", feature: "training" },
  curriculum_integration: { layer: 7, pattern: "WIRE", feature: "curriculum" },
  metrics_orchestrator: { layer: 8, pattern: "WIRE", feature: "metrics" },
  optimization_coordinator: { layer: 8, pattern: "WIRE", feature: "optimization" },
  leadership_coordinator: { layer: 9, pattern: "WIRE", feature: "leadership" },
} as const satisfies Readonly<Record<string, PlannedCoordinator>>;

export type CoordinatorName = keyof typeof plannedCoordinators;

/** What a bootstrap can be told to leave out. */
export type CoordinatorFeature = (typeof plannedCoordinators)[CoordinatorName]["feature"];

export interface CoordinatorEntry extends PlannedCoordinator {
  readonly name: CoordinatorName;
  readonly feature: CoordinatorFeature;
}

/** The coordinators behind which there is a unit. */
const built: readonly CoordinatorName[] = [
  "task_coordinator",
  "global_task_coordinator",
  "resource_coordinator",
  "health_manager",
  "error_coordinator",
  "recovery_manager",
  "job_scheduler",
  "model_coordinator",
  "training_coordinator",
  "queue_populator",
  "selfplay_orchestrator",
  "selfplay_scheduler",
  "pipeline_orchestrator",
  "auto_export_daemon",
  "evaluation_daemon",
  "quality_monitor_daemon",
];

/** The coordinators that are brought up, layer by layer. */
export const COORDINATOR_REGISTRY: readonly CoordinatorEntry[] = built
  .map((name): CoordinatorEntry => ({ name, ...plannedCoordinators[name] }))
  .sort((a, b) => a.layer - b.layer);

/** Planned names without a unit: the audit counts them. */
export const openCoordinators = (units: readonly Pick<Declaration, "name">[]): CoordinatorName[] => {
  const present = new Set(units.map(({ name }) => name));
  return (Object.keys(plannedCoordinators) as CoordinatorName[]).filter((name) => !present.has(name));
};

/** A name without work of its own: another unit answers for it, or none needs to. */
export const isPlaceholder = ({ pattern }: Pick<Declaration, "pattern">): boolean =>
  pattern === "SKIP" || pattern === "DELEGATE";
