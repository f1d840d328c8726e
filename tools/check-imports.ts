/**
 * Imports go down, never up: dependency-cruiser over `src`, with the rules in `.dependency-cruiser.cjs`.
 *
 * A cruise that sees nothing also finds nothing, so it is part of the check that it saw the modules, and that every room of
 * the house has its floor in the rules.
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { messageOf } from "../src/kernel/index.ts";
import { isProgram, OperatingError, ROOT, reportAndExit, scriptOf } from "./parts/root.ts";

const MODULES_LEAST = 50;
const CONFIG = join(ROOT, ".dependency-cruiser.cjs");

interface Cruise {
  readonly modules: readonly { readonly source: string }[];
  readonly summary: {
    readonly violations: readonly {
      readonly from: string;
      readonly to: string;
      readonly rule: { readonly name: string; readonly severity: string };
      readonly cycle?: readonly { readonly name: string }[];
    }[];
  };
}

interface Rules {
  readonly forbidden: readonly { readonly from: { readonly path?: string }; readonly to: { readonly path?: string } }[];
}

export interface ImportReport {
  /** How many modules of the house itself were seen. */
  readonly modules: number;
  readonly problems: readonly string[];
}

function cruise(root: string): Cruise {
  const program = scriptOf("depcruise");
  const args = [program, "src", "--config", CONFIG, "--output-type", "json"];
  const done = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8", maxBuffer: 256 * 2 ** 20 });
  try {
    return JSON.parse(done.stdout) as Cruise;
  } catch (thrown) {
    throw new OperatingError("CRUISE_FAILED", `dependency-cruiser gave no result: ${done.stderr || messageOf(thrown)}`);
  }
}

/** Rooms that no rule knows: whatever they import would pass. */
function homeless(root: string): string[] {
  const { forbidden } = createRequire(import.meta.url)(CONFIG) as Rules;
  const paths = forbidden
    .flatMap(({ from, to }) => [from.path, to.path])
    .filter((path) => path !== undefined && path !== "^src/")
    .map((path) => new RegExp(path!));
  return readdirSync(join(root, "src"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !paths.some((path) => path.test(`src/${entry.name}/index.ts`)))
    .map(({ name }) => `src/${name} has no floor in .dependency-cruiser.cjs`);
}

export function checkImports(root: string, modulesLeast = MODULES_LEAST): ImportReport {
  const { modules: all, summary } = cruise(root);
  const modules = all.filter(({ source }) => source.startsWith("src/")).length;
  const problems = summary.violations.map(
    ({ rule, from, to, cycle }) =>
      `${rule.name}: ${[from, ...(cycle === undefined ? [to] : cycle.map(({ name }) => name))].join(" -> ")}`,
  );
  if (modules < modulesLeast) problems.push(`saw ${modules} modules, fewer than ${modulesLeast}: is it blind?`);
  return { modules, problems: [...problems, ...homeless(root)] };
}

if (isProgram(import.meta.url))
  await reportAndExit(() => {
    const { modules, problems } = checkImports(ROOT);
    for (const problem of problems) process.stdout.write(`${problem}\n`);
    process.stdout.write(`${modules} modules, ${problems.length} problems\n`);
    return problems.length === 0 ? 0 : 1;
  });
