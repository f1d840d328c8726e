/** Rounds of kill -9 on the main process, a publisher or a consumer, at random and at named points; then the books. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pick, type Random, seededRandom } from "../../src/kernel/index.ts";
import { until } from "../support/patience.ts";
import type { Owned, Started } from "../support/process.ts";

/** Whom a round kills: the main process at one of its named points, or one of the three at any moment. */
const VICTIMS = [0, 1, 2, 3, 4, 5] as const;
const CRASH_POINTS = ["before-commit", "after-commit-before-reply", "after-handler-before-ack"] as const;

const part = (name: string) => new URL(`./parts/${name}.ts`, import.meta.url);
const OUTSIDE = "outside";

export interface Books {
  readonly rounds: number;
  readonly acknowledged: number;
  readonly journaled: number;
  /** What does not add up; empty when nothing was lost and nothing counted twice. */
  readonly faults: readonly string[];
}

export async function killRounds(own: Owned, rounds: number, seed: number): Promise<Books> {
  const random = seededRandom(seed);
  const dataDir = own.folder();
  const acked = new Set<string>();
  const startMain = (point = "never", after = 0) => own.startNode(part("main"), [dataDir, point, String(after)]);
  const startPublisher = (round: number) => own.startNode(part("publisher"), [dataDir, `publisher-${round}`]);
  const startConsumer = () => own.startNode(part("consumer"), [dataDir, OUTSIDE]);
  const collect = ({ lines }: Started) => {
    for (const line of lines) if (line.startsWith("acked ")) acked.add(line.slice(6));
  };

  const waiting: number[] = [];
  let main = startMain();
  await main.waitForLine(/ready/);
  let publisher = startPublisher(0);
  let consumer = startConsumer();
  for (let round = 1; round <= rounds; round += 1) {
    await publisher.waitForLine(/acked/);
    // All of them in each six rounds, in an order that the seed decides.
    if (waiting.length === 0) waiting.push(...VICTIMS);
    const [victim] = waiting.splice(pick(random, waiting.length), 1) as [number];
    if (victim < 3) {
      // Stops by itself at a named point, in the middle of the traffic.
      await main.killNow();
      main = startMain(CRASH_POINTS[victim]!, 5 + pick(random, 40));
      await main.exited;
    } else {
      await randomMoment(random, publisher);
      if (victim === 3) await main.killNow();
      if (victim === 4) await publisher.killNow();
      if (victim === 5) await consumer.killNow();
    }
    if (victim <= 3) {
      main = startMain();
      await main.waitForLine(/ready/);
    } else if (victim === 4) {
      collect(publisher);
      publisher = startPublisher(round);
    } else consumer = startConsumer();
  }
  publisher.kill("SIGTERM");
  await publisher.exited;
  collect(publisher);
  await allEnded(dataDir);
  await consumer.stop();
  await main.stop();
  return readBooks(dataDir, rounds, acked);
}

/** A moment that depends on the seed and on the traffic, not on a stopwatch: after so many more acknowledged events. */
const randomMoment = async (random: Random, publisher: Started): Promise<void> => {
  const from = publisher.lines.length;
  const more = pick(random, 200);
  for (let at = from; at < from + more; ) at = (await publisher.waitForLine(/acked/, { after: at })).index;
};

const OPEN = `SELECT count(*) AS n FROM events e, consumers c WHERE e.event_type = 'CHAOS_WORK'
  AND (e.seq > c.low_water OR EXISTS (SELECT 1 FROM deliveries d WHERE d.consumer = c.consumer AND d.seq = e.seq AND d.state <> 'done'))`;

/** Waits until nothing is owed any more. */
async function allEnded(dataDir: string): Promise<void> {
  const db = new DatabaseSync(join(dataDir, "coordination.db"), { readOnly: true, timeout: 5_000 });
  try {
    let left = 0;
    await until(
      () => {
        left = (db.prepare(OPEN).get() as { n: number }).n;
        return left === 0;
      },
      () => `${left} deliveries are still open`,
    );
  } finally {
    db.close();
  }
}

function readBooks(dataDir: string, rounds: number, acked: ReadonlySet<string>): Books {
  const db = new DatabaseSync(join(dataDir, "coordination.db"), { readOnly: true });
  const all = <T>(sql: string) => db.prepare(sql).all() as T[];
  const faults: string[] = [];
  const work = all<{ event_id: string }>("SELECT event_id FROM events WHERE event_type = 'CHAOS_WORK'").map(
    (e) => e.event_id,
  );
  const journal = new Set(work);
  for (const id of acked) if (!journal.has(id)) faults.push(`acknowledged event ${id} is lost`);
  const dead = all<{ consumer: string; event_id: string; error: string }>(
    "SELECT consumer, event_id, error FROM dead_letters",
  );
  for (const { consumer, event_id, error } of dead)
    faults.push(`${consumer} buried ${event_id}: ${error.split("\n")[0]}`);

  const rows = (table: string) =>
    new Map(
      all<{ key: string; value: string }>(`SELECT key, value FROM state_rows WHERE table_name = '${table}'`).map(
        ({ key, value }) => [key, (JSON.parse(value) as { n: number }).n],
      ),
    );
  const effects = rows("effects");
  const totals = rows("totals");
  const echoes = new Map<string, number>();
  for (const { payload } of all<{ payload: string }>("SELECT payload FROM events WHERE event_type = 'CHAOS_ECHO'")) {
    const { of, by } = JSON.parse(payload) as { of: string; by: string };
    echoes.set(`${by}/${of}`, (echoes.get(`${by}/${of}`) ?? 0) + 1);
  }
  const expectOnce = (what: string, counts: ReadonlyMap<string, number>, by: string) => {
    for (const id of work)
      if (counts.get(`${by}/${id}`) !== 1)
        faults.push(`${what} of ${by} on ${id}: ${counts.get(`${by}/${id}`) ?? 0} times`);
  };
  for (const by of ["inside-1", "inside-2"]) {
    expectOnce("effect", effects, by);
    if (totals.get(by) !== work.length) faults.push(`${by} counted ${totals.get(by)} of ${work.length}`);
  }
  for (const by of ["inside-1", OUTSIDE]) expectOnce("answer", echoes, by);
  if (totals.has("out-of-order")) faults.push(`${totals.get("out-of-order")} events out of order`);
  const integrity = all<{ integrity_check: string }>("PRAGMA integrity_check")[0]?.integrity_check;
  if (integrity !== "ok") faults.push(`integrity: ${integrity}`);
  db.close();
  return { rounds, acknowledged: acked.size, journaled: work.length, faults: faults.slice(0, 20) };
}
