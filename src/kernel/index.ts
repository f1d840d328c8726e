/**
 * kernel: what every room needs and no room owns. It knows no event.
 *
 * It guarantees that time, ids and randomness are arguments (so the code we ship can be simulated from a seed), that
 * an operating error has a stable code, a cause and a next step, and that equal values have one canonical text.
 */
export { aborted } from "./aborted.ts";
export { answerQuestions, createAskedThread, moduleBeside } from "./asked-thread.ts";
export { type Breaker, type BreakerState, createBreaker } from "./breaker.ts";
export { canonicalJson, type Json } from "./canonical-json.ts";
export {
  type Clock,
  type Listening,
  listeningTime,
  type Moment,
  momentOf,
  sleep,
  systemClock,
  type Timer,
  type VirtualClock,
  virtualClock,
} from "./clock.ts";
export type { Given } from "./deep-readonly.ts";
export { defined } from "./defined.ts";
export {
  DISK_CLOSED,
  DISK_FAILS,
  DISK_FULL,
  DISK_READ_ONLY,
  type DiskFault,
  translateDiskFault,
} from "./disk-faults.ts";
export { makeFolders, syncFolder, systemCode, writeDurably } from "./durable-files.ts";
export type { Edges, Environment } from "./edges.ts";
export {
  assert,
  type ErrorKind,
  errorKinds,
  isBodyRefused,
  isOperatingError,
  kindOfStatus,
  messageOf,
  OperatingError,
  stackOf,
} from "./errors.ts";
export { createFileHasher, type FileHash, type FileHasher, SMALL_BYTES } from "./file-hasher.ts";
export { type Guard, guarded, guardWith, LEAD_UNSURE } from "./guard.ts";
export { createIds, type Ids } from "./ids.ts";
export { lazy, lazyTable } from "./lazy.ts";
export { createLog, LOG_LEVELS, type Log, type LogLevel, type LogPlaces, silentLog } from "./log.ts";
export { type LogFile, logPathOf, openLogFile, readLogLines } from "./log-files.ts";
export { whenPinned } from "./pinned-certificate.ts";
export { pick, type Random, seededRandom, systemRandom } from "./random.ts";
export { createRecent, type Recent } from "./recent.ts";
export { type BackoffPolicy, backoffMs, PEER_BACKOFF, retry } from "./retry.ts";
export { createRing } from "./ring.ts";
export { runAll } from "./run-all.ts";
export { didYouMean, sayWhich, suggest } from "./suggest.ts";
export { sumOf } from "./sum.ts";
export { createTimeLimits, type TimeLimits } from "./time-limits.ts";
