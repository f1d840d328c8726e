/** The unit that measures a node, on the outbox of a node that has no router. */
import { expect, onTestFinished, test } from "vitest";
import { NODE, outboxFile } from "../../../test/support/outbox.ts";
import { routerOver } from "../../../test/support/router.ts";
import { breathe } from "../../../test/support/virtual-time.ts";
import { createDiskGauge, resourceMonitorDaemon } from "../../cluster/index.ts";
import type { ResourceSample } from "../../cluster/resources/sample.ts";
import { builtinRows } from "../../events/index.ts";
import { silentLog, type VirtualClock, virtualClock } from "../../kernel/index.ts";
import type { EventRouter } from "../../router/index.ts";
import type { Outbox } from "../../router/outbox/index.ts";
import { readSettings } from "../settings.ts";
import { runNodeUnit } from "./node-unit.ts";

const sampleOf = (usedBytes: number): ResourceSample => ({
  cpus: 4,
  cpuUsage: 0.5,
  cpuOthers: null,
  cpuPressure: 0,
  memory: { usage: 0.2, totalBytes: 8e9, limitedBy: "machine", rssBytes: 1e8 },
  disk: { totalBytes: 100, usedBytes, freeBytes: 100 - usedBytes },
  loopDelayMs: { p99: 0, max: 0 },
  gpus: [],
});

/** The monitor of a disk whose fullness is what `used` says at each sample; a list, and then its last for ever. */
const monitorOf = (used: readonly number[]) => {
  let samples = 0;
  const unit = resourceMonitorDaemon({
    disk: createDiskGauge(),
    nodeId: NODE,
    sampler: {
      async sample() {
        samples += 1;
        return sampleOf(used[Math.min(samples, used.length) - 1]!);
      },
      close() {},
    },
    settings: readSettings({}, "/"),
  });
  return { unit, samples: () => samples };
};

/** One life of it: as many ticks as asked for. */
async function live(outbox: Outbox, clock: VirtualClock, used: readonly number[], ticks: number) {
  const { unit, samples } = monitorOf(used);
  const running = runNodeUnit({ unit, outbox, clock, log: silentLog() });
  for (let done = outbox.takePassing().length; samples() < ticks || done === 0; ) {
    await breathe();
    if (samples() < ticks) clock.step();
    done = outbox.takePassing().length;
  }
  await running.stop();
}
const told = (outbox: Outbox) =>
  outbox.next(100, 1e9).map(({ event: { eventType, payload, source } }) => [eventType, payload.level, source]);

test("says what the unit of a main process says, as this node, and over a restart each crossing once", async () => {
  const clock = virtualClock();
  const file = outboxFile(onTestFinished);
  const first = file.open({ clock });
  await live(first, clock, [97], 2);
  const source = `resource_monitor@${NODE}`;
  const edge = [
    ["RESOURCE_CONSTRAINT", "critical", source],
    ["RESOURCE_CONSTRAINT_DETECTED", undefined, source],
    ["DISK_SPACE_LOW", "critical", source],
  ];
  expect(told(first)).toEqual(edge);
  first.end();

  const second = file.open({ clock });
  await live(second, clock, [97], 2);
  expect(told(second)).toEqual(edge);
  await live(second, clock, [10], 3);
  expect(told(second)).toEqual([...edge, ["RESOURCE_CONSTRAINT", "none", source]]);

  // The same code under a router says the same.
  const { router, store } = routerOver(builtinRows);
  onTestFinished(async () => {
    await router.stop();
    await store.close();
  });
  const { unit } = monitorOf([97]);
  await (router as unknown as EventRouter).transact({ source, validation: "strict" }, (given) =>
    unit.behaviour.tick({
      ...given,
      emit: Object.fromEntries(unit.emits.map((name) => [name, (payload) => given.emit(name, payload)])),
      tables: unit.behaviour.tables,
      cache: unit.behaviour.rebuild(given.rows),
      now: clock.now(),
      log: silentLog(),
    }),
  );
  const there = router.history({ fromJournal: true }).map(({ eventType, payload }) => [eventType, payload]);
  const here = second.next(3, 1e9).map(({ event: { eventType, payload } }) => [eventType, payload]);
  expect(here).toEqual(there);
});

test("what finds no room in the outbox is said again at the next tick", async () => {
  const clock = virtualClock();
  const file = outboxFile(onTestFinished);
  const outbox = file.open({ clock, bounds: { maxEvents: 3, maxBytes: 1e9 } });
  const blocking = await outbox.publish("ERROR", { component: "x", error: "y", severity: "error" });
  const { unit, samples } = monitorOf([97]);
  const running = runNodeUnit({ unit, outbox, clock, log: silentLog() });
  onTestFinished(() => running.stop());
  while (outbox.lost.turnedAway === 0) await breathe();
  expect(told(outbox)).toHaveLength(1);
  const [{ seq }] = outbox.next(1, 1e9) as [{ seq: number }, ...unknown[]];
  const outcome = { durability: "cluster", seq: 1, suppressed: null } as const;
  await outbox.settle([{ seq, eventId: blocking.eventId, outcome }]);
  while (samples() < 2 || told(outbox).length === 0) {
    clock.step();
    await breathe();
  }
  expect(told(outbox).map(([type]) => type)).toEqual([
    "RESOURCE_CONSTRAINT",
    "RESOURCE_CONSTRAINT_DETECTED",
    "DISK_SPACE_LOW",
  ]);
});
