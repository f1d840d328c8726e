/**
 * leadership: several coordinators with equal databases over one log, of which one leads at a time.
 *
 * It guarantees that
 * - who leads is said by the log and by nothing else; a term begins with an entry of the log and ends before the next one begins;
 * - a leader stops to believe that it leads before another may try, as far as clocks run alike; the log refuses it anyway;
 * - everything that leads is begun with a term and has ended with it;
 * - what members tell each other beside the log is for people, and says who may try first: nobody leads or follows because of it.
 */
export type { ClusterPort, ClusterSnapshot } from "./cluster.port.ts";
export { commonSeq, type ForgetLimits, forgettable, type LeaseTiming, type Mark } from "./decide.ts";
export { type Leadership, type Leading, startLeadership } from "./leadership.ts";
export { LEADER_LEASE, lateBy, REPLICATED_LOG, tellLeaseNews } from "./lease-news.ts";
export {
  type ClusterView,
  createMemberBook,
  decodeMember,
  type EngineHealth,
  encodeMember,
  hasSameRows,
  isPreferredThere,
  knownMembers,
  type LeaderView,
  otherLeases,
  outvotedAt,
  PRESENT_MS,
  type RowsCheck,
  readStepDown,
  readTermAbout,
  writeTermAbout,
} from "./members.ts";
export type { Claimed, Lease, ReplicaPort, SchemaSteps, Term, TermWriter } from "./replica.port.ts";
export { LeadershipDomain, LeadershipRole, leadersByDomain } from "./roles.ts";
export { leaseTimingOf } from "./timing.ts";
