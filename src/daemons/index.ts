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

export { type AuditReport, auditWiring } from "./audit/audit.ts";
export { printAudit } from "./audit/print.ts";
export { type RecordedWiring, recordWiring } from "./audit/recorded-wiring.ts";
export { type RuntimeFacts, runtimeFacts } from "./audit/runtime-facts.ts";
export { createUses, type UsesRecorder } from "./audit/uses.ts";
export { type Cause, type CauseAdvice, causeOf, isWell, rootCauses } from "./cause.ts";
export { CoordinatorStatus, type HealthState, type UnitHealth } from "./health.ts";
export { coordinatorLayers, criticalDaemons, DaemonType, FEATURES, type Feature } from "./legacy.ts";
export { watchMainLoop } from "./main-loop/main-loop-watch.ts";
export type { DaemonsServices } from "./services.ts";
export { PROFILES } from "./settings.ts";
export type { DaemonManagerConfig } from "./supervisor/config.ts";
export {
  DAEMON_STATES,
  type DaemonContext,
  type DaemonHealth,
  type DaemonInfo,
  type DaemonOptions,
  DaemonState,
} from "./supervisor/daemon.ts";
export { DaemonManager, type DaemonManagerOptions } from "./supervisor/daemon-manager.ts";
export { graphError, profileFaults } from "./supervisor/dependency-graph.ts";
export {
  checkErrorRate,
  checkLastSuccess,
  checkQueueDepth,
  checkUptimeGrace,
  HealthCheckHelper,
} from "./supervisor/health-checks.ts";
export { OPERATOR_HOLD } from "./supervisor/holds.ts";
export { type DaemonRecord, supervisionStore } from "./supervisor/supervision-store.ts";
export { consumerOf, unitNameOf } from "./unit/consumer-name.ts";
export { validateCriticalSubscriptions } from "./unit/critical-subscriptions.ts";
export {
  type CoordinatorEntry,
  coordinatorsAmong,
  createRegistry,
  isPlaceholder,
  openCoordinators,
  type Registry,
} from "./unit/registry.ts";
export { createUnitRuntime, type Readiness, type UnitOutcome, type UnitRuntime } from "./unit/runtime.ts";
export {
  type ContextOf,
  defineCoordinator,
  defineDaemon,
  definePart,
  type Emit,
  type ErasedContext,
  type HealthView,
  onEach,
  type Part,
  type Placement,
  type ReadRows,
  type Unit,
  type UnitContext,
  type UnitSpec,
  unitsFor,
  type Wiring,
} from "./unit/shape.ts";
export type { UnitStatus } from "./unit/work-counts.ts";
export type { HttpSurfacePort } from "./units/http-server/http-surface.port.ts";
export type { Chore } from "./units/maintenance/chore.ts";
export type { DatabaseCare } from "./units/maintenance/database-care.port.ts";
export { daemonsParts, daemonsUnits } from "./units.ts";
export { why } from "./why.ts";
export { whyFacts } from "./why-facts.ts";
