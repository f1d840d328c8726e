import { expect, onTestFinished, test } from "vitest";
import { EVIDENCE, type WorkWorld, workWorld } from "../../test/unit/work/work-world.ts";
import { type CurvePoint, createCurves } from "./curves.ts";
import { CURVE_LIMITS } from "./limits.ts";

const begun = async (w: WorkWorld, node: string) => {
  const lease = (await w.claimOne(node))!;
  await w.queue.start(lease);
  return lease;
};
const world = async () => {
  const w = workWorld();
  onTestFinished(() => w.close());
  const curves = createCurves(w.store, (workId) => w.queue.show(workId));
  const { work_id } = await w.queue.add({ work_type: "selfplay", config_key: "hex8_2p" });
  return { ...w, w, curves, work_id };
};
const point = (n: number, of: number): CurvePoint => ({ at: n, progress: n / of, metrics: { loss: of - n } });
const points = (from: number, count: number, of: number) =>
  Array.from({ length: count }, (_, i) => point(from + i, of));

test("a job has the curve that its holder told, also what is told right after its end", async () => {
  const { w, queue, curves, work_id } = await world();
  const lease = await begun(w, "a");
  expect(curves.of(work_id)).toEqual([]);
  expect(await curves.tell(lease, points(1, 3, 10))).toBe(true);
  await queue.complete(lease, EVIDENCE);
  expect(await curves.tell(lease, [point(10, 10)])).toBe(true);
  expect(curves.of(work_id)).toEqual([{ fence: lease.fence, points: [...points(1, 3, 10), point(10, 10)] }]);
});

test("each try has a curve of its own, and nobody tells one of a job that is another's", async () => {
  const { w, queue, curves, work_id } = await world();
  const first = await begun(w, "a");
  await curves.tell(first, points(1, 2, 10));
  expect(await curves.tell({ ...first, node_id: "b" }, points(1, 2, 10))).toBe(false);
  expect(await curves.tell({ ...first, work_id: "w999" }, points(1, 2, 10))).toBe(false);
  await queue.release(first, "room for others");
  const second = await begun(w, "b");
  expect(await curves.tell(first, points(3, 2, 10))).toBe(false);
  await curves.tell(second, points(1, 1, 10));
  expect(curves.of(work_id).map(({ fence, points: own }) => [fence, own.length])).toEqual([
    [first.fence, 2],
    [second.fence, 1],
  ]);
});

test("a long curve is thinned out over its whole length and keeps its newest point", async () => {
  const { w, curves, work_id } = await world();
  const lease = await begun(w, "a");
  const all = 3_000;
  for (let n = 1; n <= all; n += 60) await curves.tell(lease, points(n, 60, all));
  const [curve] = curves.of(work_id);
  const at = curve!.points.map((each) => each.at);
  expect(at.length).toBeLessThanOrEqual(CURVE_LIMITS.points);
  expect(at.length).toBeGreaterThan(CURVE_LIMITS.points / 4);
  expect(at.at(-1)).toBe(all);
  expect(at).toEqual(at.toSorted((a, b) => a - b));
  for (const share of [0.25, 0.5, 0.75]) expect(at.some((each) => Math.abs(each - share * all) < all / 10)).toBe(true);
});

test("a curve goes with its job", async () => {
  const { w, queue, curves, work_id, pass } = await world();
  const lease = await begun(w, "a");
  await curves.tell(lease, points(1, 3, 10));
  await queue.complete(lease, EVIDENCE);
  await queue.add({ work_type: "selfplay", config_key: "hex8_2p" });
  await pass(3 * 86_400_000);
  await queue.forget();
  expect(queue.show(work_id)).toBeUndefined();
  expect(curves.of(work_id)).toEqual([]);
});
