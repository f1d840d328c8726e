/**
 * router: EventRouter and its journal.
 *
 * It guarantees the delivery contract: a durable event is on disk when `publish` resolves; every consumer that is owed it
 * gets it at least once and it ends done, dead or expired; a handler's writes, emissions and ack are one commit; order is
 * kept per consumer and order key; a failing handler holds up nobody else; everything is bounded.
 */

export type { DataEvent, EventBus } from "./buses.ts";
export type { ConsumeOptions } from "./consumers.ts";
export type { DeadLetterQueue } from "./dead-letter-queue.ts";
export type { Handler } from "./ephemeral.ts";
export { type AnyEvent, fromStored, type Published, VIEW } from "./event.ts";
export { fingerprintOf } from "./fingerprint.ts";
export type { StoredEvent } from "./journal/append.ts";
export { expireConsumers } from "./journal/consumers.ts";
export {
  countDeadLetters,
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterGroup,
  type DeadLetterStatus,
  groupDeadLetters,
  listDeadLetters,
  sweepDeadLetters,
  unresolvedByType,
} from "./journal/dead-letters.ts";
export { probeStore } from "./journal/probe.ts";
export {
  type ConsumerStatus,
  consumerStatus,
  eventById,
  eventsOfTrace,
  type HistoryFilter,
  headSeq,
  journalHistory,
  type PairState,
  pairsOfEvent,
  suppressions,
} from "./journal/queries.ts";
export { enforceRetention, journalBytes, trimDedup } from "./journal/retention.ts";
export { journalModule } from "./journal/tables.ts";
export {
  type DecodedEntry,
  decodeEntry,
  type EntryKind,
  encodeEntry,
  entryDigest,
  type LogPosition,
  misfit,
  NO_ENTRY,
} from "./log-entry.ts";
export type { Cause, Prepared, PublishOptions } from "./prepare.ts";
export type { ReplicatedLog, StoredEntry } from "./replicated-log.port.ts";
export { type Emitters, EventRouter, type RouterOptions } from "./router.ts";
export type { DurableHandler } from "./runner.ts";
export { Session } from "./session.ts";
export { defaultRouterSettings, type RouterSettings } from "./settings.ts";
export type { RouterStats } from "./statistics.ts";
export {
  conditions,
  defineOperation,
  defineStoreModule,
  isStoreTrouble,
  type Migration,
  type Operation,
  type SqlParams,
  type SqlValue,
  type Store,
  type StoreFault,
  type StoreModule,
  type StoreTrouble,
  type Transaction,
} from "./store.port.ts";
export type { RemoteSpan, SpanIds } from "./tracing.ts";
export type { HandlerContext } from "./work.ts";
export { createWriteSet, defineTable, type StateTable, stateModule, type WriteSet } from "./write-set.ts";
