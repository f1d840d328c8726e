import { expect, test } from "vitest";
import { causeLink, stepLink } from "./links.ts";

test("a cause leads to what it is about: a view of its own, or the question why", () => {
  const link = (code: string, subject: string) => causeLink({ code, subject });
  expect(link("paused", "hex7_2p")).toBe("/why/hex7_2p");
  expect(link("alerts", "error")).toBe("/alerts");
  expect(link("no_worker", "worker")).toBe("/nodes");
  expect(link("breaker_open", "my exporter TRAINING_FAILED")).toBe("/dead-letters?consumer=my%20exporter");
  expect(link("node_away", "a/b")).toBe("/why/a%2Fb");
});

test("each step on the way leads on; a stage to its config", () => {
  const way = [
    { kind: "config", subject: "hex7_2p", what: "running" },
    { kind: "stage", subject: "training", what: "iteration 1, attempt 1" },
    { kind: "job", subject: "w17", what: "pending" },
  ];
  expect(way.map((step) => stepLink(step, way))).toEqual(["/why/hex7_2p", "/configs/hex7_2p", "/why/w17"]);
});
