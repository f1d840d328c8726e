/**
 * One of several coordinators, as small as it can be: it follows the log, and while it leads it publishes through a router and says of each
 * event that it was acknowledged.
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { awaitJetStreamLog, type JetStreamLogOptions } from "../../../src/adapters/nats/jetstream-log.ts";
import { openReplica } from "../../../src/adapters/sqlite/replica/replica.ts";
import { replicatedStore } from "../../../src/adapters/sqlite/replica/replicated-store.ts";
import { replicaPort } from "../../../src/adapters/sqlite/replica/term-writer.ts";
import { openWriter } from "../../../src/adapters/sqlite/writer.ts";
import { storeModules } from "../../../src/app/store-modules.ts";
import type { LeaseTiming } from "../../../src/cluster/leadership/decide.ts";
import { startLeadership } from "../../../src/cluster/leadership/leadership.ts";
import { builtinRows, createCatalog } from "../../../src/events/index.ts";
import { silentLog, systemClock, systemRandom } from "../../../src/kernel/index.ts";
import { EventRouter } from "../../../src/router/index.ts";

export interface MemberOptions {
  readonly name: string;
  readonly folder: string;
  readonly log: Omit<JetStreamLogOptions, "clock">;
  readonly timing: LeaseTiming;
}

const { name, folder, log: where, timing } = JSON.parse(process.argv[2]!) as MemberOptions;
const say = (...words: unknown[]) => process.stdout.write(`${words.join(" ")}\n`);
const clock = systemClock();
const path = join(folder, "coordination.db");
const replica = openReplica(openWriter(path, storeModules).db, { cluster: "games", generation: 1 });
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
  replica: replicaPort({ replica, modules: storeModules, log, clock, nextId }),
  log,
  clock,
  logLines: { info: (line) => say("info", line), warn: (line) => say("warn", line) },
  timing,
  boot,
  node: name,
  isPreferred: name === "a",
  lead: async ({ term, writer }) => {
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
    say("leads", term.term);
    const publishing = (async () => {
      for (let games = 1; !isOver; games += 1) {
        const publish = (n: number) =>
          router
            .publish("NEW_GAMES_AVAILABLE", { config_key: "hex8_2p", new_games: n, total_games: games } as never)
            .then(
              ({ eventId }) => say("acked", eventId),
              () => {},
            );
        await Promise.all([1, 2, 3, 4, 5].map(publish));
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
await life.running.catch((thrown: unknown) => say("broken", thrown));
