/** A job whose worker died runs elsewhere in time: the real units and queue, over virtual time. */
import { expect, onTestFinished, test } from "vitest";
import { NodeRegistry, nobodyReports } from "../../../src/cluster/index.ts";
import { createRefusals } from "../../../src/cluster/nodes/refusals.ts";
import { nodeTimingDefaults as timing } from "../../../src/cluster/nodes/timing.ts";
import { membershipDaemon } from "../../../src/cluster/units/membership/membership.unit.ts";
import { builtinRows } from "../../../src/events/index.ts";
import { seededRandom, silentLog } from "../../../src/kernel/index.ts";
import { settingDefaults } from "../../../src/kernel/settings/index.ts";
import type { EventRouter } from "../../../src/router/index.ts";
import { createWorkServices, workSettings, workUnits } from "../../../src/work/index.ts";
import { leasePolicyDefaults } from "../../../src/work/settings.ts";
import { unitWorld } from "../../fixtures/unit-world.ts";
import { CAPABILITIES, nodeKeys } from "../../support/node-client.ts";

/** What is added to the limits: one look of each unit that has to act, and the pause before another attempt. */
const FEW_SECONDS = 15;

async function cluster() {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const { store, clock } = w;
  const listened = () => clock.monotonic();
  const about = { store, clock, listened, log: silentLog(), timing, localNodeId: "home", version: "0.1.0" };
  const book = new NodeRegistry(about);
  const work = createWorkServices({
    router: w.router as unknown as EventRouter,
    store,
    clock,
    listened,
    random: seededRandom(1),
    settings: settingDefaults(workSettings),
    barred: (nodeId) => book.barred(nodeId),
  });
  const { queue, desk } = work;
  onTestFinished(() => desk.close());
  const membership = membershipDaemon({ nodes: book, refusals: createRefusals(clock), reach: nobodyReports });
  await w.driven(w.runtime([...workUnits(work), membership]).start());
  const join = async (label: string) => {
    const request = { ...nodeKeys(), label, version: "0.1.0", protocol: 1, capabilities: CAPABILITIES };
    return (await w.driven(book.join(request, { actor: "test", address: "192.0.2.1" }))).node_id;
  };
  const beat = (node_id: string) =>
    w.driven(
      book.beat({
        node_id,
        incarnation: 1,
        version: "0.1.0",
        load: { running: 0, free: CAPABILITIES },
        spool: { waiting: 0 },
      }),
    );
  const [lost, other] = [await join("lost"), await join("other")];
  /** Both beat until the time of grace is over. */
  for (let passed = 0; passed <= timing.startupGraceMs; passed += timing.beatMs) {
    for (const node of [lost, other]) await beat(node);
    await w.pass(timing.beatMs);
  }
  const claim = (node_id: string) =>
    w.driven(desk.claim({ node_id, most: 1, offer: CAPABILITIES }, 0, new AbortController().signal));
  await w.driven(queue.add({ work_type: "selfplay" }));
  const [lease] = await claim(lost);
  await w.driven(queue.start(lease!));
  /** Seconds until the other node gets the job, asking once a second. */
  const secondsUntilElsewhere = async (alive: readonly string[]): Promise<number> => {
    for (let second = 0; second < 600; second += 1) {
      if ((second * 1_000) % timing.beatMs === 0) for (const node of alive) await beat(node);
      const [found] = await claim(other);
      if (found !== undefined) {
        expect(found).toMatchObject({ work_id: lease!.work_id, node_id: other, fence: lease!.fence + 1 });
        return second;
      }
      await w.pass(1_000);
    }
    throw new Error("it never came back");
  };
  return { w, queue, lease: lease!, lost, other, secondsUntilElsewhere };
}

test("when the worker died and its node lives, after the silence of its lease", async () => {
  const { secondsUntilElsewhere, lost, other } = await cluster();
  const seconds = await secondsUntilElsewhere([lost, other]);
  const limit = leasePolicyDefaults.silentMs / 1_000;
  expect(seconds).toBeGreaterThanOrEqual(limit);
  expect(seconds).toBeLessThanOrEqual(limit + FEW_SECONDS);
});

test("when the whole node died, as soon as either clock has run out, and its late word is refused", async () => {
  const { w, queue, lease, secondsUntilElsewhere, other } = await cluster();
  const seconds = await secondsUntilElsewhere([other]);
  expect(seconds).toBeLessThanOrEqual(leasePolicyDefaults.silentMs / 1_000 + FEW_SECONDS);
  await expect(w.driven(queue.heartbeat(lease))).rejects.toMatchObject({ code: "STALE_LEASE" });
});

test("when its node is found dead while the lease still holds, within a few seconds of that", async () => {
  const { w, queue, lease, secondsUntilElsewhere, other } = await cluster();
  // The lease is kept alive by a worker whose node's own beats are cut off.
  for (let second = 0; second < timing.deadMs / 1_000 - 20; second += 10) {
    await w.driven(queue.heartbeat(lease));
    await w.pass(10_000);
  }
  const seconds = await secondsUntilElsewhere([other]);
  expect(seconds).toBeLessThanOrEqual(FEW_SECONDS);
  expect(queue.show(lease.work_id)).toMatchObject({ attempts: 1 });
});
