import { expect, test } from "vitest";
import { nodeKeys } from "../../../test/support/node-client.ts";
import { workWorld } from "../../../test/unit/work/work-world.ts";
import { createAvailability, HealthBook, NodeRegistry, noSigns, RecoveryBook } from "../../cluster/index.ts";
import { silentLog } from "../../kernel/index.ts";
import { knownWorkerLimits } from "../../work/limits.ts";
import { jobReaper } from "../../work/units/job-reaper/job-reaper.unit.ts";
import { taskCoordinator } from "../../work/units/task-coordinator/task-coordinator.unit.ts";
import { whyJobOrNode } from "../causes/why-job-or-node.ts";
import { workersFor } from "./workers-for.ts";

const MINUTE = 60_000;
const timing = { beatMs: 15_000, suspectMs: 45_000, deadMs: 120_000, purgeMs: 7 * 86_400_000, startupGraceMs: 0 };
const has = { cpu: 4, gpu: 0, memory_gb: 8, gpu_memory_gb: 0, tags: [] };

/** A coordinator without a worker of its own, and a node that has joined it. */
async function coordinatorAndBox() {
  const w = workWorld();
  const { clock, store, queue } = w;
  const nodes = new NodeRegistry({ store, clock, log: silentLog(), timing, localNodeId: "main", version: "1.0.0" });
  await nodes.ensureLocal(has);
  await nodes.settled("main", { state: "online" });
  const ask = (node_id: string) => queue.claim({ node_id, most: 1, offer: has, kinds: ["selfplay", "check"] });
  const health = new HealthBook(store);
  const available = createAvailability({
    nodes,
    health,
    recovery: new RecoveryBook(store),
    signs: noSigns,
    localNodeId: "main",
  });
  return { w, nodes, available, ask, takers: (kind: string) => workersFor(kind, queue, available) };
}

test("a coordinator without a worker is nobody who could check the games of the only node that works", async () => {
  const { w, available, ask, takers } = await coordinatorAndBox();
  await w.pass(knownWorkerLimits.settleMs);
  await ask("box");
  expect(available.working()).toEqual(["main"]);
  expect(takers("check")).toEqual(["box"]);
  expect(takers("training")).toEqual([]);
  await w.close();
});

test("shortly after a start those that were there before count, for they had no time to ask", async () => {
  const { w, takers } = await coordinatorAndBox();
  expect(takers("check")).toEqual(["main"]);
  await w.close();
});

test("a worker whose node is cordoned may not have work", async () => {
  const { w, nodes, ask, takers } = await coordinatorAndBox();
  await w.pass(knownWorkerLimits.settleMs);
  await ask("main");
  await nodes.cordon("main", { reason: "repair", by: "test", drain: false });
  expect(takers("check")).toEqual([]);
  await w.close();
});

test("a worker on which jobs stand still is nobody to wait for, where another is there", async () => {
  const { w, ask, takers } = await coordinatorAndBox();
  await w.runtime([taskCoordinator(), jobReaper(w.services)]);
  await w.pass(knownWorkerLimits.settleMs);
  await w.queue.add({ work_type: "check", timeout_seconds: 3_600, excluded_nodes: ["box"] });
  const [lease] = await ask("main");
  for (let n = 0; n < 22; n += 1) {
    expect(takers("check")).toEqual(n === 0 ? ["main"] : ["box", "main"]);
    await w.pass(30_000);
    await w.queue.heartbeat(lease!);
    await ask("box");
    if (w.queue.show(lease!.work_id)?.state === "pending") break;
  }
  // It was given back although nobody else may have it: whoever asked for it can relax that, and does not count the stuck one.
  expect(w.queue.show(lease!.work_id)).toMatchObject({ state: "pending", lapses: [{ node_id: "main", why: "stuck" }] });
  expect(takers("check")).toEqual(["box"]);
  expect(await ask("main")).toEqual([]);
  // Nobody did: rather the one than none.
  await w.pass(3 * MINUTE);
  expect(await ask("main")).toMatchObject([{ work_id: lease!.work_id, fence: 2 }]);
  expect(takers("check")).toEqual(["main"]);
  await w.close();
});

test("why says of a node without a worker that nobody asks for jobs there", async () => {
  const { w, nodes } = await coordinatorAndBox();
  const { work_id } = await w.queue.add({ work_type: "check", config_key: "othello6_2p" });
  await w.pass(MINUTE);
  const why = whyJobOrNode(work_id, { queue: w.services.queue, book: nodes, now: w.clock.now() })!;
  expect(why.verdict).toContain("no worker is connected");
  expect(why.gates.find(({ gate }) => gate === "node:main")).toMatchObject({ actual: "no worker asks for jobs there" });
  await w.close();
});

test("why names the node that did such jobs and is silent now", async () => {
  const { w, nodes, ask } = await coordinatorAndBox();
  const request = {
    ...nodeKeys(),
    label: "box2",
    version: "1.0.0",
    protocol: 1,
    capabilities: { ...has, kinds: ["check"] },
  };
  const { node_id } = await nodes.join(request, { actor: "test", address: "192.0.2.1" });
  nodes.heard(node_id);
  await ask(node_id);
  await nodes.settled(node_id, { state: "suspect" });
  await w.pass(2 * MINUTE);
  const { work_id } = await w.queue.add({ work_type: "check", config_key: "othello6_2p" });
  await w.pass(MINUTE);
  const why = whyJobOrNode(work_id, { queue: w.services.queue, book: nodes, now: w.clock.now() })!;
  expect(why.verdict).toContain("no worker is connected: box2 is suspect, heard 3 min ago");
  await w.close();
});
