import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { owned } from "../../test/support/process.ts";
import { steps } from "./steps.ts";

const e2e = steps.find(({ name }) => name === "e2e")!;
const filesOf = (status: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ name: `/test/e2e/${status}-${i}.test.ts`, status, assertionResults: [] }));

function reported(...testResults: ReturnType<typeof filesOf>) {
  const file = join(owned(onTestFinished).folder(), "e2e.json");
  writeFileSync(file, JSON.stringify({ success: false, testResults }));
  return file;
}

test("end-to-end files that failed, and they alone, are tried again one by one", () => {
  const again = e2e.again!(reported(...filesOf("passed", 3), ...filesOf("failed", 2)), "again.json")!;
  expect(again.filter((each) => each.endsWith(".test.ts"))).toEqual([
    "/test/e2e/failed-0.test.ts",
    "/test/e2e/failed-1.test.ts",
  ]);
  expect(again).toContain("--outputFile.json=again.json");
  expect(again[again.indexOf("--maxWorkers") + 1]).toBe("1");
});

test("nothing is tried again when nothing failed, when much did, or when there is no report", () => {
  expect(e2e.again!(reported(...filesOf("passed", 3)), "again.json")).toBeUndefined();
  expect(e2e.again!(reported(...filesOf("failed", 6)), "again.json")).toBeUndefined();
  expect(e2e.again!("/nowhere.json", "again.json")).toBeUndefined();
});

test("only tests with real processes have a second try", () => {
  expect(steps.filter(({ again }) => again !== undefined).map(({ name }) => name)).toEqual(["e2e"]);
});
