/** The conformance suite against programs that keep all rules but one: it names that rule, and no other. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { arenaDeclaration } from "../../../src/workloads/arena/index.ts";
import { type CheckReport, checkWorkload } from "../../../src/workloads/process/check/check.ts";
import { parseDeclaration } from "../../../src/workloads/process/index.ts";
import { MISBEHAVING, openBench, PATIENT, type WorkloadBench } from "./bench.ts";

const CITIZEN = fileURLToPath(new URL("./programs/citizen.mjs", import.meta.url));

let bench: WorkloadBench;
let checks = 0;
beforeAll(() => {
  bench = openBench();
});
afterAll(() => bench.close());

const check = (args: readonly string[], limits: object = {}): Promise<CheckReport> => {
  checks += 1;
  const folder = join(bench.folder, `check-${checks}`);
  mkdirSync(folder);
  const declaration = parseDeclaration({
    command: process.execPath,
    args: [...args],
    kinds: ["any"],
    limits: { ...PATIENT, ...limits },
  });
  return checkWorkload({ declaration, folder, jobsFolder: folder, seed: 5 }, bench.edges);
};

const named = ({ results }: CheckReport, status: string) =>
  results.filter((each) => each.status === status).map(({ name }) => name);

/** What is asked of a program for each kind of job that it does. */
const KIND_RULES = ["job", "folders", "progress", "sequence", "deterministic", "cancel"];
const rulesFor = ({ results }: CheckReport, kind: string) =>
  results.filter(({ name }) => name.endsWith(` ${kind}`)).map(({ name }) => name.slice(0, -kind.length - 1));

test("a program that keeps all rules passes them all", async () => {
  const report = await check([CITIZEN]);
  expect(named(report, "failed")).toEqual([]);
  expect(named(report, "skipped")).toEqual([]);
  expect(report).toMatchObject({ ok: true, program: { name: "citizen", kinds: ["selfplay"] } });
  expect(rulesFor(report, "selfplay")).toEqual(KIND_RULES);
});

const BREAKS: readonly (readonly [string, readonly string[], object?])[] = [
  ["no-progress", ["progress selfplay"]],
  ["leaves", ["sequence selfplay"]],
  ["random", ["deterministic selfplay"]],
  ["strays", ["folders selfplay"]],
  ["changes-input", ["folders selfplay"]],
  ["deaf", ["cancel selfplay"], { grace_seconds: 0.2 }],
  ["any-kind", ["bad input: unknown kind"]],
  ["retryable", ["bad input: unknown kind"]],
  ["exit-1", ["bad input: no JSON"]],
  ["stays", ["shutdown", "input closed"], { term_seconds: 1.5 }],
];

for (const [rule, failed, limits] of BREAKS)
  test(`a program that breaks one rule (${rule}) fails: ${failed.join(", ")}`, async () => {
    const report = await check([CITIZEN, rule], limits);
    expect(named(report, "failed")).toEqual(failed);
    expect(report.ok).toBe(false);
  });

test("what a program does not promise, or cannot be tried, is skipped and said", async () => {
  const report = await check([CITIZEN, "no-promise", "no-long"]);
  expect(named(report, "skipped")).toEqual(["deterministic selfplay", "cancel selfplay"]);
  expect(report.ok).toBe(true);
});

test("a program that crashes in its job is told with the end of its log", async () => {
  const report = await check([CITIZEN, "fails"]);
  expect(named(report, "failed")).toContain("job selfplay");
  expect(report.stderr_tail).toContain("it does not work");
});

test("a program that says no hello ends the check at once", async () => {
  for (const how of ["exit-early", "garbage", "wrong-version"]) {
    const report = await check([MISBEHAVING, how]);
    expect(report).toMatchObject({ ok: false, program: null, results: [{ name: "hello", status: "failed" }] });
  }
});

test("the built-in games keep all rules", async () => {
  const { args } = arenaDeclaration();
  const report = await check(args);
  expect(named(report, "failed")).toEqual([]);
  // An export of a few rows may be over before it can be cancelled.
  expect(named(report, "skipped").filter((name) => name !== "cancel export")).toEqual([]);
  expect(report.program?.kinds).toEqual(["selfplay", "validation", "export", "training", "evaluation"]);
  for (const kind of report.program?.kinds ?? []) expect(rulesFor(report, kind), kind).toEqual(KIND_RULES);
});
