/**
 * One of several coordinators, as small as it can be: it follows the log, and while it leads it publishes through a router and says of each
 * event that it was acknowledged: in which term, and when by the clock that all processes of a machine share.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { awaitJetStreamLog, type JetStreamLogOptions } from "../../../src/adapters/nats/jetstream-log.ts";
import { openReplica } from "../../../src/adapters/sqlite/replica/replica.ts";
import { replicatedStore } from "../../../src/adapters/sqlite/replica/replicated-store.ts";
import { replicaPort } from "../../../src/adapters/sqlite/replica/term-writer.ts";
import { missingSteps, openDatabase, openWriter } from "../../../src/adapters/sqlite/writer.ts";
import type { LeaseTiming } from "../../../src/cluster/leadership/decide.ts";
import { startLeadership } from "../../../src/cluster/leadership/leadership.ts";
import { builtinRows, createCatalog } from "../../../src/events/index.ts";
import { messageOf, silentLog, systemClock, systemRandom } from "../../../src/kernel/index.ts";
import { EventRouter } from "../../../src/router/index.ts";
import { addGame, fillIn, modulesOf, type Version } from "./growing-module.ts";

export interface MemberOptions {
  readonly name: string;
  readonly folder: string;
  readonly log: Omit<JetStreamLogOptions, "clock">;
  readonly timing: LeaseTiming;
  /** Of its program. The next one makes a step of the schema when it leads, and fills in what is missing. */
  readonly version: Version;
}

const FILL_AT_ONCE = 20;

const { name, folder, log: where, timing, version } = JSON.parse(process.argv[2]!) as MemberOptions;
/** By the clock that all processes of a machine share. */
const machineMs = () => process.hrtime.bigint() / 1_000_000n;
const say = (...words: unknown[]) => process.stdout.write(`${words.join(" ")}\n`);
const clock = systemClock();
const path = join(folder, "coordination.db");
const modules = modulesOf(version);
// What is there is of the version that the log says, and takes its steps from there.
const db = existsSync(path) ? openDatabase(path) : openWriter(path, modulesOf(1)).db;
const replica = openReplica(db, { cluster: "games", generation: 1 });
const steps = () =>
  missingSteps(db, modules).map(({ module, step }) => ({ module, id: step.id, name: step.name, sql: step.sql }));
/** Why this program must not lead: somebody has made steps that it does not know. */
const unfit = () => {
  try {
    steps();
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  }
};
const opening = new AbortController();
// Told to end before the servers were there: nothing to hand over.
process.once("SIGTERM", () => opening.abort());
const log = await awaitJetStreamLog(
  { ...where, clock, onTrouble: ({ message }) => say("waits", message) },
  opening.signal,
);
const boot = randomUUID();
let sent = 0;
const nextId = () => {
  sent += 1;
  return `${boot}.${sent}`;
};

const life = startLeadership({
  replica: replicaPort({ replica, modules, log, clock, nextId, unfit }),
  log,
  clock,
  logLines: { info: (line) => say("info", line), warn: (line) => say("warn", line) },
  timing,
  boot,
  node: name,
  lead: async ({ term, writer }) => {
    const missing = steps();
    if (missing.length > 0) await writer.migrate({ steps: missing });
    const store = replicatedStore(writer, path, clock);
    const router = new EventRouter({
      catalog: createCatalog(builtinRows),
      store,
      clock,
      random: systemRandom(),
      log: silentLog(),
      nodeId: name,
    });
    let isOver = false;
    let isFilled = false;
    say("leads", term.term);
    const publishing = (async () => {
      for (let games = 1; !isOver; games += 1) {
        const publish = (n: number) =>
          router
            .publish("NEW_GAMES_AVAILABLE", { config_key: "hex8_2p", new_games: n, total_games: games } as never)
            .then(
              ({ eventId }) => say("acked", eventId, term.term, machineMs()),
              () => {},
            );
        await Promise.all([
          ...[1, 2, 3, 4, 5].map(publish),
          store.commit([addGame({ game: `${games}` })]).catch(() => {}),
        ]);
        if (version === 2 && !isFilled) {
          const [filled] = await store.commit([fillIn({ most: FILL_AT_ONCE })]).catch(() => [undefined]);
          isFilled = filled === 0;
          if (isFilled) say("filled");
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    return async () => {
      isOver = true;
      await publishing;
      await router.stop();
      await store.close();
      say("leads no more");
    };
  },
});
process.on("SIGTERM", async () => {
  await life.stop();
  await log.close();
  say("ended at", replica.position().seq);
  process.exit(0);
});
setInterval(() => say("at", replica.position().seq), 200);
setInterval(
  () =>
    log.health().then(
      ({ leader }) => say("engine", leader),
      () => say("engine", null),
    ),
  1_000,
);
await life.running.catch((thrown: unknown) => say("broken", thrown));
