import { expect, test } from "vitest";
import { workloadDeclarationSchema } from "../workloads/process/index.ts";
import { kindsOf } from "./work-ports.ts";

const declare = (...kinds: string[]) => ({
  declaration: workloadDeclarationSchema.parse({ command: "program", kinds }),
});

test("the queue takes the kinds of declared workloads, which must bring a file; built-in kinds keep their own rules", () => {
  const kinds = kindsOf([declare("distil", "selfplay"), declare("distil", "render")]);
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
  expect(kinds.selfplay!.evidence).toEqual({ outputs: 1, counts: ["games"] });
});
