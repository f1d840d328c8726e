import { expect, test } from "vitest";
import { Durations } from "./durations.ts";

const sort = (workType: string) => ({ workType, configKey: "a_2p" });

test("a node is judged by how fast it is at the kind, and by all of its jobs while too little is known of that kind", () => {
  const durations = new Durations({ read: () => [] });
  for (let n = 0; n < 10; n += 1)
    for (const node of ["usual", "other"])
      for (const kind of ["selfplay", "training", "export"]) durations.note(sort(kind), 60_000, node);
  // Games take a third of the usual time there, training twice as long.
  for (let n = 0; n < 5; n += 1) durations.note(sort("selfplay"), 20_000, "odd");
  for (let n = 0; n < 8; n += 1) durations.note(sort("training"), 120_000, "odd");
  expect(durations.pace("odd", "selfplay")).toBeLessThan(0.5);
  expect(durations.pace("odd", "training")).toBeGreaterThan(1.5);
  expect(durations.expected(sort("selfplay"), "odd")! < durations.expected(sort("selfplay"), "usual")!).toBe(true);
  expect(durations.expected(sort("training"), "odd")! > durations.expected(sort("training"), "usual")!).toBe(true);
  expect(durations.pace("odd", "export")).toBe(durations.pace("odd"));
  expect(durations.pace("nobody", "export")).toBeUndefined();
});
