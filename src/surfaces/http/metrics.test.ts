import { expect, onTestFinished, test } from "vitest";
import { virtualClock } from "../../kernel/index.ts";
import { createMetrics } from "./metrics.ts";

test("what a node told is known lately, each measurement for itself, and stays in the figures as its newest value", async () => {
  const clock = virtualClock();
  const metrics = createMetrics(clock, () => undefined);
  onTestFinished(() => metrics.stop());
  metrics.sample("desk", { worker_pid: 7, worker_loop_delay_p99_ms: 12 });
  expect(metrics.toldLately("desk")).toEqual({ worker_pid: 7, worker_loop_delay_p99_ms: 12 });
  expect(metrics.toldLately("other")).toEqual({});
  // Its main process goes on to measure; the worker has ended.
  clock.standStill(50_000);
  metrics.sample("desk", { memory_usage: 0.5 });
  clock.standStill(11_000);
  expect(metrics.toldLately("desk")).toEqual({ memory_usage: 0.5 });
  expect(await metrics.render()).toContain('ringrift_node_sample{node_id="desk",name="worker_pid"} 7');
});
