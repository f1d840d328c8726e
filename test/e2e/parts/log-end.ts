/**
 * Somebody at a log: says again and again which entry some server takes for the last, and appends as far as it is told to. What it appends it
 * sends until it is known what became of it, as a leader does.
 */
import { createInterface } from "node:readline";
import { awaitJetStreamLog, type JetStreamLogOptions } from "../../../src/adapters/nats/jetstream-log.ts";
import { systemClock } from "../../../src/kernel/index.ts";

const { name, log: where } = JSON.parse(process.argv[2]!) as {
  readonly name: string;
  readonly log: Omit<JetStreamLogOptions, "clock">;
};
const say = (...words: unknown[]) => process.stdout.write(`${words.join(" ")}\n`);
const log = await awaitJetStreamLog({ ...where, clock: systemClock() }, new AbortController().signal);
const { leader } = await log.health();
say("leader", leader);
setInterval(
  () =>
    log.last().then(
      (last) => say("last", last),
      () => say("nobody answers"),
    ),
  200,
);
createInterface({ input: process.stdin }).on("line", async (line) => {
  const [from, to] = line.split(" ").map(Number) as [number, number];
  for (let expected = from; expected < to; ) {
    const sent = { id: `${name} ${expected + 1}`, bytes: Buffer.from(`${expected + 1}`) };
    const { outcome } = await log.append(sent, expected);
    if (outcome === "accepted") expected += 1;
    if (outcome === "refused") say("refused", expected);
    if (outcome === "refused") return;
  }
  say("appended", to);
});
