import { expect, test } from "vitest";
import { causeOf, rootCauses } from "./cause.ts";

test("roots come before what only says that something is wrong, the worst first, and what holds a config up before the rest", () => {
  const alerts = causeOf("bad", "alerts", "critical", "1 critical alert is open");
  const health = causeOf("bad", "health", "system", "the system is unhealthy");
  const disk = causeOf("bad", "node_held", "vm", "vm gets no work: its disk is full");
  const unit = causeOf("warn", "unit", "training_coordinator", "training_coordinator is not well");
  const failing = causeOf("warn", "job_failing", "w1", "w1 fails", { affects: ["a_2p"] });
  const note = causeOf("note", "unit", "x", "x begins");
  expect(rootCauses([note, alerts, health, unit, failing, disk])).toEqual([disk, failing, unit, alerts, health, note]);
});

test("what several configs stand still for is told once, with all of them", () => {
  const of = (config: string) => causeOf("warn", "no_worker", "selfplay", "no worker is there", { affects: [config] });
  expect(rootCauses([of("a_2p"), of("b_2p"), of("a_2p")])).toEqual([{ ...of("a_2p"), affects: ["a_2p", "b_2p"] }]);
});
