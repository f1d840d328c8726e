/**
 * A standby by itself: follows a log into a database of its own, and says how far it is and how late each entry was. It takes lines:
 * `lag` prints how late entries were since the last time.
 */
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type JetStreamLogOptions, openJetStreamLog } from "../../../src/adapters/nats/jetstream-log.ts";
import { openReplica } from "../../../src/adapters/sqlite/replica/replica.ts";
import { openWriter } from "../../../src/adapters/sqlite/writer.ts";
import { storeModules } from "../../../src/app/store-modules.ts";
import { systemClock } from "../../../src/kernel/index.ts";
import { decodeEntry } from "../../../src/router/index.ts";

export interface StandbyOptions {
  readonly folder: string;
  readonly log: Omit<JetStreamLogOptions, "clock">;
  readonly cluster: { readonly cluster: string; readonly generation: number };
}

const { folder, log: where, cluster } = JSON.parse(process.argv[2]!) as StandbyOptions;
const clock = systemClock();
const log = await openJetStreamLog({ ...where, clock });
const replica = openReplica(openWriter(join(folder, "standby.db"), storeModules).db, cluster);
const say = (line: string) => process.stdout.write(`${line}\n`);
let late: number[] = [];
createInterface({ input: process.stdin }).on("line", () => {
  const sorted = late.toSorted((one, other) => one - other);
  late = [];
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  say(`lag ${JSON.stringify({ entries: sorted.length, p50: at(0.5), p99: at(0.99) })}`);
});
const last = await log.last();
const begun = clock.monotonic();
for await (const entry of log.follow(0, new AbortController().signal)) {
  replica.replay([entry]);
  late.push(clock.now() - decodeEntry(entry.bytes).header.at);
  if (entry.seq === last) {
    const { n } = replica.db.prepare("SELECT count(*) AS n FROM events").get() as { n: number };
    say(`caught up ${JSON.stringify({ entries: last, events: n, ms: Math.round(clock.monotonic() - begun) })}`);
    late = [];
  }
}
