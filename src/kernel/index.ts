/**
 * kernel: what every room needs and no room owns. It knows no event.
 *
 * It guarantees that time, ids and randomness are arguments (so the code we ship can be simulated from a seed), that
 * an operating error has a stable code, a cause and a next step, and that equal values have one canonical text.
 */
export { type BackoffPolicy, backoffMs } from "./backoff.ts";
export { type Breaker, type BreakerPolicy, type BreakerState, createBreaker } from "./breaker.ts";
export { canonicalJson, type Json } from "./canonical-json.ts";
export { type Clock, sleep, systemClock, type Timer, type VirtualClock, virtualClock } from "./clock.ts";
export { assert, isOperatingError, messageOf, OperatingError, type OperatingErrorOptions } from "./errors.ts";
export { createIds, type Ids } from "./ids.ts";
export { createLog, LOG_LEVELS, type Log, type LogFields, type LogLevel, type LogPlaces, silentLog } from "./log.ts";
export {
  type LogFile,
  type LogFileOptions,
  logPathOf,
  openLogFile,
  type ReadLogOptions,
  readLogLines,
} from "./log-files.ts";
export { pick, type Random, seededRandom, systemRandom } from "./random.ts";
export { createRecent, type Recent } from "./recent.ts";
export { createRing, type Ring } from "./ring.ts";
export { runAll } from "./run-all.ts";
export { didYouMean, suggest } from "./suggest.ts";
export { createTimeLimits, type TimeLimits } from "./time-limits.ts";
