import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import {
  coordinatorFor,
  NODE,
  type OutboxFileOptions,
  outboxFile,
  type Weather,
} from "../../../test/support/outbox.ts";
import { breathe, driver } from "../../../test/support/virtual-time.ts";
import { defined, OperatingError, seededRandom, silentLog, virtualClock } from "../../kernel/index.ts";
import { createForwarder, type Forwarder, type ForwardPort } from "./forwarder.ts";
import type { Outbox } from "./outbox.ts";

const say = (outbox: Outbox, n: number) =>
  outbox.publish(
    "DISK_CLEANUP_TRIGGERED",
    { node_id: NODE, bytes_freed: n, artifacts: 0, reason: "test" },
    { source: "test" },
  );

function world(weather?: (request: number) => Weather, more: { port?: (port: ForwardPort) => ForwardPort } = {}) {
  const clock = virtualClock();
  const file = outboxFile(onTestFinished);
  const there = coordinatorFor(weather);
  onTestFinished(() => there.end());
  const live: Forwarder[] = [];
  const logged: unknown[][] = [];
  const note = (message: string, fields?: object) => void logged.push([message, fields]);
  const log = { ...silentLog(), info: note, warn: note };
  const forward = (outbox: Outbox, maxEvents = 5) => {
    const port = more.port?.(there.port) ?? there.port;
    const forwarder = createForwarder({ outbox, port, clock, random: seededRandom(7), log, maxEvents });
    live.push(forwarder);
    return forwarder;
  };
  onTestFinished(async () => {
    for (const each of live) await each.stop();
  });
  const open = (carry?: OutboxFileOptions["carry"]) => file.open({ clock, ...defined({ carry }) });
  return { clock, there, forward, logged, drive: driver(clock), open };
}
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

test("events arrive in order, in batches, and say when the cluster has them", async () => {
  const { there, forward, drive, open } = world();
  const outbox = open();
  const promised = [];
  for (const n of upTo(12)) promised.push((await say(outbox, n)).forwarded);
  const forwarder = forward(outbox);
  await drive(forwarder.flush(60_000));
  expect(there.journal()).toEqual(upTo(12));
  expect(there.requests.map(({ length }) => length)).toEqual([5, 5, 2]);
  expect(await promised[11]).toEqual({ durability: "cluster", seq: 12, suppressed: null });
  expect(outbox.status()).toMatchObject({ waiting: 0, kept: 12, forwarded: 12 });
  const late = await say(outbox, 12);
  expect(await late.forwarded).toMatchObject({ durability: "cluster" });
});

test("what another process of the node keeps is found without being told", async () => {
  const { there, forward, drive, open } = world();
  const [worker, command] = [open(), open()];
  const forwarder = forward(worker);
  await drive(forwarder.flush(10));
  await say(command, 0);
  await drive(
    (async () => {
      while (there.journal().length === 0) await breathe();
    })(),
  );
  expect(there.journal()).toEqual([0]);
});

test("each event counts once and in order, whatever the line does and however often the node starts anew", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom<Weather>("fine", "no question", "no answer"), { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }),
      async (weather, lives) => {
        const { there, forward, drive, open } = world((request) => weather[request - 1] ?? "fine");
        let n = 0;
        for (const events of lives) {
          const outbox = open();
          const forwarder = forward(outbox, 2);
          for (let i = 0; i < events; i += 1) {
            await say(outbox, n);
            n += 1;
          }
          // Killed somewhere in between: nobody waits for anything.
          await breathe();
          await forwarder.stop();
          outbox.end();
        }
        const last = open();
        await drive(forward(last, 2).flush(3_600_000));
        expect(there.journal()).toEqual(upTo(n));
        expect(last.status()).toMatchObject({ waiting: 0, refused: 0, kept: n, forwarded: n });
      },
    ),
    { numRuns: 30 },
  );
});

test("an answer that was heard and not written down is asked for again, and the event counts once", async () => {
  const { clock, there, forward, drive, open } = world();
  let commits = 0;
  // The event is kept; what the coordinator said of it never reaches the disk.
  const dying = open((apply) => {
    commits += 1;
    if (commits === 1) apply()();
  });
  const kept = await say(dying, 0);
  let told = false;
  void kept.forwarded.then(() => {
    told = true;
  });
  createForwarder({ outbox: dying, port: there.port, clock, random: seededRandom(7), log: silentLog() });
  while (commits < 2) await breathe();
  dying.end();
  expect(there.journal()).toEqual([0]);
  expect(told).toBe(false);

  const outbox = open();
  expect(outbox.status()).toMatchObject({ waiting: 1, forwarded: 0 });
  await drive(forward(outbox).flush(60_000));
  expect(there.requests).toEqual([[kept.eventId], [kept.eventId]]);
  expect(there.journal()).toEqual([0]);
  expect(outbox.status()).toMatchObject({ waiting: 0, forwarded: 1 });
});

test("pauses grow while nobody answers, and nothing is lost or reordered meanwhile", async () => {
  const { clock, there, forward, logged, drive, open } = world((request) => (request < 12 ? "no question" : "fine"));
  const outbox = open();
  await say(outbox, 0);
  const began = clock.monotonic();
  const forwarder = forward(outbox);
  await breathe();
  expect(logged).toEqual([]);
  await say(outbox, 1);
  await drive(forwarder.flush(3_600_000));
  expect(there.journal()).toEqual([0, 1]);
  // Eleven pauses from 0.2 s to 15 s, each at least half of its length.
  expect(clock.monotonic() - began).toBeGreaterThan(30_000);
  expect(logged).toMatchObject([
    ["events are not forwarded; they stay in the outbox", { error: "the line is cut", waiting: 2 }],
    ["events are forwarded again", { tries: 11 }],
  ]);
});

test("one that is refused is set aside and holds up nobody", async () => {
  const { there, forward, drive, open } = world(undefined, {
    port: (port) => ({
      ...port,
      async send(events, signal) {
        const bad = events.map(({ payload }) => payload.bytes_freed === 1);
        const answers = (
          await port.send(
            events.filter((_, i) => !bad[i]),
            signal,
          )
        ).values();
        return bad.map((isBad) =>
          isBad ? { durability: "refused", code: "INVALID_PAYLOAD", reason: "never" } : answers.next().value!,
        );
      },
    }),
  });
  const outbox = open();
  for (const n of upTo(4)) await say(outbox, n);
  await drive(forward(outbox).flush(60_000));
  expect(there.journal()).toEqual([0, 2, 3]);
  expect(outbox.refused(9)).toMatchObject([{ code: "INVALID_PAYLOAD", reason: "never" }]);
  expect(outbox.status()).toMatchObject({ waiting: 0, refused: 1, forwarded: 3, kept: 4 });
});

test("of a request that is refused as a whole only the bad event is set aside", async () => {
  const whole = OperatingError.denied("PAYLOAD_TOO_LARGE", "too large", { status: 413 });
  const { there, forward, drive, open } = world(undefined, {
    port: (port) => ({
      async send(events, signal) {
        if (events.some(({ payload }) => payload.bytes_freed === 2)) throw whole;
        return port.send(events, signal);
      },
      isRefusal: (thrown) => (thrown === whole ? { code: whole.code, reason: whole.message } : undefined),
    }),
  });
  const outbox = open();
  for (const n of upTo(5)) await say(outbox, n);
  await drive(forward(outbox).flush(60_000));
  expect(there.journal()).toEqual([0, 1, 3, 4]);
  expect(outbox.refused(9)).toMatchObject([{ code: "PAYLOAD_TOO_LARGE" }]);
});

test("one that cannot be read any more is set aside here", async () => {
  const { there, forward, drive, open } = world();
  const outbox = open();
  const writer = open();
  await say(outbox, 0);
  await say(outbox, 1);
  writer.store.read("UPDATE outbox SET payload = '{' WHERE seq = 1 RETURNING seq");
  await drive(forward(outbox).flush(60_000));
  expect(there.journal()).toEqual([1]);
  expect(outbox.refused(9)).toMatchObject([{ code: "EVENT_UNREADABLE" }]);
});

test("passing events go along while somebody answers, and are dropped with the try that failed", async () => {
  const { there, forward, drive, open } = world((request) => (request === 1 ? "no question" : "fine"));
  const outbox = open();
  const gone = await outbox.publish("METRICS_UPDATED", { node_id: NODE, metrics: { n: 1 } });
  await say(outbox, 0);
  const forwarder = forward(outbox);
  await breathe();
  expect(await gone.forwarded).toEqual({ durability: "none", sent: false });
  const heard = await outbox.publish("METRICS_UPDATED", { node_id: NODE, metrics: { n: 2 } });
  await drive(forwarder.flush(60_000));
  expect(await heard.forwarded).toEqual({ durability: "none", sent: true });
  expect(there.passingHeard).toEqual([heard.eventId]);
  expect(there.journal()).toEqual([0]);
  expect(outbox.lost.passing).toBe(1);
});

test("flush gives up after its time, and stop leaves what waits", async () => {
  const { forward, drive, open } = world(() => "no question");
  const outbox = open();
  await say(outbox, 0);
  const forwarder = forward(outbox);
  await drive(forwarder.flush(2_000));
  await forwarder.stop();
  await forwarder.stop();
  expect(outbox.status().waiting).toBe(1);
});
