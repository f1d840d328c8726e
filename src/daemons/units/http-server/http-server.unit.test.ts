import { expect, onTestFinished, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { builtinRows } from "../../../events/index.ts";
import { seededRandom } from "../../../kernel/index.ts";
import { httpServer } from "./http-server.unit.ts";
import type { HttpDoor, HttpSurfacePort } from "./http-surface.port.ts";

const open: HttpDoor = { door: "port", address: "127.0.0.1:8770", ok: true, gone: false, message: "" };

/** A surface with one door, whose state the test decides. */
const doorOf = (state: { door: HttpDoor; refuses: boolean }) => {
  const reopenedAt: number[] = [];
  const samples: unknown[] = [];
  const world = unitWorld(builtinRows);
  onTestFinished(() => world.close());
  const surface: HttpSurfacePort = {
    check: async () => [state.door],
    async reopen() {
      reopenedAt.push(world.clock.monotonic());
      if (state.refuses) throw new Error("port 8770 is used by another program");
      state.door = open;
    },
    sample: (...given) => void samples.push(given),
  };
  const { clock } = world;
  const runtime = world.runtime([httpServer({ surface, clock, random: seededRandom(3) }, 1_000)]);
  return { world, runtime, reopenedAt, samples, state };
};

const health = ({ runtime }: ReturnType<typeof doorOf>) => {
  const [{ status, message, details }] = runtime.status() as [ReturnType<typeof runtime.status>[number]];
  return { status, message, details };
};

test("a door that is gone is opened anew at once, one that is silent when it is so twice", async () => {
  const gone = doorOf({ door: { ...open, ok: false, gone: true, message: "ECONNREFUSED" }, refuses: false });
  await gone.world.driven(gone.runtime.start());
  await gone.world.pass(1_500);
  expect(gone.reopenedAt).toHaveLength(1);
  expect(health(gone)).toMatchObject({ status: "running", details: { reopened: 1 } });

  const silent = doorOf({ door: { ...open, ok: false, message: "no answer within 2 s" }, refuses: false });
  await silent.world.driven(silent.runtime.start());
  await silent.world.pass(1_500);
  expect(silent.reopenedAt).toHaveLength(0);
  expect(health(silent)).toMatchObject({ status: "stopped", message: "port: no answer within 2 s" });
  await silent.world.pass(1_000);
  expect(silent.reopenedAt).toHaveLength(1);
});

test("while a door cannot be opened it is tried later and later, and health says why", async () => {
  const taken = doorOf({ door: { ...open, ok: false, gone: true, message: "ECONNREFUSED" }, refuses: true });
  await taken.world.driven(taken.runtime.start());
  await taken.world.pass(300_000);
  const waits = taken.reopenedAt.slice(1).map((at, i) => at - taken.reopenedAt[i]!);
  expect(taken.reopenedAt.length).toBeGreaterThan(5);
  expect(taken.reopenedAt.length).toBeLessThan(20);
  expect(Math.max(...waits)).toBeGreaterThan(40_000);
  expect(Math.max(...waits)).toBeLessThan(62_000);
  expect(health(taken)).toMatchObject({ status: "stopped", message: expect.stringContaining("used by another") });
  taken.state.refuses = false;
  await taken.world.pass(62_000);
  expect(health(taken)).toMatchObject({ status: "running", message: "" });
});

test("a door that answers and could be better is a worry, and nothing is opened", async () => {
  const old = doorOf({ door: { ...open, message: "the old certificate is still in use" }, refuses: false });
  await old.world.driven(old.runtime.start());
  await old.world.pass(5_000);
  expect(health(old)).toMatchObject({ status: "degraded", message: "the old certificate is still in use" });
  expect(old.reopenedAt).toEqual([]);
});

test("what nodes measure goes to those who collect it", async () => {
  const kept = doorOf({ door: open, refuses: false });
  await kept.world.driven(kept.runtime.start());
  await kept.world.router.publish("METRICS_UPDATED", { node_id: "n9", metrics: { load: 0.5 } });
  await kept.world.pass(10);
  expect(kept.samples).toEqual([["n9", { load: 0.5 }]]);
});
