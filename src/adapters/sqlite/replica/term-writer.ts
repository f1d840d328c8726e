/**
 * The writer of whoever leads: what its commits change goes into the replicated log before it is committed here.
 *
 * Begin, run the operations, take the changes, append them behind the last entry that is known here, then commit. If the log refuses,
 * another leads: everything is rolled back and the term is over for good. If nobody knows, the same entry is sent again as long as the
 * lease lasts and nothing else is; then the term is over as well, and replay tells what became of it. So what is committed here is in the
 * log, and whoever was answered finds it on every replica.
 */
import type { Claimed, Lease, ReplicaPort, Term, TermWriter } from "../../../cluster/index.ts";
import { type Clock, messageOf, OperatingError, sleep } from "../../../kernel/index.ts";
import {
  type EntryKind,
  encodeEntry,
  entryDigest,
  type Operation,
  type ReplicatedLog,
  type StoreModule,
} from "../../../router/index.ts";
import { isStoreFault, translateFault } from "../faults.ts";
import { type Outcome, operationRunner } from "../writer.ts";
import { isLocalCommit } from "./local-tables.ts";
import { packChanges, type Replica } from "./replica.ts";

export interface TermWriterOptions {
  readonly replica: Replica;
  readonly modules: readonly StoreModule[];
  readonly log: Pick<ReplicatedLog, "append" | "maxBytes">;
  readonly clock: Clock;
  /** A new name for each entry that this process ever sends: an entry must never be taken for another. */
  readonly nextId: () => string;
  /** Why this replica must not lead; undefined when it may. */
  readonly unfit?: () => string | undefined;
}

const AGAIN_MS = 100;
/** Above this the changes are sent without what was there before: a row that goes is then only its key. */
const PATCHSET_ABOVE_BYTES = 2 ** 20;

/** `refused` is the number of an entry that was sent in the belief to lead, and that the log did not take. */
const fenced = (why: string, refused?: number): OperatingError =>
  OperatingError.internal("STORE_FENCED", `this coordinator does not lead any more: ${why}`, {
    status: 503,
    ...(refused === undefined ? {} : { details: { refused } }),
  });

const tooBig = (bytes: number, max: number): OperatingError =>
  OperatingError.invalid(
    "COMMIT_TOO_BIG",
    `one commit changes ${bytes} bytes packed; the replicated log takes ${max}`,
    {
      hint: "Do it in several commits.",
    },
  );

/** Commits whose changes together are too large for one entry. */
class Oversized extends Error {}

/** For so long an answer to the claim of a term is waited for. */
const CLAIM_MS = 5_000;

/** The first entry of a term. Won means that everything before it is here. */
async function claimTerm(
  { replica, log, clock, nextId }: TermWriterOptions,
  term: Term,
  about: Uint8Array = new Uint8Array(),
): Promise<Claimed> {
  const at = replica.position();
  const header = { ...term, kind: "term", at: clock.now(), schema: replica.schema(), chain: at.chain } as const;
  const bytes = encodeEntry(header, about);
  const id = nextId();
  const sentAt = clock.monotonic();
  while (clock.monotonic() - sentAt < CLAIM_MS) {
    const answer = await log.append({ id, bytes }, at.seq);
    if (answer.outcome === "refused") return { claim: "lost", last: answer.last, by: answer.by };
    if (answer.outcome === "accepted") {
      try {
        replica.replay([{ seq: at.seq + 1, bytes }]);
        return { claim: "won", sentAt };
      } catch (thrown) {
        // It is in the log, and comes again from there; a term that is not written down here is not led.
        if (isStoreFault(thrown)) return { claim: "unknown" };
        throw thrown;
      }
    }
    await sleep(clock, AGAIN_MS);
  }
  return { claim: "unknown" };
}

function createTermWriter(options: TermWriterOptions, term: Term, lease: Lease): TermWriter {
  const { replica, modules, log, clock } = options;
  const { db } = replica;
  const { tx, runTogether, runApart } = operationRunner(db, modules);
  const { promise: ended, resolve: resolveEnded } = Promise.withResolvers<OperatingError>();
  let over: OperatingError | undefined;
  /** One after another: an entry names the one before it. */
  let turn: Promise<unknown> = Promise.resolve();

  const endWith = (why: string, refused?: number): OperatingError => {
    over ??= fenced(why, refused);
    resolveEnded(over);
    return over;
  };
  const rollBack = () => {
    if (db.isTransaction) tx.run("ROLLBACK");
  };

  /** Sends the same entry until it is known what became of it, or the lease is over. */
  const appendSurely = async (bytes: Uint8Array, expected: number): Promise<void> => {
    const id = options.nextId();
    const sentAt = clock.monotonic();
    for (;;) {
      if (over !== undefined) throw over;
      if (clock.monotonic() >= lease.trustedUntil()) throw endWith("its lease ended before the log answered");
      const answer = await log.append({ id, bytes }, expected);
      if (answer.outcome === "accepted") return lease.onAccepted(sentAt);
      if (answer.outcome === "refused")
        throw endWith(
          `the log refused entry ${expected + 1}${answer.last === undefined ? "" : `; its last is ${answer.last}`}`,
          expected + 1,
        );
      await sleep(clock, AGAIN_MS);
    }
  };

  /** Inside a transaction: appends, writes down where it is, and commits. Whatever goes wrong after the append ends the term. */
  const appendAndCommit = async (kind: EntryKind, body: Uint8Array): Promise<void> => {
    const at = replica.position();
    const header = { ...term, kind, at: clock.now(), schema: replica.schema(), chain: at.chain };
    const bytes = encodeEntry(header, body);
    if (bytes.length > log.maxBytes) throw new Oversized();
    const sent = appendSurely(bytes, at.seq);
    // Computed while the entry is on its way: what is queued to be sent is sent first.
    const digest = Promise.resolve().then(() => entryDigest(bytes));
    await sent;
    try {
      replica.advance({ header, body, digest: await digest, seq: at.seq + 1 });
      tx.run("COMMIT");
    } catch (thrown) {
      rollBack();
      throw endWith(`entry ${at.seq + 1} is in the log and could not be committed here (${messageOf(thrown)})`);
    }
    if (kind === "verify") replica.look(at.seq + 1);
  };

  const inTransaction = async (body: () => Outcome[]): Promise<Outcome[]> => {
    const session = db.createSession();
    let outcomes: Outcome[];
    let changes: Uint8Array;
    try {
      tx.run("BEGIN IMMEDIATE");
      outcomes = body();
      replica.keepSequences();
      changes = session.changeset();
      if (changes.length > PATCHSET_ABOVE_BYTES) changes = session.patchset();
    } catch (thrown) {
      rollBack();
      throw translateFault(thrown);
    } finally {
      // Closed before anything local is written, so that it stays local.
      session.close();
    }
    try {
      if (changes.length === 0) tx.run("COMMIT");
      else await appendAndCommit("changes", packChanges(changes));
      return outcomes;
    } catch (thrown) {
      rollBack();
      throw translateFault(thrown);
    }
  };

  const replicated = async (commits: readonly (readonly Operation[])[]): Promise<Outcome[]> => {
    try {
      try {
        return await inTransaction(() => runTogether(commits));
      } catch (error) {
        if (over !== undefined || isStoreFault(error) || error instanceof Oversized) throw error;
        return await inTransaction(() => runApart(commits));
      }
    } catch (error) {
      if (!(error instanceof Oversized)) return commits.map(() => ({ ok: false, error }));
      if (commits.length === 1) return [{ ok: false, error: tooBig(log.maxBytes + 1, log.maxBytes) }];
      const half = commits.length >> 1;
      return [...(await replicated(commits.slice(0, half))), ...(await replicated(commits.slice(half)))];
    }
  };

  /** What looks after this file alone runs beside the log. */
  const locally = (commit: readonly Operation[]): Outcome => {
    try {
      tx.run("BEGIN IMMEDIATE");
      const [outcome] = runTogether([commit]);
      tx.run("COMMIT");
      return outcome!;
    } catch (thrown) {
      rollBack();
      return { ok: false, error: translateFault(thrown) };
    }
  };

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work, work);
    turn = mine.catch(() => {});
    return mine;
  };

  /** An entry by itself, with what it does here. */
  const alone = (kind: EntryKind, body: Uint8Array, run: () => void): Promise<void> =>
    inTurn(async () => {
      if (over !== undefined) throw over;
      tx.run("BEGIN IMMEDIATE");
      try {
        run();
        await appendAndCommit(kind, body);
      } catch (thrown) {
        rollBack();
        throw translateFault(thrown);
      }
    });

  const applyNow = async (commits: readonly (readonly Operation[])[]): Promise<Outcome[]> => {
    if (over !== undefined) return commits.map(() => ({ ok: false, error: over }));
    const shared = commits.filter((commit) => !isLocalCommit(commit));
    const outcomes = shared.length === 0 ? [] : await replicated(shared);
    let next = 0;
    return commits.map((commit) => (isLocalCommit(commit) ? locally(commit) : outcomes[next++]!));
  };

  return {
    ended,
    async end(why) {
      endWith(why);
      // What waits for its turn is refused without a transaction; one that is open now comes to its end first.
      await turn;
    },
    apply: (commits) => inTurn(() => applyNow(commits)),
    append: (kind, body = new Uint8Array()) => alone(kind, body, () => {}),
    async migrate(steps) {
      const body = Buffer.from(JSON.stringify(steps));
      await alone("migrate", body, () => replica.migrate(body));
      replica.renewSchema();
    },
  };
}

/** The database, for whoever leads or follows with it. */
export const replicaPort = (options: TermWriterOptions): ReplicaPort => ({
  position: options.replica.position,
  replay: options.replica.replay,
  claim: (term, about) => claimTerm(options, term, about),
  unfit: () => options.unfit?.(),
  open(term, lease) {
    options.replica.takeSequences();
    return createTermWriter(options, term, lease);
  },
});
