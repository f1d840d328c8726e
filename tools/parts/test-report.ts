import { relative } from "node:path";

/** The part of vitest's JSON report that is judged. */
export interface TestReport {
  readonly success: boolean;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

export interface Expectations {
  readonly root: string;
  /** Folders of which at least one test must have run. */
  readonly folders: readonly string[];
  /** Whether a skipped test is a failure, as in CI. */
  readonly strict: boolean;
}

export interface Verdict {
  readonly summary: string;
  readonly problems: readonly string[];
  /** Things to say loudly that are no failure here. */
  readonly warnings: readonly string[];
}

const RAN = new Set(["passed", "failed"]);

/** What a run of the tests proves: that none failed is not enough, they must also have run. */
export function judgeTests(report: TestReport, { root, folders, strict }: Expectations): Verdict {
  const files = report.testResults.map((file) => ({ ...file, path: relative(root, file.name) }));
  const tests = files.flatMap(({ path, assertionResults }) => assertionResults.map((test) => ({ ...test, path })));
  const count = (status: string) => tests.filter((test) => test.status === status).length;
  const problems = files
    .filter(
      ({ status, assertionResults }) => status === "failed" && !assertionResults.some((t) => t.status === "failed"),
    )
    .map(({ path }) => `${path} could not run`);
  problems.push(...tests.filter(({ status }) => status === "failed").map((t) => `${t.path}: ${t.fullName}`));
  for (const folder of folders)
    if (!tests.some(({ path, status }) => path.startsWith(`${folder}/`) && RAN.has(status)))
      problems.push(`no test in ${folder} has run`);
  const skipped = tests.filter(({ status }) => !RAN.has(status)).map((t) => `skipped: ${t.path}: ${t.fullName}`);
  if (strict) problems.push(...skipped);
  if (problems.length === 0 && !report.success) problems.push("the run failed outside of any test");
  const parts = [`${count("passed")} tests in ${files.length} files`];
  if (count("failed") > 0) parts.push(`${count("failed")} failed`);
  if (skipped.length > 0) parts.push(`${skipped.length} SKIPPED`);
  return { summary: parts.join(", "), problems, warnings: strict ? [] : skipped };
}

/** Files with a test that failed, or that could not run. */
export const failedFiles = (report: TestReport): string[] =>
  report.testResults.filter(({ status }) => status === "failed").map(({ name }) => name);

/**
 * What a run proves whose failed files had a second try, alone. A test that fails twice is a failure. One that passes the second
 * time is none, and is told loudly: it depends on something that it should not depend on.
 */
export function judgeTwice(first: TestReport, second: TestReport, expected: Expectations): Verdict {
  const again = new Map(second.testResults.map((file) => [file.name, file]));
  const testResults = first.testResults.map((file) => again.get(file.name) ?? file);
  const verdict = judgeTests({ success: second.success, testResults }, expected);
  const flaky = first.testResults.flatMap(({ name, status, assertionResults }) => {
    const now = again.get(name);
    if (now === undefined || now.status === "failed") return [];
    const failed = assertionResults.filter((test) => test.status === "failed").map((test) => test.fullName);
    const what = failed.length > 0 ? failed : status === "failed" ? ["the file itself"] : [];
    return what.map((each) => `FLAKY, passed on the second try: ${relative(expected.root, name)}: ${each}`);
  });
  const summary = flaky.length > 0 ? `${verdict.summary}, ${flaky.length} FLAKY` : verdict.summary;
  return { ...verdict, summary, warnings: [...flaky, ...verdict.warnings] };
}
