import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { declaredRegistry } from "../src/app/registry.ts";
import { COMPILE_CACHE } from "../test/support/compiled.ts";
import { patience } from "../test/support/patience.ts";
import { owned } from "../test/support/process.ts";
import { namesOf, type Plan, unitText } from "./new-unit/text.ts";
import { formatUnit, planOf, writeUnit } from "./new-unit.ts";
import { ROOT, scriptOf } from "./parts/root.ts";
import { typeErrors } from "./parts/type-errors.ts";

/** A copy of what units are made of, so that new ones stand nowhere in the way. */
function workshop(): string {
  const folder = owned(onTestFinished).folder();
  for (const each of [
    "src",
    "test/fixtures",
    "test/support",
    "package.json",
    "tsconfig.json",
    "vitest.config.ts",
    "biome.json",
    ".gitignore",
  ]) {
    mkdirSync(dirname(join(folder, each)), { recursive: true });
    cpSync(join(ROOT, each), join(folder, each), { recursive: true, filter: (path) => !/\.test\.ts$/.test(path) });
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return folder;
}

const run = (folder: string, script: string, args: readonly string[]) => {
  // What is compiled of the copy goes with it.
  const env: NodeJS.ProcessEnv = { ...process.env, NO_COLOR: "1", [COMPILE_CACHE]: join(folder, "compiled") };
  for (const name of Object.keys(env)) if (/^(VITEST|NODE_OPTIONS$|FORCE_COLOR$|TEST$)/.test(name)) delete env[name];
  const done = spawnSync(process.execPath, [scriptOf(script), ...args], { cwd: folder, encoding: "utf8", env });
  return { code: done.status, output: `${done.stdout}${done.stderr}` };
};

const plan = (...args: string[]): Plan => planOf(args)!;
const fill = (file: string, what: string, work: string) => {
  const text = readFileSync(file, "utf8");
  const before = `throw new Error("${what} is not written yet");`;
  expect(text).toContain(before);
  writeFileSync(file, text.replace(before, work));
};

describe("a new unit", () => {
  // A compiler and two test runners: on a busy machine that takes its time.
  test("compiles, is formatted, fails for the right reason, and passes once it is filled in", {
    timeout: patience(300_000),
  }, () => {
    const folder = workshop();
    const coordinator = writeUnit(
      plan("game_counter", "--hears", "new_games_available", "--emits", "TRAINING_THRESHOLD_REACHED"),
      folder,
    );
    const daemon = writeUnit(
      plan("tidy_daemon", "--kind", "daemon", "--hears", "HOST_OFFLINE,HOST_ONLINE", "--placement", "each-node"),
      folder,
    );
    const files = [...coordinator, ...daemon];
    expect(files.map((file) => relative(folder, file))).toEqual([
      "src/daemons/units/game-counter/game-counter.unit.ts",
      "src/daemons/units/game-counter/game-counter.unit.test.ts",
      "src/daemons/units.ts",
      "src/daemons/units/tidy-daemon/tidy-daemon.unit.ts",
      "src/daemons/units/tidy-daemon/tidy-daemon.unit.test.ts",
      "src/daemons/units.ts",
    ]);
    expect(readFileSync(join(folder, "src/daemons/units.ts"), "utf8")).toMatch(/gameCounter\(\),\n *tidyDaemon\(\),\n/);
    formatUnit(files, folder);
    // The registry, too: what the new units hear somebody emits.
    expect(typeErrors([...files, join(folder, "src/app/registry.ts")], { root: folder })).toEqual([]);
    expect(run(folder, "biome", ["ci", ...files]).code).toBe(0);

    const tests = ["run", "--project", "unit", ...files.filter((file) => file.endsWith(".test.ts"))];
    const failing = run(folder, "vitest", tests);
    expect(failing.code).not.toBe(0);
    expect(failing.output).toMatch(/5 failed/);
    expect(failing.output).toContain("what it does on NEW_GAMES_AVAILABLE is not written yet");
    expect(failing.output).toContain("what it does on HOST_OFFLINE is not written yet");
    expect(failing.output).toContain("what its loop does is not written yet");

    // The shape has room for what is missing: the handler takes its event and context.
    const [unit] = coordinator;
    writeFileSync(
      unit,
      readFileSync(unit, "utf8").replace("NEW_GAMES_AVAILABLE()", "NEW_GAMES_AVAILABLE({ payload }, { emit })"),
    );
    fill(
      unit,
      "what it does on NEW_GAMES_AVAILABLE",
      `emit.TRAINING_THRESHOLD_REACHED({ config_key: payload.config_key, games: payload.new_games, required_games: 1 });`,
    );
    fill(daemon[0], "what it does on HOST_OFFLINE", "");
    fill(daemon[0], "what it does on HOST_ONLINE", "");
    fill(daemon[0], "what its loop does", "");
    const passing = run(folder, "vitest", tests);
    expect(passing.output).toMatch(/5 passed/);
    expect(passing.code).toBe(0);
  });

  test("is named as the house names things", () => {
    expect(namesOf(plan("quality_monitor_daemon", "--kind", "daemon"))).toEqual({
      file: "quality-monitor-daemon",
      factory: "qualityMonitorDaemon",
    });
    expect(namesOf(plan("x", "--hears", "ERROR"))).toEqual({ file: "x", factory: "x" });
  });

  test("says what is missing of its wiring: whom it awaits, and who is to hear it", () => {
    const { catalog, units, parts } = declaredRegistry();
    const emitted = new Set([...units, ...parts].flatMap(({ emits }) => emits));
    const open = Object.keys(catalog.rows)
      .filter((event) => !emitted.has(event))
      .slice(0, 1);
    const hears = [...open, "HOST_ONLINE"].join();
    const silent = plan("x", "--hears", hears, "--emits", "WORK_QUEUED,HOST_OFFLINE");
    expect(silent).toMatchObject({ awaits: open, unheard: ["WORK_QUEUED"] });
    expect(unitText(silent)).toMatch(/unheard: \{\n *WORK_QUEUED: /);
    for (const event of open) expect(unitText(silent)).toMatch(new RegExp(`awaits: \\{\\n *${event}: `));
  });

  test("overwrites nothing", () => {
    const folder = owned(onTestFinished).folder();
    mkdirSync(join(folder, "src", "daemons"), { recursive: true });
    mkdirSync(join(folder, "src", "sync"));
    writeFileSync(
      join(folder, "src", "daemons", "units.ts"),
      "export const daemonsUnits = () =>\n  [\n  ] as const;\n",
    );
    const wanted = plan("x", "--hears", "ERROR");
    writeUnit(wanted, folder);
    expect(() => writeUnit(wanted, folder)).toThrow(/is there already/);
    expect(() => writeUnit({ ...wanted, room: "work" }, folder)).toThrow(/no room src\/work yet/);
    expect(() => writeUnit({ ...wanted, room: "sync" }, folder)).toThrow(/src\/sync has no units.ts yet/);
  });

  test.each<[string[], RegExp]>([
    [[], /what is the unit's name/],
    [["Bad-Name", "--hears", "ERROR"], /no name for a unit/],
    [["x"], /--hears says by which/],
    [["x", "--hears", "EROR"], /no event 'EROR'. Did you mean ERROR/],
    [["x", "--kind", "deamon"], /Did you mean daemon/],
    [["x", "--kind", "daemon", "--room", "kernel"], /There are daemons/],
    [["x", "--kind", "daemon", "--layer", "0"], /--layer/],
    [["x", "--kind", "daemon", "--placement", "here"], /There are leader/],
    [["x", "y"], /one name/],
    [["x", "--wrong"], /wrong/],
  ])("is refused for %j", (args, message) => {
    expect(() => planOf(args)).toThrow(message);
  });
});
