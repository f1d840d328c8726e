import { describe, expect, test } from "vitest";
import { type DaemonContext, defineDaemon } from "../../src/daemons/index.ts";
import { builtinRows } from "../../src/events/index.ts";
import { pick, seededRandom } from "../../src/kernel/index.ts";
import { managerWorld } from "../fixtures/manager-world.ts";
import { unitWorld } from "../fixtures/unit-world.ts";
import { breathe } from "../support/virtual-time.ts";

const DAEMONS = 12;

/** Daemons over the real router, each with a subscription, a timer and a handle; an operator who cannot make up their mind. */
async function stress(seed: number) {
  const random = seededRandom(seed);
  const world = unitWorld(builtinRows);
  const { clock } = world;
  const { manager, pass, driven } = managerWorld({ clock, random: seededRandom(seed + 1) });
  const live = new Map<string, number>();
  let [handles, overlaps] = [0, 0];
  const bodyOf =
    (name: string) =>
    async ({ ready, signal, clock: own }: DaemonContext) => {
      const nth = (live.get(name) ?? 0) + 1;
      live.set(name, nth);
      if (nth > 1) overlaps += 1;
      handles += 1;
      const end = world.router.subscribe("ERROR", () => {}, { name });
      let timer = own.after(1_000, function beat() {
        timer = own.after(1_000, beat);
      });
      try {
        await new Promise<void>((resolve, reject) => {
          own.after(pick(random, 500), () => (signal.aborted ? undefined : ready()));
          if (random.next() < 0.1) own.after(pick(random, 3_000), () => reject(new Error("a fault")));
          signal.addEventListener("abort", () => void own.after(pick(random, 1_000), resolve), { once: true });
        });
      } finally {
        timer.cancel();
        end();
        handles -= 1;
        live.set(name, (live.get(name) ?? 0) - 1);
      }
    };
  for (let i = 0; i < DAEMONS; i += 1)
    manager.registerFactory({
      daemonType: `d${i}`,
      factory: bodyOf(`d${i}`),
      dependsOn: i === 0 ? [] : [...new Set([`d${pick(random, i)}`, `d${pick(random, i)}`])],
      readyAfterMs: null,
      healthCheck: () => ({ status: "running", message: "" }),
    });

  const asked: Promise<unknown>[] = [];
  for (let step = 0; step < 200; step += 1) {
    const name = `d${pick(random, DAEMONS)}`;
    const luck = random.next();
    if (luck < 0.3) asked.push(manager.start(name, { waitForDeps: random.next() < 0.5 }).catch(() => false));
    else if (luck < 0.4)
      asked.push(
        manager.start(name).catch(() => false),
        manager.start(name).catch(() => false),
      );
    else if (luck < 0.65) asked.push(manager.stop(name));
    else if (luck < 0.7)
      asked.push(
        manager.stop(name),
        manager.start(name).catch(() => false),
        manager.stop(name),
      );
    else if (luck < 0.8) asked.push(manager.startAll());
    else if (luck < 0.85) manager.pause(name, "stress");
    else if (luck < 0.95) manager.resume(name);
    else if (luck < 0.97) manager.clearPermanentlyFailed(name);
    if (random.next() < 0.7) await pass(pick(random, 2_000));
    else await breathe();
  }
  const closing = manager.shutdown({ force: random.next() < 0.2 });
  expect(await driven(closing)).toEqual(await driven(manager.shutdown()));
  // Everybody who asked got an answer.
  const answers = await driven(Promise.all(asked));
  // The short waits of bodies that have ended run out.
  await pass(5_000);
  const left = { handles, overlaps, subscribers: world.router.listSubscribers(), timers: clock.pending() };
  await world.close();
  return { ...left, answers: answers.length, asked: asked.length };
}

describe("start, stop, start twice and stop before start, in any order", () => {
  test("leave no timer, handle or subscription, never run a daemon twice, and answer everybody", async () => {
    for (let seed = 0; seed < 40; seed += 1) {
      const { asked, answers, ...left } = await stress(seed);
      expect({ seed, ...left }).toEqual({ seed, handles: 0, overlaps: 0, subscribers: {}, timers: 0 });
      expect(answers).toBe(asked);
      expect(asked).toBeGreaterThan(50);
    }
  });

  test("leave nothing of the units of a runtime either", async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const random = seededRandom(seed);
      const world = unitWorld(builtinRows);
      const unit = (name: string, dependsOn: readonly string[]) =>
        defineDaemon({
          name,
          layer: 1,
          placement: "leader",
          dependsOn,
          emits: [],
          on: { HANDLER_FAILED() {} },
          loop: {
            everyMs: 200,
            async tick() {
              await new Promise<void>((resolve) => void world.clock.after(pick(random, 300), resolve));
            },
          },
        });
      const { manager } = managerWorld({ clock: world.clock });
      const runtime = world.runtime([unit("a", []), unit("b", ["a"]), unit("c", ["b"])], { manager });
      const starting = runtime.start().catch(() => "stopped before it had started");
      if (random.next() < 0.8) await world.pass(pick(random, 1_000));
      for (let step = 0; step < 20; step += 1) {
        const name = ["a", "b", "c"][pick(random, 3)]!;
        if (random.next() < 0.5) void manager.stop(name);
        else void manager.start(name).catch(() => false);
        if (random.next() < 0.5) await world.pass(pick(random, 500));
      }
      const stopping = random.next() < 0.5 ? manager.shutdown() : Promise.resolve();
      await world.driven(Promise.all([starting, stopping, runtime.stop(), runtime.stop()]));
      await world.driven(manager.shutdown());
      expect({ seed, subscribers: world.router.listSubscribers() }).toEqual({ seed, subscribers: {} });
      await world.driven(world.router.stop());
      expect({ seed, timers: world.clock.pending() }).toEqual({ seed, timers: 0 });
      await world.close();
    }
  });
});
