import { describe, expect, test } from "vitest";
import { failedFiles, judgeTests, judgeTwice, type TestReport } from "./test-report.ts";

const report = (tests: Record<string, string>, success = true): TestReport => ({
  success,
  testResults: [
    {
      name: "/repo/test/e2e/some.test.ts",
      status: Object.values(tests).includes("failed") ? "failed" : "passed",
      assertionResults: Object.entries(tests).map(([fullName, status]) => ({ fullName, status })),
    },
  ],
});
const expecting = { root: "/repo", folders: ["test/e2e"], strict: false };

test("tests that all ran and passed have no problem", () => {
  expect(judgeTests(report({ a: "passed", b: "passed" }), expecting)).toEqual({
    summary: "2 tests in 1 files",
    problems: [],
    warnings: [],
  });
});

test("a failed test is named", () => {
  expect(judgeTests(report({ a: "passed", b: "failed" }, false), expecting).problems).toEqual([
    "test/e2e/some.test.ts: b",
  ]);
});

test.each(["skipped", "pending", "todo", "disabled"])("a test that is %s is told, and fails in CI", (status) => {
  const skipping = report({ a: "passed", b: status });
  const told = "skipped: test/e2e/some.test.ts: b";
  expect(judgeTests(skipping, expecting)).toMatchObject({ problems: [], warnings: [told] });
  expect(judgeTests(skipping, { ...expecting, strict: true })).toMatchObject({ problems: [told], warnings: [] });
});

test("a folder whose tests are gone, or are all skipped, is a problem even when nothing failed", () => {
  expect(judgeTests(report({ a: "passed" }), { ...expecting, folders: ["test/e2e", "test/chaos"] }).problems).toEqual([
    "no test in test/chaos has run",
  ]);
  expect(judgeTests(report({ a: "skipped" }), expecting).problems).toEqual(["no test in test/e2e has run"]);
});

test("a file that could not be loaded and an error outside of the tests are problems", () => {
  const broken = {
    success: false,
    testResults: [{ name: "/repo/test/e2e/x.test.ts", status: "failed", assertionResults: [] }],
  };
  expect(judgeTests(broken, expecting).problems).toContain("test/e2e/x.test.ts could not run");
  expect(judgeTests(report({ a: "passed" }, false), expecting).problems).toEqual([
    "the run failed outside of any test",
  ]);
});

describe("a second try of the files that failed", () => {
  const file = (name: string, statuses: Readonly<Record<string, string>>) => ({
    name: `/repo/test/${name}`,
    status: Object.values(statuses).includes("failed") ? "failed" : "passed",
    assertionResults: Object.entries(statuses).map(([fullName, status]) => ({ fullName, status })),
  });
  const expected = { root: "/repo", folders: ["test"], strict: true };
  const first = {
    success: false,
    testResults: [file("a.test.ts", { x: "failed", y: "passed" }), file("b.test.ts", { z: "passed" })],
  };

  test("is for those alone", () => {
    expect(failedFiles(first)).toEqual(["/repo/test/a.test.ts"]);
  });

  test("that passes is no failure, and names what passed only then", () => {
    const second = { success: true, testResults: [file("a.test.ts", { x: "passed", y: "passed" })] };
    expect(judgeTwice(first, second, expected)).toEqual({
      summary: "3 tests in 2 files, 1 FLAKY",
      problems: [],
      warnings: ["FLAKY, passed on the second try: test/a.test.ts: x"],
    });
  });

  test("that fails is a failure, also when another test of the file fails this time", () => {
    const same = judgeTwice(
      first,
      { success: false, testResults: [file("a.test.ts", { x: "failed", y: "passed" })] },
      expected,
    );
    expect(same.problems).toEqual(["test/a.test.ts: x"]);
    expect(same.warnings).toEqual([]);
    const other = judgeTwice(
      first,
      { success: false, testResults: [file("a.test.ts", { x: "passed", y: "failed" })] },
      expected,
    );
    expect(other.problems).toEqual(["test/a.test.ts: y"]);
  });

  test("that did not run proves nothing", () => {
    expect(judgeTwice(first, { success: true, testResults: [] }, expected).problems).toEqual(["test/a.test.ts: x"]);
  });
});
