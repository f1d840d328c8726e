/** A process of the demo: plays no games, but says that it did, many times a second, until it is told to stop. */
import { randomBytes } from "node:crypto";
import { sleep, systemClock } from "../../kernel/index.ts";
import { connect } from "../../surfaces/index.ts";
import { CAUSE, type WorkerOptions } from "./messages.ts";
import { openWorkerLink } from "./worker-link.ts";

const TICK_MS = 20;
const TELL_EVERY_MS = 100;
const CONFIGS = ["hex8_2p", "hex8_3p", "square8_2p", "othello6_2p"];
/** The first damaged task comes soon, the others from time to time. */
const DAMAGED_FIRST_SECONDS = 1;
const DAMAGED_EVERY_SECONDS = 5;

const options = JSON.parse(process.argv[2]!) as WorkerOptions;
const clock = systemClock();
const link = openWorkerLink(process);
const client = connect({ dataDir: options.dataDir, source: options.role });
const run = randomBytes(4).toString("hex");

const damagedAt = (index: number): boolean => {
  const first = Math.ceil(DAMAGED_FIRST_SECONDS * options.ratePerSecond);
  const every = Math.ceil(DAMAGED_EVERY_SECONDS * options.ratePerSecond);
  return index >= first && (index - first) % every === 0;
};

const payloadOf = (index: number) => ({
  config_key: damagedAt(index) ? "hex11_4p" : CONFIGS[index % CONFIGS.length]!,
  task_id: `${damagedAt(index) ? "damaged" : "task"}-${run}-${index}`,
  node_id: "demo",
  games: 8 + (index % 5),
  artifact_hash: randomBytes(32).toString("hex"),
  duration_seconds: 1.5,
});

let stopped = false;
let published = 0;
link.onMessage(({ type }) => {
  if (type === "stop") stopped = true;
});

const began = clock.monotonic();
const pending = new Set<Promise<void>>();
for (let sent = 0, toldAt = 0; !stopped; ) {
  const due = ((clock.monotonic() - began) / 1_000) * options.ratePerSecond;
  for (; sent < due; sent += 1) {
    const one = client.publish(CAUSE, payloadOf(sent)).then(({ suppressed }) => {
      if (suppressed === null) published += 1;
      pending.delete(one);
    });
    pending.add(one);
  }
  if (clock.monotonic() - toldAt >= TELL_EVERY_MS) {
    toldAt = clock.monotonic();
    void link.tell({ type: "count", count: published });
  }
  await sleep(clock, TICK_MS);
}
await Promise.all(pending);
await client.close();
await link.tell({ type: "done", count: published, byType: { [CAUSE]: published } });
process.disconnect();
