/** Alerts under receivers that fail, forget and come back, and under a process that ends at any moment. */
import { afterEach, describe, expect, test } from "vitest";
import type { AlertMessage, AlertSink } from "../../../src/cluster/alerts/sink.ts";
import { createAlerts } from "../../../src/cluster/index.ts";
import { alertManagerCoordinator } from "../../../src/cluster/units/alert-manager/alert-manager.unit.ts";
import { type BuiltinRows, builtinRows } from "../../../src/events/index.ts";
import { OperatingError, pick, seededRandom } from "../../../src/kernel/index.ts";
import { type UnitWorld, unitWorld } from "../../fixtures/unit-world.ts";

const worlds: UnitWorld<BuiltinRows>[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

const PER_MINUTE = 6;
const MOODS = ["takes", "fails", "takes and does not say so", "refuses now and then"] as const;

interface Arrival {
  readonly at: number;
  readonly message: AlertMessage;
}

describe.each([1, 2, 3, 4])("with seed %i", (seed) => {
  test("every change of every alert arrives, alone or in a summary, never too many at once, under keys that never change", async () => {
    const w = unitWorld(builtinRows);
    worlds.push(w);
    const random = seededRandom(seed);
    const arrivals: Arrival[] = [];
    let mood: (typeof MOODS)[number] = "takes";
    const sink: AlertSink = {
      name: "pager",
      minSeverity: "info",
      async deliver(message) {
        const down = () => OperatingError.unavailable("ALERT_NOT_DELIVERED", "HTTP 503");
        if (mood === "fails" || (mood === "refuses now and then" && random.next() < 0.5)) throw down();
        arrivals.push({ at: w.clock.now(), message });
        if (mood === "takes and does not say so") throw down();
      },
    };
    const run = async () => {
      const unit = alertManagerCoordinator(
        {
          store: w.store,
          clock: w.clock,
          random,
          sinks: [sink],
          absence: [],
          settings: { alerts: { messagesPerMinute: PER_MINUTE } },
        },
        { maxWaiting: 20 },
      );
      const runtime = w.runtime([unit]);
      await w.driven(runtime.start());
      return runtime;
    };
    let runtime = await run();
    for (let step = 0; step < 60; step += 1) {
      const kind = pick(random, 10);
      if (kind === 0) mood = MOODS[pick(random, MOODS.length)]!;
      else if (kind === 1) {
        await w.driven(runtime.stop());
        runtime = await run();
      } else if (kind < 5) await w.pass(pick(random, 400_000));
      else {
        // All at once, or one each second.
        const pauseMs = pick(random, 2) * 1_000;
        for (let i = pick(random, 40); i > 0; i -= 1) {
          if (pauseMs > 0) await w.pass(pauseMs);
          const event = pick(random, 3) === 0 ? "HOST_ONLINE" : "NODE_SUSPECT";
          const node_id = `n${pick(random, 30)}`;
          const payload = event === "HOST_ONLINE" ? { node_id } : { node_id, last_seen_at: 1, silent_seconds: 90 };
          await w.router.publish(event, payload as never, { source: "test" });
        }
      }
    }
    mood = "takes";
    await w.pass(1_800_000);

    const rows = w.store.read<{ alert_id: string | null; transition: string; status: string }>(
      "SELECT alert_id, transition, status FROM alert_outbox",
    );
    expect(rows.filter(({ status }) => status !== "delivered" && status !== "summarized")).toEqual([]);
    const distinct = new Map(arrivals.map(({ message }) => [message.idempotencyKey, message]));
    const changes = [...distinct.values()].reduce(
      (sum, message) => sum + (message.kind === "summary" ? message.summary.changes : 1),
      0,
    );
    // Each change once: as its own message, or within exactly one summary.
    expect(changes).toBe(rows.filter(({ alert_id }) => alert_id !== null).length);
    // Tries of one message are the same message.
    for (const { message } of arrivals) expect(distinct.get(message.idempotencyKey)).toEqual(message);
    const acknowledged = w.store
      .read<{ ended_at: number }>("SELECT ended_at FROM alert_outbox WHERE ended_at IS NOT NULL ORDER BY ended_at")
      .map(({ ended_at }) => ended_at);
    for (const at of acknowledged)
      expect(acknowledged.filter((other) => other > at - 60_000 && other <= at).length).toBeLessThanOrEqual(PER_MINUTE);
    expect(w.router.deadLetters.counts().pending).toBe(0);
    const book = createAlerts({ store: w.store, clock: w.clock });
    const keys = book.list({ status: "open", limit: 1_000 }).map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });
});

test("nothing is sent while alerts are muted, and what was held back comes as one summary", async () => {
  const w = unitWorld(builtinRows);
  worlds.push(w);
  const got: AlertMessage[] = [];
  const sink: AlertSink = { name: "pager", minSeverity: "info", deliver: async (message) => void got.push(message) };
  const sinks = [sink];
  const settings = { alerts: { messagesPerMinute: PER_MINUTE } };
  const run = async () => {
    const unit = alertManagerCoordinator({
      ...{ store: w.store, clock: w.clock, random: seededRandom(1), sinks, absence: [], settings },
    });
    const runtime = w.runtime([unit]);
    await w.driven(runtime.start());
    return runtime;
  };
  const fail = (config_key: string) =>
    w.router.publish("TRAINING_FAILED", { config_key, job_id: "j1", error: "no GPU", retryable: true } as never, {
      source: "test",
    });
  const recipients = [{ sink: "pager", minSeverity: "info" as const }];
  const book = createAlerts({ store: w.store, clock: w.clock, recipients });
  const decision = { actor: "ann", note: "disks are swapped" };
  const first = await run();

  expect(await book.mute(7_200_000, decision, true)).toMatchObject({ actor: "ann", waiting: 0 });
  expect(book.muted()).toBeNull();
  await book.mute(7_200_000, decision, false);
  await fail("hex8_2p");
  await w.pass(60_000);
  await fail("square8_2p");
  await w.pass(60_000);
  expect(book.muted()).toMatchObject({ actor: "ann", reason: "disks are swapped", waiting: 2 });
  expect(book.list({ status: "open" })).toHaveLength(2);
  // It is written down: another process keeps still as well.
  await w.driven(first.stop());
  await run();
  await w.pass(60_000);
  expect(got).toEqual([]);

  await w.pass(7_200_000);
  expect(book.muted()).toBeNull();
  expect(got[0]).toMatchObject({ kind: "summary" });
  const told = got.flatMap((message) => (message.kind === "summary" ? message.summary.alerts : []));
  expect(told.map(({ title }) => title)).toEqual(
    expect.arrayContaining(["Training of hex8_2p failed", "Training of square8_2p failed"]),
  );

  got.length = 0;
  await book.mute(7_200_000, decision, false);
  await fail("hex6_2p");
  await w.pass(60_000);
  expect(got).toEqual([]);
  expect(await book.unmute(true)).toMatchObject({ waiting: 1 });
  await w.pass(60_000);
  expect(got).toEqual([]);
  expect(await book.unmute(false)).toMatchObject({ waiting: 1 });
  expect(await book.unmute(false)).toBeNull();
  await w.pass(60_000);
  // One alone is told as it is.
  expect(got).toMatchObject([
    { kind: "alert", transition: "opened-1", alert: { title: "Training of hex6_2p failed" } },
  ]);
});
