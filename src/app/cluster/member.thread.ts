/**
 * The thread of a coordinator that is one of several: it has the connection to the log and the one writer of the database, follows,
 * tries to lead, and writes for whoever leads in this process. The main thread is told when a term begins and when it ends.
 */
import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { awaitJetStreamLog, type JetStreamLog } from "../../adapters/nats/jetstream-log.ts";
import { fromPortable, portable } from "../../adapters/sqlite/portable-error.ts";
import { openReplica, positionIn, type Replica } from "../../adapters/sqlite/replica/replica.ts";
import { replicaPort } from "../../adapters/sqlite/replica/term-writer.ts";
import { missingSteps, openDatabase } from "../../adapters/sqlite/writer.ts";
import {
  type ClusterView,
  createMemberBook,
  decodeMember,
  type EngineHealth,
  encodeMember,
  type Leadership,
  type LeaderView,
  type Leading,
  type RefusedEntry,
  readStepDown,
  readTermAbout,
  startLeadership,
  type TermView,
  writeTermAbout,
} from "../../cluster/leadership/index.ts";
import { isOperatingError, messageOf, OperatingError, systemClock } from "../../kernel/index.ts";
import type { StoreModule } from "../../router/index.ts";
import { type FromMember, type MemberThreadOptions, sharedNow, type ToMember } from "./messages.ts";

const SHOW_EVERY_MS = 250;
const ANNOUNCE_EVERY_MS = 1_000;
const ENGINE_EVERY_MS = 5_000;
const START_MS = 30_000;
/** A main thread that says nothing for this part of a lease hangs, and its lease is not renewed. */
const HANGS_SHARE = 1 / 3;
const MAX_CHECKS_SHOWN = 10;
const MAX_TERMS_SHOWN = 10;
/** For so long others are told of an entry that was refused: whoever leads has heard it by then. */
const TELL_REFUSED_MS = 600_000;

/** Whoever leads by the newest term that is here, unless it has said that it does no more. */
function leaderOf(replica: Replica): LeaderView | null {
  const [newest] = replica.terms(1);
  if (newest === undefined) return null;
  const about = readTermAbout(newest.about);
  if (about === undefined) return null;
  return { name: newest.node, term: newest.term, since: newest.at, url: about.url, fingerprint: about.fingerprint };
}

const termsOf = (replica: Replica): TermView[] =>
  replica.terms(MAX_TERMS_SHOWN).map(({ term, node, at, stepDown }) => ({
    ...{ term, node, since: at },
    stepDown: stepDown === null ? null : (readStepDown(stepDown) ?? null),
  }));

const checksOf = (replica: Replica) => replica.checks().slice(0, MAX_CHECKS_SHOWN);

const lately = (refused: RefusedEntry | null, now: number): RefusedEntry | null =>
  refused === null || now - refused.at > TELL_REFUSED_MS ? null : refused;

/** What this program must do with the schema before it may lead; throws for one that it does not know. */
const stepsFor = (db: DatabaseSync, modules: readonly StoreModule[]) =>
  missingSteps(db, modules).map(({ module, step }) => ({ module, id: step.id, name: step.name, sql: step.sql }));

/** Why this program must not lead with this schema; undefined when it may. */
function unfitness(db: DatabaseSync, modules: readonly StoreModule[]): string | undefined {
  try {
    stepsFor(db, modules);
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

/** How the servers of the log are, as of the last look. */
function watchEngine(log: Pick<JetStreamLog, "health">) {
  let seen: EngineHealth | null = null;
  const look = async () => {
    seen = await log.health().catch(() => null);
  };
  void look();
  return { look, now: () => seen };
}

/** Whoever asks gets what came of it. */
async function answerWith(say: (message: FromMember) => void, id: number, work: () => Promise<unknown>): Promise<void> {
  try {
    say({ type: "answer", id, result: await work() });
  } catch (thrown) {
    say({ type: "answer", id, error: portable(thrown) });
  }
}

async function serve(port: NonNullable<typeof parentPort>, options: MemberThreadOptions): Promise<void> {
  const { path, modulesUrl, name, version, timing, address } = options;
  const say = (message: FromMember) => port.postMessage(message);
  const clock = systemClock();
  const boot = randomUUID();
  const trusted = new Float64Array(options.trusted);
  const toShared = sharedNow() - clock.monotonic();
  const { storeModules } = (await import(modulesUrl)) as { storeModules: readonly StoreModule[] };
  const db = openDatabase(path);
  const at = positionIn(db);
  if (at === undefined)
    throw OperatingError.conflict("NOT_A_MEMBER", "this data folder belongs to no cluster of coordinators", {
      hint: "Run 'ringrift cluster init' on the first machine, or 'ringrift cluster join' on the others.",
    });
  const replica = openReplica(db, at);
  const unfit = () => unfitness(db, storeModules);
  let trouble: string | null = null;
  // All machines may start at once: the servers need a moment to find each other.
  const onTrouble = ({ message }: OperatingError) => {
    trouble = message;
  };
  const log = await awaitJetStreamLog({ ...options.log, clock, onTrouble }, AbortSignal.timeout(START_MS));
  let sent = 0;
  const nextId = () => {
    sent += 1;
    return `${boot}.${sent}`;
  };

  let answeredAt = clock.monotonic();
  let current:
    | (Leading & { readonly leading: PromiseWithResolvers<void>; ended: PromiseWithResolvers<void> })
    | undefined;
  const logLine =
    (level: "info" | "warn") =>
    (line: string, more?: object): void =>
      say({ type: "log", level, line, more });

  const lead = async (leading: Leading): Promise<() => Promise<void>> => {
    const { term } = leading.term;
    const steps = stepsFor(db, storeModules);
    try {
      if (steps.length > 0) await leading.writer.migrate({ steps });
    } catch (thrown) {
      // The term was over before anything could begin in it.
      if (isOperatingError(thrown, "STORE_FENCED")) return async () => {};
      throw thrown;
    }
    current = { ...leading, leading: Promise.withResolvers(), ended: Promise.withResolvers() };
    const mine = current;
    void leading.writer.ended.then((error) => {
      showTrust();
      say({ type: "over", term, error: portable(error) });
    });
    // Whoever begins sees the term that it begins in.
    show();
    say({ type: "lead", term });
    await mine.leading.promise;
    return async () => {
      say({ type: "end", term });
      await mine.ended.promise;
      current = undefined;
    };
  };

  /** Zero once the term is over, without a delay: what another leads is not ours to touch. */
  const showTrust = () => {
    trusted[0] = current === undefined ? 0 : current.trustedUntil() + toShared;
  };

  const life: Leadership = startLeadership({
    replica: replicaPort({ replica, modules: storeModules, log, clock, nextId, unfit }),
    log,
    clock,
    logLines: { info: logLine("info"), warn: logLine("warn") },
    timing,
    boot,
    node: name,
    isPreferred: options.isPreferred,
    about: () => writeTermAbout({ ...address, version }),
    isAnswering: () => clock.monotonic() - answeredAt < timing.leaseMs * HANGS_SHARE,
    lead,
  });

  const book = createMemberBook(clock, at.cluster);
  log.members.listen((bytes) => {
    book.hear(decodeMember(bytes));
  });
  const engine = watchEngine(log);
  let seen = { seq: -1, at: 0 };
  const view = (): ClusterView => {
    const { cluster, generation, seq, term } = replica.position();
    // Entries that come prove that whatever was in the way is over.
    if (seq !== seen.seq) [trouble, seen] = [null, { seq, at: clock.monotonic() }];
    const isHeard = life.role() === "leader" || clock.monotonic() - seen.at < timing.leaseMs;
    return {
      ...{ cluster, generation, name, role: life.role(), term, seq, trouble },
      ...{ leader: isHeard ? leaderOf(replica) : null, members: book.list(), terms: termsOf(replica) },
      ...{ refused: lately(life.refused(), clock.now()), checks: checksOf(replica), engine: engine.now() },
    };
  };
  const show = () => {
    showTrust();
    say({ type: "view", view: view() });
  };
  const announce = () => {
    const { cluster, role, term, seq, leader, refused, trouble: why } = view();
    const news = { ...address, name, boot, cluster, role, term, seq, version, refused, trouble: why };
    log.members.announce(encodeMember({ ...news, leader: leader?.name ?? null }));
  };
  const timers = [
    setInterval(show, SHOW_EVERY_MS),
    setInterval(announce, ANNOUNCE_EVERY_MS),
    setInterval(engine.look, ENGINE_EVERY_MS),
  ];

  const answer = (id: number, work: () => Promise<unknown>) => answerWith(say, id, work);
  const needLead = () => {
    if (current === undefined)
      throw OperatingError.unavailable("NOT_LEADER", `${name} does not lead`, { details: { retryAfterSeconds: 1 } });
    return current;
  };
  const stop = async (): Promise<void> => {
    await life.stop();
    for (const timer of timers) clearInterval(timer);
    await log.close();
    db.close();
    port.close();
  };
  port.on("message", (message: ToMember) => {
    answeredAt = clock.monotonic();
    if (message.type === "apply") {
      const { term, batch } = message;
      if (current?.term.term !== term) return;
      void current.writer.apply(batch).then((outcomes) =>
        say({
          type: "settled",
          term,
          outcomes: outcomes.map((one) => (one.ok ? one : { ok: false, error: portable(one.error) })),
        }),
      );
    } else if (message.type === "leading" && current?.term.term === message.term) {
      if (message.error === undefined) current.leading.resolve();
      else current.leading.reject(fromPortable(message.error));
    } else if (message.type === "ended" && current?.term.term === message.term) current.ended.resolve();
    else if (message.type === "step-down")
      void answer(message.id, async () => {
        needLead();
        await life.stepDown(message.to ?? undefined, message.reason);
      });
    else if (message.type === "verify")
      void answer(message.id, async () => {
        await needLead().writer.append("verify");
        return replica.checks()[0];
      });
    else if (message.type === "forget")
      void answer(message.id, async () => {
        needLead();
        await log.forget(message.upTo);
      });
    else if (message.type === "stop") void stop();
  });
  show();
  announce();
  say({ type: "ready" });
  life.running.catch((thrown: unknown) =>
    say({
      type: "broken",
      error: portable(
        isOperatingError(thrown)
          ? thrown
          : OperatingError.internal("MEMBER_BROKEN", `this coordinator cannot go on: ${messageOf(thrown)}`),
      ),
    }),
  );
}

if (parentPort !== null) {
  const port = parentPort;
  await serve(port, workerData as MemberThreadOptions).catch((thrown: unknown) => {
    port.postMessage({ type: "failed", error: portable(thrown) } satisfies FromMember);
    port.close();
    // A connection that is still open must not keep the thread.
    process.exit();
  });
}
