import { expect, test } from "vitest";
import { kindsWith } from "./kinds.ts";

test("the queue takes the kinds of declared workloads, which must bring a file; built-in kinds keep their own rules", () => {
  const kinds = kindsWith(["distil", "selfplay", "distil", "render"]);
  expect(Object.keys(kinds).sort()).toEqual([
    "distil",
    "evaluation",
    "export",
    "render",
    "selfplay",
    "training",
    "validation",
  ]);
  expect(kinds.distil!.evidence).toEqual({ outputs: 1, counts: [] });
  expect(kinds.selfplay!.evidence).toMatchObject({ outputs: 1, counts: ["games"] });
});
