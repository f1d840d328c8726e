/** The cluster as one coordinator sees it: from its own replica, from what the others say, and from the servers of the log. */
import type { DatabaseSync } from "node:sqlite";
import type { JetStreamLog } from "../../adapters/nats/jetstream-log.ts";
import type { Replica } from "../../adapters/sqlite/replica/replica.ts";
import { type CoordinatorRow, storedCoordinators } from "../../cluster/index.ts";
import {
  type ClusterView,
  createMemberBook,
  decodeMember,
  type EngineHealth,
  isPreferredThere,
  knownMembers,
  type Leadership,
  type LeaderView,
  outvotedAt,
  readStepDown,
  readTermAbout,
} from "../../cluster/leadership/index.ts";
import type { Clock } from "../../kernel/index.ts";

const MAX_CHECKS_SHOWN = 10;
const MAX_TERMS_SHOWN = 10;
/** For so long others are told of an entry that was refused: whoever leads has heard it by then. */
const TELL_REFUSED_MS = 600_000;

/** The newest term that is here, with what it says of who leads. */
function newestTerm(replica: Replica) {
  const [newest] = replica.terms(1);
  return { newest, about: newest && readTermAbout(newest.about) };
}

/** The lease of whoever leads; undefined where its term does not say it. */
export const leaderLeaseOf = (replica: Replica): number | undefined => newestTerm(replica).about?.lease_ms ?? undefined;

/** Whoever leads by the newest term that is here, unless it has said that it does no more. */
function leaderOf(replica: Replica): LeaderView | null {
  const { newest, about } = newestTerm(replica);
  if (newest === undefined || about === undefined) return null;
  return { name: newest.node, term: newest.term, since: newest.at, url: about.url, fingerprint: about.fingerprint };
}

/** Who belongs to the cluster; nobody, before a leader of this version has made the table. */
function rowsIn(db: DatabaseSync): CoordinatorRow[] {
  try {
    return storedCoordinators({ read: (sql, ...params) => db.prepare(sql).all(...params) as never });
  } catch {
    return [];
  }
}

export interface MemberViewOptions {
  readonly name: string;
  /** It shall lead before the others. */
  readonly isPreferred: boolean;
  readonly replica: Replica;
  readonly log: Pick<JetStreamLog, "health" | "members">;
  readonly life: Pick<Leadership, "role" | "refused">;
  readonly clock: Clock;
  /** Without an entry for so long nobody is said to lead. */
  readonly leaseMs: number;
}

export function createMemberView(options: MemberViewOptions) {
  const { name, isPreferred, replica, log, life, clock, leaseMs } = options;
  const book = createMemberBook(clock, replica.position().cluster);
  log.members.listen((bytes) => book.hear(decodeMember(bytes)));
  let engine: EngineHealth | null = null;
  let trouble: string | null = null;
  let moved = { seq: -1, at: 0 };
  const refusedLately = () => {
    const refused = life.refused();
    return refused === null || clock.now() - refused.at > TELL_REFUSED_MS ? null : refused;
  };
  return {
    /** What stands in the way, until an entry comes. */
    note(what: string): void {
      trouble = what;
    },
    /** Whether another may try to lead first. */
    givesWay: (): boolean => !isPreferred && isPreferredThere(book.list(), name),
    /** Why it must not lead: the others have other rows. */
    damage(): string | undefined {
      const others = book.list().filter((one) => one.name !== name);
      const seq = outvotedAt(replica.checks(), others);
      return seq === undefined ? undefined : `its rows at entry ${seq} are not those of the others`;
    },
    /** How the servers of the log are, from now on. */
    async lookAtEngine(): Promise<void> {
      engine = await log.health().catch(() => null);
    },
    now(): ClusterView {
      const { cluster, generation, seq, term } = replica.position();
      // Entries that come prove that whatever was in the way is over.
      if (seq !== moved.seq) [trouble, moved] = [null, { seq, at: clock.monotonic() }];
      const role = life.role();
      const isHeard = role === "leader" || clock.monotonic() - moved.at < leaseMs;
      return {
        ...{ cluster, generation, name, role, term, seq, trouble, engine },
        leader: isHeard ? leaderOf(replica) : null,
        members: knownMembers(book.list(), rowsIn(replica.db), clock.now()),
        terms: replica.terms(MAX_TERMS_SHOWN).map(({ term: number, node, at, stepDown }) => ({
          ...{ term: number, node, since: at },
          stepDown: stepDown === null ? null : (readStepDown(stepDown) ?? null),
        })),
        refused: refusedLately(),
        checks: replica.checks().slice(0, MAX_CHECKS_SHOWN),
      };
    },
  };
}
