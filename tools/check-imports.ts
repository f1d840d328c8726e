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
import { isProgram, OperatingError, ROOT, reportAndExit, say, scriptOf } from "./parts/root.ts";

const MODULES_LEAST = 50;
const CONFIG = join(ROOT, ".dependency-cruiser.cjs");

interface Cruise {
  readonly modules: readonly {
    readonly source: string;
    readonly dependencies: readonly { readonly resolved: string }[];
  }[];
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
  readonly forbidden: readonly {
    readonly name: string;
    readonly from: { readonly path?: string };
    readonly to: { readonly path?: string };
  }[];
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
    throw OperatingError.internal(
      "CRUISE_FAILED",
      `dependency-cruiser gave no result: ${done.stderr || messageOf(thrown)}`,
    );
  }
}

const isTest = (file: string): boolean => /\.(test|contract)\.ts$/.test(file);

/** Where two paths part: the folder that both are in, and the folder inside it that each goes into. */
function parting(from: string, to: string): { folder: string; from: string; to: string } | undefined {
  const [a, b] = [from.split("/"), to.split("/")];
  let depth = 0;
  while (depth < a.length && a[depth] === b[depth]) depth += 1;
  const bothGoOn = depth < a.length - 1 && depth < b.length - 1;
  return bothGoOn ? { folder: a.slice(0, depth).join("/"), from: a[depth]!, to: b[depth]! } : undefined;
}

/** For each folder inside a folder: which of its neighbours it imports, with an import that shows it. */
type Neighbours = Map<string, Map<string, string>>;

/** The circles in which neighbours import each other, each once. */
function circles(neighbours: Neighbours): string[][] {
  const found = new Map<string, string[]>();
  const walk = (path: readonly string[], name: string): void => {
    const at = path.indexOf(name);
    if (at >= 0) {
      const circle = path.slice(at);
      const first = circle.indexOf(circle.toSorted()[0]!);
      const turned = [...circle.slice(first), ...circle.slice(0, first)];
      found.set(turned.join(), turned);
      return;
    }
    for (const next of neighbours.get(name)?.keys() ?? []) walk([...path, name], next);
  };
  for (const name of neighbours.keys()) walk([], name);
  return [...found.values()];
}

/** Folders side by side that import each other in a circle, also where no file does: nobody can read one of them first. */
function folderCycles(modules: Cruise["modules"]): string[] {
  const byFolder = new Map<string, Neighbours>();
  const imports = modules
    .filter(({ source }) => source.startsWith("src/") && !isTest(source))
    .flatMap(({ source, dependencies }) => dependencies.map(({ resolved }) => ({ source, resolved })));
  for (const { source, resolved } of imports) {
    const at = resolved.startsWith("src/") ? parting(source, resolved) : undefined;
    // Between the rooms themselves the floors decide.
    if (at === undefined || at.folder === "src") continue;
    const neighbours: Neighbours = byFolder.get(at.folder) ?? new Map();
    byFolder.set(at.folder, neighbours);
    const imported = neighbours.get(at.from) ?? new Map<string, string>();
    neighbours.set(at.from, imported.set(at.to, `${source} -> ${resolved}`));
  }
  return [...byFolder].flatMap(([folder, neighbours]) =>
    circles(neighbours).map((circle) => {
      const shown = circle.map((name, i) => neighbours.get(name)!.get(circle[(i + 1) % circle.length]!));
      return `no-cycles-between-folders: in ${folder}: ${shown.join("; ")}`;
    }),
  );
}

/** Rooms that no rule knows: whatever they import would pass. */
function homeless(root: string): string[] {
  const { forbidden } = createRequire(import.meta.url)(CONFIG) as Rules;
  const paths = forbidden
    .filter(({ name }) => name !== "through-index")
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
  return { modules, problems: [...problems, ...folderCycles(all), ...homeless(root)] };
}

if (isProgram(import.meta.url))
  await reportAndExit(() => {
    const { modules, problems } = checkImports(ROOT);
    for (const problem of problems) say(problem);
    say(`${modules} modules, ${problems.length} problems`);
    return problems.length === 0 ? 0 : 1;
  });
