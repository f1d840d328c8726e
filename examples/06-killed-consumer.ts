/**
 * Events that cross processes while one of them is killed with -9 again and again, and another fails on some of them; the
 * sums at the end prove that every event reached every consumer and counted once. It ends by itself, or on Ctrl-C.
 */
import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
// In programs of your own: from "ringrift-coordination/client" and "ringrift-coordination".
import { connect } from "../src/client.ts";
import { bootstrapCoordination, readSettings } from "../src/index.ts";

const KILLS = 5;
const MAX_ATTEMPTS = 2;
const CAUSE = "SELFPLAY_COMPLETE";
const EFFECT = "NEW_GAMES_AVAILABLE";
const heardBy = { data_pipeline: [CAUSE], scoreboard: [CAUSE, EFFECT] } as const;
type Consumer = keyof typeof heardBy;

const [, , role, folder = ""] = process.argv;
if (role === "selfplay") await publish(folder);
else if (role !== undefined) await consume(role as Consumer, folder);
else await main();

/** A child ends when it is told to or when its parent is gone; Ctrl-C is the parent's to answer. */
function untilTold(): AbortSignal {
  const told = new AbortController();
  process.on("SIGINT", () => {});
  process.once("disconnect", () => process.exit(0));
  process.once("message", () => told.abort());
  return told.signal;
}

function lastWord(count: number): Promise<void> {
  return new Promise((resolve) => void process.send!(count, () => resolve()));
}

/** Plays no games, but says that it did, many times a second; one task in 100 has a damaged segment. */
async function publish(dataDir: string): Promise<void> {
  const told = untilTold();
  const client = connect({ dataDir, source: "selfplay" });
  let acknowledged = 0;
  for (let index = 0; !told.aborted; index += 1) {
    await client.publish(CAUSE, {
      config_key: index % 2 === 0 ? "hex8_2p" : "square8_2p",
      task_id: `${index % 100 === 20 ? "damaged" : "task"}-${index}`,
      node_id: "example",
      games: 8,
      artifact_hash: randomBytes(32).toString("hex"),
      duration_seconds: 1.5,
    });
    acknowledged += 1;
    await sleep(10);
  }
  await client.close();
  await lastWord(acknowledged);
  process.disconnect();
}

/** `data_pipeline` answers each event with one of its own; `scoreboard` counts, and cannot read damaged segments at first. */
async function consume(consumer: Consumer, dataDir: string): Promise<void> {
  const told = untilTold();
  const seen = new Set<string>();
  const tries = new Map<string, number>();
  const client = connect({ dataDir, source: consumer });
  const subscription = client.subscribe(
    { consumer, eventTypes: [...heardBy[consumer]], start: "earliest" },
    ({ eventId, eventType, payload }, { emit }) => {
      const task = eventType === CAUSE ? payload.task_id : "";
      const isDamaged = consumer === "scoreboard" && task.startsWith("damaged-");
      tries.set(eventId, (tries.get(eventId) ?? 0) + 1);
      // By the time that its dead letter is sent back it is repaired.
      if (isDamaged && tries.get(eventId)! <= MAX_ATTEMPTS) {
        throw new Error(`the segment of ${task} is damaged`);
      }
      seen.add(eventId);
      // What it emits is committed together with its ack: killed in between, it emits it again, and it counts once.
      if (consumer === "data_pipeline" && eventType === CAUSE) {
        const { config_key, games, artifact_hash, node_id } = payload;
        emit(EFFECT, { config_key, new_games: games, total_games: games, artifact_hash, node_id });
      }
    },
  );
  told.onabort = async () => {
    await subscription.stop();
    await client.close();
    await lastWord(seen.size);
    process.disconnect();
  };
}

async function main(): Promise<void> {
  const given = process.env.RINGRIFT_DATA_DIR;
  const dataDir = given ?? mkdtempSync(join(tmpdir(), "ringrift-"));
  const coordination = await bootstrapCoordination({
    settings: readSettings(process.env, process.cwd(), {
      dataDir,
      port: 0,
      logLevel: "ERROR",
      // Longer than a start: what a killed one held still waits for its next try when everything else is done.
      router: { retryFirstMs: 2_000, retryMostMs: 3_000, maxAttempts: MAX_ATTEMPTS },
    }),
  });
  const { router } = coordination;
  const { store, deadLetters } = router;
  const over = new AbortController();
  process.once("SIGINT", () => over.abort());

  const start = (name: string): ChildProcess => {
    const child = fork(fileURLToPath(import.meta.url), [name, dataDir]);
    console.log(`${name} is process ${child.pid}`);
    return child;
  };
  const stop = async (child: ChildProcess): Promise<number> => {
    child.send("stop");
    const [[count]] = await Promise.all([once(child, "message"), once(child, "exit")]);
    return count as number;
  };
  const pause = (ms: number) => sleep(ms, undefined, { signal: over.signal }).catch(() => undefined);

  // What an operator does: see what failed, mend the cause, send it back to who failed.
  const sendBack = async () => (await deadLetters.retryAll({ actor: "example" })).length;

  let pipeline = start("data_pipeline");
  const scoreboard = start("scoreboard");
  const isThere = (consumer: Consumer) => router.consumerLag()[consumer] !== undefined;
  while (!isThere("data_pipeline") || !isThere("scoreboard")) await sleep(50);
  const selfplay = start("selfplay");
  let kills = 0;
  let repaired = 0;
  while (!over.signal.aborted && (kills < KILLS || repaired === 0)) {
    while (!isThere("data_pipeline") && !over.signal.aborted) await pause(50);
    await pause(1_000);
    const exited = once(pipeline, "exit");
    pipeline.kill("SIGKILL");
    await exited;
    kills += 1;
    await pause(300);
    pipeline = start("data_pipeline");
    repaired += await sendBack();
    console.log(`killed ${kills} times, repaired ${repaired}; scoreboard is ${router.consumerLag().scoreboard} behind`);
  }

  const acknowledged = await stop(selfplay);
  // Behind by nothing is not done with everything: what waits for its next try stands aside, with all that follows it.
  const everySettled = async (type: string) => {
    for (const event of router.history({ eventType: type, fromJournal: true, limit: 10_000 }))
      await router.settled(event);
  };
  do {
    repaired += await sendBack();
    await everySettled(CAUSE);
    await everySettled(EFFECT);
  } while (deadLetters.counts().pending > 0);
  await stop(pipeline);
  const counted = await stop(scoreboard);
  const count = (column: string, type: string) =>
    store.read<{ n: number }>(`SELECT count(${column}) AS n FROM events WHERE event_type = ?`, type)[0]!.n;
  const sums = {
    acknowledged,
    in_journal: count("*", CAUSE),
    effects: count("*", EFFECT),
    effects_of_different_causes: count("DISTINCT parent_event_id", EFFECT),
    counted_by_scoreboard: counted,
    kills,
    repaired,
  };
  await coordination.shutdown();
  if (given === undefined) rmSync(dataDir, { recursive: true });
  console.log(JSON.stringify(sums));
  const { in_journal, effects, effects_of_different_causes: causes } = sums;
  const addsUp = [in_journal, effects, causes, counted / 2].every((sum) => sum === acknowledged) && acknowledged > 0;
  console.log(addsUp ? "It adds up: every event reached every consumer, and counted once." : "It does not add up.");
  if (!addsUp) process.exitCode = 1;
}
