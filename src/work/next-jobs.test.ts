import { afterEach, expect, test } from "vitest";
import { EVIDENCE, PLENTY, type WorkWorld, workWorld } from "../../test/unit/work/work-world.ts";
import { defined } from "../kernel/index.ts";

const worlds: WorkWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const world = (options: Parameters<typeof workWorld>[0] = {}): WorkWorld => {
  const opened = workWorld(options);
  worlds.push(opened);
  return opened;
};
const selfplay = (config: string, more: object = {}) =>
  ({ work_type: "selfplay", config_key: `${config}_2p`, payload: { games: 50 }, ...more }) as const;
const ask = (w: WorkWorld, node_id: string, most: number, kinds?: string[]) =>
  w.queue.claim({ node_id, most, offer: PLENTY, ...defined({ kinds }) });
/** Every node with the jobs that it would get. */
const dealt = async (w: WorkWorld) =>
  Object.fromEntries(
    (await w.queue.forecast()).nodes.map(({ node_id, jobs }) => [node_id, jobs.map((j) => j.work_id)]),
  );

test("what is foretold is what the next claims get, and foretelling it changes nothing", async () => {
  const w = world();
  for (const node of ["a", "b"]) await ask(w, node, 2);
  for (let i = 0; i < 3; i += 1) await w.queue.addAll([selfplay("hex8"), selfplay("square8")]);
  await w.queue.add(selfplay("hex8", { urgency: "critical" }));
  const told = await dealt(w);
  expect(await dealt(w)).toEqual(told);
  const got: Record<string, string[]> = {};
  for (const node of Object.keys(told)) got[node] = (await ask(w, node, 2)).map(({ work_id }) => work_id);
  expect(got).toEqual(told);
  expect(told.a![0]).toBe("w7");
});

test("a job is told with what decides: its share, what its config is owed, and the urgency that waiting gives it", async () => {
  const w = world({ ageing: { stepMs: 60_000 }, shares: { weights: { hex8_2p: 3 }, minShare: 0.02, maxDebt: 8 } });
  await ask(w, "a", 2);
  await w.queue.addAll([selfplay("hex8"), selfplay("square8")]);
  await w.pass(50_000);
  await ask(w, "b", 1);
  await w.pass(15_000);
  await ask(w, "a", 0);
  const { nodes, configs } = await w.queue.forecast();
  const [job] = nodes.flatMap(({ jobs }) => jobs);
  expect(job).toMatchObject({ config_key: "square8_2p", urgency: "normal", counts_as: "high", waitedMs: 65_000 });
  expect(job!.owed).toBeCloseTo(0.25, 5);
  expect(configs).toEqual([{ config_key: "square8_2p", share: 1, owed: expect.closeTo(0.25, 5) }]);
});

test("a node that is full is told with the job that has to end first", async () => {
  const w = world();
  await w.queue.addAll([selfplay("hex8"), selfplay("hex8"), selfplay("hex8")]);
  const [first, second] = await ask(w, "a", 2);
  expect((await w.queue.forecast()).nodes).toMatchObject([
    { node_id: "a", after: { work_id: first!.work_id, endsInMs: undefined }, jobs: [{ work_id: "w3" }] },
  ]);
  await w.queue.start(second!);
  await w.queue.complete(second!, EVIDENCE);
  expect((await w.queue.forecast()).nodes).toMatchObject([
    { node_id: "a", after: undefined, jobs: [{ work_id: "w3" }] },
  ]);
});

test("a node that gets nothing is told with the reason, and so is a job that nobody may take", async () => {
  const nodePolicy = (nodeId: string) =>
    nodeId === "a" ? ({ accepts: false, reason: "the disk is full" } as const) : ({ accepts: true } as const);
  const w = world({ nodePolicy });
  await ask(w, "a", 2).catch(() => []);
  await ask(w, "b", 2, ["check"]);
  await w.queue.add(selfplay("hex8"));
  const { nodes, untaken } = await w.queue.forecast();
  expect(nodes).toEqual([
    { node_id: "a", after: undefined, jobs: [], held: "the disk is full" },
    { node_id: "b", after: undefined, jobs: [], held: undefined },
  ]);
  expect(untaken).toMatchObject([
    { work_id: "w1", reason: expect.stringMatching(/a: the disk is full; b: .*selfplay/) },
  ]);
});

test("what would be stopped for a more urgent job is told", async () => {
  const w = world();
  await w.queue.add(selfplay("hex8", { urgency: "low" }));
  const [running] = await ask(w, "a", 1);
  await w.queue.start(running!);
  const { work_id: urgent } = await w.queue.add(selfplay("square8", { urgency: "critical" }));
  await w.pass(600_000);
  await w.queue.heartbeat(running!);
  expect((await w.queue.forecast()).preemptions).toEqual([{ stop: running!.work_id, for: urgent }]);
});
