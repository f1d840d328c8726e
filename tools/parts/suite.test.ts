import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { type Owned, owned } from "../../test/support/process.ts";

let own: Owned;
let root: string;

const SUITE = { name: "soak", folder: "test/soak", reports: ".soak", about: "runs the long ones" };

const module = (name: string, source: string) => writeFileSync(join(root, SUITE.folder, `${name}.ts`), source);

/** The frame as a program over a folder of its own. */
const suite = (...args: string[]) => suiteLike(SUITE, ...args);
function suiteLike(given: object, ...args: string[]) {
  const program = join(root, "suite.ts");
  const at = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
  writeFileSync(
    program,
    `import { runSuite } from ${at("./suite.ts")};
     import { reportAndExit } from ${at("./root.ts")};
     await reportAndExit(() => runSuite(${JSON.stringify(given)}, process.argv.slice(2), ${JSON.stringify(root)}));`,
  );
  return own.startNode(program, args, { cwd: root });
}

beforeEach(() => {
  own = owned(onTestFinished);
  root = own.folder();
  mkdirSync(join(root, SUITE.folder), { recursive: true });
  module(
    "holds",
    `export const about = "always holds";\nexport const run = async (given: object) => ({ ok: true, given });`,
  );
  module(
    "throws",
    `/** Throws\n * always. Then rests. */\nexport function run(): void { throw new Error("lost an event"); }`,
  );
  module(
    "refuses",
    `export const run = () => ({ ok: false, lost: 3 });\nexport const print = (r: any) => "lost " + r.lost;`,
  );
  module("crashes", `export const run = () => process.kill(process.pid, "SIGKILL");`);
  module("helper", `export const walk = 1;`);
});

test("--list tells the modules that export run and what they are about", async () => {
  const child = suite("--list");
  expect(await child.exited).toEqual({ code: 0, signal: null });
  expect(
    child
      .stdout()
      .split("\n")
      .map((line) => line.trim().replace(/ +/, " ")),
  ).toEqual(["crashes", "holds always holds", "refuses", "throws Throws always", ""]);
});

const goals = (...met: boolean[]) => JSON.stringify(met.map((each, i) => ({ what: `goal ${i}`, value: i, met: each })));

test("goals that were missed are said, counted and told by the exit code, and are no failure", async () => {
  module(
    "slow",
    `export const run = () => ({ ok: true, goals: ${goals(true, false)}, sections: [{ goals: ${goals(false)} }] });`,
  );
  module("swift", `export const run = () => ({ goals: ${goals(true, true)} });`);
  const child = suite("slow", "swift", "holds");
  expect(await child.exited).toEqual({ code: 3, signal: null });
  expect(child.stdout()).toMatch(/ok, missed 2 of 3 goals, in .*\n {2}missed: goal 1\n {2}missed: goal 0\n/);
  expect(child.stdout()).toMatch(/ok, met all 2 goals, in /);
  expect(child.stdout()).toContain("3 held, 0 failed; missed 2 of 5 goals; report in");
  const report = JSON.parse(readFileSync(join(root, ".soak", "latest.json"), "utf8"));
  expect(report.goals).toEqual({ total: 5, missed: ["goal 1", "goal 0"] });
  expect(await suite("swift", "holds").exited).toEqual({ code: 0, signal: null });
});

test("at the tiny size each runs with its own options, goals do not count, and one without that size fails", async () => {
  module(
    "small",
    `export const tiny = { rounds: 1, more: 2 };
export const run = (given: object) => ({ given, goals: ${goals(false)} });`,
  );
  const child = suite("small", "--tiny", "--json", "--set", "more=3");
  expect(await child.exited).toEqual({ code: 0, signal: null });
  expect(JSON.parse(child.stdout()).outcomes).toMatchObject([{ ok: true, result: { given: { rounds: 1, more: 3 } } }]);
  const without = suite("holds", "--tiny");
  expect(await without.exited).toEqual({ code: 1, signal: null });
  expect(without.stdout()).toContain("it exports no `tiny`");
});

/** One that has ended and was not waited for is not running. */
const isRunning = (pid: number): boolean => {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
};

test("one that fails while something that it started goes on ends at once, with its reason", async () => {
  module(
    "hangs",
    `import { fork } from "node:child_process";
     if (process.argv[2] === "far") setInterval(() => {}, 1_000);
export async function run() {
       const child = fork(import.meta.filename, ["far"]);
       await new Promise((resolve) => child.once("spawn", resolve));
       console.error("far " + child.pid);
       throw new Error("the payload is refused");
     }`,
  );
  const child = suite("hangs");
  expect(await child.exited).toEqual({ code: 1, signal: null });
  expect(child.stdout()).toContain("the payload is refused");
  const far = Number(/far (\d+)/.exec(child.stderr())![1]);
  await expect.poll(() => isRunning(far)).toBe(false);
});

test("one that has its result and never ends is ended, and has not held", async () => {
  module("stays", `export const run = () => { setInterval(() => {}, 1_000); return { ok: true }; };`);
  const child = suiteLike({ ...SUITE, leaveMs: 500 }, "stays");
  expect(await child.exited).toEqual({ code: 1, signal: null });
  expect(child.stdout()).toContain("it had its result, and did not end");
});

test("a named module runs with its options and its report is kept", async () => {
  const child = suite("holds", "--set", "rounds=20", "--set", "name=x", "--json");
  expect(await child.exited).toEqual({ code: 0, signal: null });
  const report = JSON.parse(child.stdout());
  expect(report.outcomes).toMatchObject([{ name: "holds", ok: true, result: { given: { rounds: 20, name: "x" } } }]);
  expect(JSON.parse(readFileSync(join(root, ".soak", "latest.json"), "utf8"))).toEqual(report);
});

test("one that throws, refuses or crashes fails the run, and the others still run", async () => {
  const child = suite("--json");
  expect(await child.exited).toEqual({ code: 1, signal: null });
  const { outcomes } = JSON.parse(child.stdout());
  expect(outcomes.map(({ name, ok }: { name: string; ok: boolean }) => [name, ok])).toEqual([
    ["crashes", false],
    ["holds", true],
    ["refuses", false],
    ["throws", false],
  ]);
  expect(outcomes[0].error).toBe("SIGKILL ended it");
  expect(outcomes[2].printed).toBe("lost 3");
  expect(outcomes[3].error).toContain("lost an event");
  expect(child.stderr()).toContain("1 held, 3 failed crashes, refuses, throws");
});

test("an unknown name or option is refused with a suggestion", async () => {
  const wrong = suite("hold");
  expect(await wrong.exited).toEqual({ code: 2, signal: null });
  expect(wrong.stderr()).toContain("Did you mean holds?");
  expect(await suite("--lits").exited).toEqual({ code: 2, signal: null });
});

test("what a test runs already is not run again at the tiny size, unless it is named; a test that does not is told", async () => {
  const shown = (by: string) =>
    `export const tiny = {};\nexport const shownBy = "${by}";\nexport const run = () => ({ ok: false });`;
  const small = join(root, "test", "small");
  mkdirSync(small, { recursive: true });
  writeFileSync(join(small, "it.ts"), "export const run = () => ({});\nexport const tiny = {};\n");
  writeFileSync(join(small, "shown.ts"), shown("test/small/shown.test.ts"));
  writeFileSync(join(small, "shown.test.ts"), 'import { run } from "../small/shown.ts";\n');
  const others = { ...SUITE, folder: "test/small" };
  const all = suiteLike(others, "--tiny");
  expect(await all.exited).toEqual({ code: 0, signal: null });
  expect(all.stdout()).toContain("shown by test/small/shown.test.ts");
  expect(all.stdout()).toContain("1 held, 0 failed");
  expect(await suiteLike(others, "shown", "--tiny").exited).toEqual({ code: 1, signal: null });
  writeFileSync(join(small, "shown.test.ts"), "\n");
  const lost = suiteLike(others, "--tiny");
  expect((await lost.exited).code).not.toBe(0);
  expect(lost.stderr()).toContain("which does not import it");
});
