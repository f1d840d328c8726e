/**
 * The thread of a coordinator that is one of several: it has the connection to the log and the one writer of the database, follows,
 * tries to lead, and writes for whoever leads in this process. The main thread is told when a term begins and when it ends.
 */
import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { awaitJetStreamLog } from "../../adapters/nats/jetstream-log.ts";
import { portable } from "../../adapters/sqlite/portable-error.ts";
import { openReplica, positionIn } from "../../adapters/sqlite/replica/replica.ts";
import { replicaPort } from "../../adapters/sqlite/replica/term-writer.ts";
import { missingSteps, openDatabase, openReader } from "../../adapters/sqlite/writer.ts";
import { encodeMember, otherLeases, startLeadership, writeTermAbout } from "../../cluster/leadership/index.ts";
import { isOperatingError, messageOf, OperatingError, systemClock } from "../../kernel/index.ts";
import type { StoreModule } from "../../router/index.ts";
import { createMemberView, leaderLeaseOf } from "./member-view.ts";
import { type FromMember, type MemberThreadOptions, sharedNow, type ToMember } from "./messages.ts";
import { createTermDesk } from "./term-desk.ts";

const SHOW_EVERY_MS = 250;
const ANNOUNCE_EVERY_MS = 1_000;
const ENGINE_EVERY_MS = 5_000;
const START_MS = 30_000;
/** A main thread that says nothing for this part of a lease hangs, and its lease is not renewed. */
const HANGS_SHARE = 1 / 3;

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

/** Whoever asks gets what came of it. */
async function answerWith(say: (message: FromMember) => void, id: number, work: () => Promise<unknown>): Promise<void> {
  try {
    say({ type: "answer", id, result: await work() });
  } catch (thrown) {
    say({ type: "answer", id, error: portable(thrown) });
  }
}

/** The database of this folder, as a replica that stands where it stopped. */
function openOwnReplica(path: string) {
  const db = openDatabase(path);
  const at = positionIn(db);
  if (at === undefined)
    throw OperatingError.conflict("NOT_A_MEMBER", "this data folder belongs to no cluster of coordinators", {
      hint: "Run 'ringrift cluster init' on the first machine, or 'ringrift cluster join' on the others.",
    });
  return { db, replica: openReplica(db, { ...at, openBeside: () => openReader(path) }) };
}

async function serve(port: NonNullable<typeof parentPort>, options: MemberThreadOptions): Promise<void> {
  const { path, modulesUrl, name, version, timing, address, isPreferred } = options;
  const say = (message: FromMember) => port.postMessage(message);
  const clock = systemClock();
  const boot = randomUUID();
  const trusted = new Float64Array(options.trusted);
  const toShared = sharedNow() - clock.monotonic();
  const { storeModules } = (await import(modulesUrl)) as { storeModules: readonly StoreModule[] };
  const { db, replica } = openOwnReplica(path);
  let noteTrouble = (_what: string): void => {};
  let givesWay = (): boolean => false;
  const onTrouble = ({ message }: OperatingError) => noteTrouble(message);
  // All machines may start at once: the servers need a moment to find each other.
  const log = await awaitJetStreamLog({ ...options.log, clock, onTrouble }, AbortSignal.timeout(START_MS));
  let sent = 0;
  const nextId = () => {
    sent += 1;
    return `${boot}.${sent}`;
  };

  const desk = createTermDesk({
    ...{ name, say, changed: () => show() },
    async prepare({ writer }) {
      const steps = stepsFor(db, storeModules);
      if (steps.length > 0) await writer.migrate({ steps });
    },
  });
  let answeredAt = clock.monotonic();
  const logLine =
    (level: "info" | "warn") =>
    (line: string, more?: object): void =>
      say({ type: "log", level, line, more });
  const life = startLeadership({
    replica: replicaPort({
      ...{ replica, modules: storeModules, log, clock, nextId },
      unfit: () => unfitness(db, storeModules) ?? view.damage(),
    }),
    ...{ log, clock, timing, boot, node: name, lead: desk.lead, givesWay: () => givesWay() },
    logLines: { info: logLine("info"), warn: logLine("warn") },
    about: () => writeTermAbout({ ...address, version, lease_ms: timing.leaseMs }),
    leaderLeaseMs: () => leaderLeaseOf(replica),
    isAnswering: () => clock.monotonic() - answeredAt < timing.leaseMs * HANGS_SHARE,
  });
  const view = createMemberView({ name, isPreferred, replica, log, life, clock, leaseMs: timing.leaseMs });
  noteTrouble = view.note;
  givesWay = view.givesWay;

  const show = () => {
    // Without a delay: what another leads is not ours to touch.
    const until = desk.trustedUntil();
    trusted[0] = until === 0 ? 0 : until + toShared;
    say({ type: "view", view: view.now() });
  };
  const handOverIfDamaged = () => {
    const damage = life.role() === "leader" ? view.damage() : undefined;
    if (damage !== undefined) void life.stepDown(undefined, damage);
  };
  const announce = () => {
    const { cluster, role, term, seq, leader, refused, trouble, checks } = view.now();
    const self = { name, boot, version, preferred: isPreferred, lease_ms: timing.leaseMs };
    const news = { ...address, ...self, cluster, role, term, seq, refused, trouble };
    log.members.announce(encodeMember({ ...news, leader: leader?.name ?? null, check: checks[0] ?? null }));
  };
  let saidLeases = "";
  const noticeLeases = () => {
    const others = otherLeases(view.now().members, timing.leaseMs).map(
      ({ name: one, leaseMs }) => `${one} ${leaseMs} ms`,
    );
    const said = others.join(", ");
    if (said !== saidLeases && said !== "")
      logLine("warn")("other coordinators have another lease: all wait for the longest", { own: timing.leaseMs, said });
    saidLeases = said;
  };
  const timers = [
    setInterval(noticeLeases, ENGINE_EVERY_MS),
    setInterval(show, SHOW_EVERY_MS),
    setInterval(announce, ANNOUNCE_EVERY_MS),
    setInterval(handOverIfDamaged, ANNOUNCE_EVERY_MS),
    setInterval(view.lookAtEngine, ENGINE_EVERY_MS),
  ];

  const stop = async (): Promise<void> => {
    await life.stop();
    for (const timer of timers) clearInterval(timer);
    await log.close();
    replica.stopLooking();
    db.close();
    port.close();
  };
  const asked: { readonly [K in "step-down" | "verify" | "forget"]: (of: Extract<ToMember, { type: K }>) => unknown } =
    {
      "step-down": ({ to, reason }) => life.stepDown(to ?? undefined, reason),
      async verify() {
        await desk.need().writer.append("verify");
        await replica.looked();
        return replica.checks()[0];
      },
      forget: ({ upTo }) => log.forget(upTo),
    };
  port.on("message", (message: ToMember) => {
    answeredAt = clock.monotonic();
    if (message.type === "alive") return;
    if (message.type === "stop") void stop();
    else if ("id" in message)
      void answerWith(say, message.id, async () => {
        desk.need();
        return asked[message.type](message as never);
      });
    else void desk.take(message);
  });
  void view.lookAtEngine();
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
