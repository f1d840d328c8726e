/**
 * daemons: units, their runtime, their supervisor, and the audit of their wiring.
 *
 * A unit is a coordinator (driven by events) or a daemon (has a loop). It reads in one order: name, layer, placement, what
 * it emits, its state, what it handles, its loop, its health. What it hears is `keyof` its handlers, so the wiring is data
 * that the compiler, the audit, the docs and the dashboard all read.
 *
 * It guarantees that
 * - an unknown event, a wrong payload, an undeclared emission and a subscription that nobody feeds do not compile;
 * - a handler's or tick's rows, emissions and ack are one commit, and what it emits is checked strictly;
 * - a unit never hears itself; two ticks of one unit never overlap; a failing one is counted, told and never fatal;
 * - what starts also stops, twice safely, and leaves no timer;
 * - one supervisor, `DaemonManager`, starts what runs in the order of its dependencies and ends it in reverse; what fails is
 *   restarted later and later within a budget that only an explicit reset renews; what falls with its dependency rises with
 *   it and pays nothing; every action is an event, an audit row and a condition, and the books outlive the process;
 * - the audit fails on an orphan, a dead or unbridged subscription without a written reason, and on any tie that was
 *   written down and is gone.
 *
 * This room's own units keep the house in order: `event_router` (marks, retention, consumers that stay away), `dlq_retry`
 * (dead letters, back to their own consumer and to nobody else), `daemon_control` (cluster events become holds on daemons),
 * `daemon_watchdog` (silent, stuck and late units), `maintenance` (the database file, the logs, what only grows). A thread watches the main loop and names what blocks it.
 */
export { type AuditedUnit, type AuditOptions, type AuditReport, type AuditTotals, auditWiring } from "./audit.ts";
export { type AuditBaseline, auditBaseline, baselineOf } from "./audit-baseline.ts";
export { CONTROL_EVENTS, type ControlEvent, type Reaction, reactionsTo } from "./control-reactions.ts";
export {
  COORDINATOR_REGISTRY,
  type CoordinatorEntry,
  type CoordinatorFeature,
  type CoordinatorLayer,
  type CoordinatorName,
  coordinatorLayers,
  isPlaceholder,
  openCoordinators,
  plannedCoordinators,
} from "./coordinator-registry.ts";
export {
  type CriticalOptions,
  type CriticalReport,
  type CriticalSubscription,
  validateCriticalSubscriptions,
} from "./critical.ts";
export { type DaemonControlPorts, daemonControl } from "./daemon-control.coordinator.ts";
export {
  CONDITION_TYPES,
  type Condition,
  type ConditionStatus,
  type ConditionType,
} from "./daemon-manager/conditions.ts";
export { type DaemonManagerConfig, daemonManagerDefaults } from "./daemon-manager/config.ts";
export {
  DAEMON_STATES,
  type DaemonContext,
  type DaemonHealth,
  type DaemonHealthReport,
  type DaemonInfo,
  type DaemonOptions,
  type DaemonState,
  type PermanentFailure,
} from "./daemon-manager/daemon.ts";
export {
  DaemonManager,
  type DaemonManagerOptions,
  type PauseOptions,
  type ResumeOptions,
  type ShutdownOptions,
  type ShutdownReport,
  type StartAllOptions,
  type StartOptions,
  type StartReport,
} from "./daemon-manager/daemon-manager.ts";
export { type GraphFault, graphError, profileFaults } from "./daemon-manager/dependency-graph.ts";
export {
  type Check,
  checkErrorRate,
  checkLastSuccess,
  checkQueueDepth,
  checkUptimeGrace,
  HealthCheckHelper,
  judgeChecks,
} from "./daemon-manager/health-checks.ts";
export type { Hold } from "./daemon-manager/holds.ts";
export {
  type ActionRow,
  type Book,
  type LedgerBatch,
  memoryLedger,
  routerLedger,
  type SupervisionLedger,
  type SupervisorEvent,
} from "./daemon-manager/ledger.ts";
export { type RestartPolicy, restartPolicy } from "./daemon-manager/restart-policy.ts";
export {
  criticalDaemons,
  DaemonType,
  daemonProfiles,
  daemonTypes,
  type ResolvedDaemon,
  resolveDaemon,
} from "./daemon-types.ts";
export {
  type DaemonWatchdogPorts,
  type DaemonWatchdogSettings,
  daemonWatchdog,
  daemonWatchdogDefaults,
} from "./daemon-watchdog.daemon.ts";
export type { DatabaseCare } from "./database-care.port.ts";
export { type DlqRetryPorts, type DlqRetrySettings, dlqRetryDaemon, dlqRetryDefaults } from "./dlq-retry.daemon.ts";
export {
  type EventRouterDaemonPorts,
  type EventRouterDaemonSettings,
  eventRouterDaemon,
  eventRouterDaemonDefaults,
} from "./event-router.daemon.ts";
export { type Finding, type FindingKind, SEVERITIES, type Severity } from "./finding.ts";
export { HEALTH_STATES, type HealthState, standardHealth, type UnitHealth, worstHealth } from "./health.ts";
export {
  type HttpDoor,
  type HttpServerPorts,
  type HttpSurfacePort,
  httpServerDaemon,
} from "./http-server.daemon.ts";
export { consumerOf, unitNameOf } from "./identity.ts";
export type { UnitRouter } from "./live-unit.ts";
export {
  type LoopDelay,
  type MainLoopWatch,
  type MainLoopWatchOptions,
  watchMainLoop,
} from "./main-loop/main-loop-watch.ts";
export { type PulseReading, readPulse } from "./main-loop/pulse.ts";
export type { BlockReport } from "./main-loop/watchdog.thread.ts";
export {
  type MaintenancePorts,
  type MaintenanceSettings,
  type MoreChore,
  maintenanceDaemon,
  maintenanceDefaults,
} from "./maintenance.daemon.ts";
export { type OwnUnitsPorts, ownExcuses, ownParts, ownUnits } from "./own-units.ts";
export { printAudit } from "./print-audit.ts";
export {
  createRegistry,
  type Delegation,
  type Excuses,
  type Reasons,
  type Registry,
  type RegistryOptions,
} from "./registry.ts";
export { type RuntimeFacts, runtimeFacts } from "./runtime-facts.ts";
export { startOrder } from "./start-order.ts";
export {
  type Behaviour,
  type Declaration,
  defineCoordinator,
  defineDaemon,
  definePart,
  type Emit,
  type HealthView,
  type Loop,
  onEach,
  PATTERNS,
  type Part,
  type Pattern,
  PLACEMENTS,
  type Placement,
  type ReadRows,
  type State,
  type Tables,
  type Unit,
  type UnitContext,
  type UnitLanguage,
  type UnitSpec,
  unitsFor,
} from "./unit.ts";
export type { UnitStatus } from "./unit-ledger.ts";
export {
  createUnitRuntime,
  type Readiness,
  type UnitOutcome,
  type UnitRuntime,
  type UnitRuntimeOptions,
} from "./unit-runtime.ts";
export { type Gate, type Why, type WhyFacts, why } from "./why.ts";
export { type WhySources, whyFacts } from "./why-facts.ts";
