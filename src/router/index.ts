/**
 * router: EventRouter and its journal.
 *
 * It guarantees the delivery contract: a durable event is on disk when `publish` resolves; every consumer that is owed it
 * gets it at least once and it ends done, dead or expired; a handler's writes, emissions and ack are one commit; order is
 * kept per consumer and order key; a failing handler holds up nobody else; everything is bounded.
 */
export type { ConsumeOptions, SessionRequest } from "./consumers.ts";
export { Cursor, type RetryPolicy } from "./cursor.ts";
export {
  createDeadLetterQueue,
  type DeadLetterAction,
  type DeadLetterQueue,
  type RetryAction,
} from "./dead-letter-queue.ts";
export type { Handler } from "./ephemeral.ts";
export { type AnyEvent, fromStored, type Published, VIEW, type ViewName } from "./event.ts";
export { fingerprintOf } from "./fingerprint.ts";
export type { EventRecord, StoredEvent } from "./journal/append.ts";
export { expireConsumers } from "./journal/consumers.ts";
export type { DeadLetter, DeadLetterFilter, DeadLetterGroup, DeadLetterStatus } from "./journal/dead-letters.ts";
export { countDeadLetters, groupDeadLetters, listDeadLetters, sweepDeadLetters } from "./journal/dead-letters.ts";
export { journalModule } from "./journal/module.ts";
export { probeStore } from "./journal/probe.ts";
export * from "./journal/queries.ts";
export { enforceRetention, journalBytes, type RetentionPolicy, trimDedup } from "./journal/retention.ts";
export type { Prepared, PublishOptions, Validation } from "./prepare.ts";
export {
  type Emitters,
  EventRouter,
  type RouterOptions,
  type TransactOptions,
} from "./router.ts";
export type { DurableHandler, HandlerContext } from "./runner.ts";
export { type AckOutcome, Session } from "./session.ts";
export { defaultRouterSettings, type RouterSettings } from "./settings.ts";
export type { RouterStats } from "./statistics.ts";
export {
  defineOperation,
  defineStoreModule,
  type Migration,
  type Operation,
  type OperationDefinition,
  type ResultsOf,
  type SqlRow,
  type SqlValue,
  type Store,
  type StoreFault,
  type StoreModule,
  type Transaction,
} from "./store.port.ts";
export type { DataEvent, EventBus } from "./views.ts";
export { inUnixSeconds } from "./wire-times.ts";
export { createWriteSet, defineTable, type StateTable, stateModule, type WriteSet } from "./write-set.ts";
