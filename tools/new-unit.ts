/**
 * `npm run new-unit -- <name> --kind daemon|coordinator --hears X,Y --emits Z --room daemons`: writes a unit in the one shape
 * and, beside it, its test, which fails until the unit does its work. Says where to put it into the wiring.
 */
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { builtinRows, createCatalog } from "../src/events/index.ts";
import { didYouMean } from "../src/kernel/index.ts";
import { KINDS, type Kind, namesOf, type Plan, testText, unitText } from "./new-unit/text.ts";
import { isProgram, OperatingError, ROOT, reportAndExit, scriptOf } from "./parts/root.ts";

const USAGE = `usage: npm run new-unit -- <name> [options]

  <name>             the unit's name, in snake_case: training_trigger
  --kind <kind>      daemon (has a loop) or coordinator (driven by events; the default)
  --hears <events>   events it handles, with commas between them
  --emits <events>   events it says
  --room <room>      its folder in src/: ${["daemons", "work", "cluster", "sync", "pipeline"].join(", ")} (daemons unless given)
  --placement <p>    leader, each-node or each-process (leader unless given)
  --layer <n>        order of its start, from 1 (2 unless given)
  --help             print this
`;

const ROOMS = ["daemons", "work", "cluster", "sync", "pipeline"];
const PLACEMENTS = ["leader", "each-node", "each-process"];

const usage = (message: string): OperatingError =>
  new OperatingError("USAGE", message, { hint: "'npm run new-unit -- --help' shows what there is." });

const chosen = (option: string, given: string, values: readonly string[]): string => {
  if (values.includes(given)) return given;
  throw usage(`${option}: there is no '${given}'.${didYouMean(given, values)} There are ${values.join(", ")}.`);
};

/** Canonical names of events, given in any spelling. */
function eventsOf(option: string, text: string | undefined): string[] {
  const { names } = createCatalog(builtinRows);
  const given = (text ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  return [
    ...new Set(
      given.map((name) => {
        const found = names.resolve(name);
        if (found === undefined)
          throw usage(`${option}: there is no event '${name}'.${didYouMean(name, Object.keys(builtinRows))}`);
        return found.name;
      }),
    ),
  ];
}

export function planOf(args: readonly string[]): Plan | undefined {
  const option = { type: "string" } as const;
  let parsed: ReturnType<typeof parse>;
  const parse = () =>
    parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        ...{ kind: option, hears: option, emits: option, room: option, placement: option, layer: option },
        help: { type: "boolean", short: "h" },
      },
    });
  try {
    parsed = parse();
  } catch (thrown) {
    throw usage((thrown as Error).message);
  }
  const { values, positionals } = parsed;
  if (values.help === true) return undefined;
  const [name, ...rest] = positionals;
  if (name === undefined) throw usage("what is the unit's name?");
  if (rest.length > 0) throw usage(`one name, not also '${rest[0]}'`);
  if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name) || name.length > 60)
    throw usage(`'${name}' is no name for a unit: snake_case, at most 60 characters`);
  const layer = Number(values.layer ?? "2");
  if (!Number.isInteger(layer) || layer < 1 || layer > 9)
    throw usage(`--layer is a whole number from 1 to 9, not '${values.layer}'`);
  const plan: Plan = {
    name,
    kind: chosen("--kind", values.kind ?? "coordinator", KINDS) as Kind,
    hears: eventsOf("--hears", values.hears),
    emits: eventsOf("--emits", values.emits),
    room: chosen("--room", values.room ?? "daemons", ROOMS),
    placement: chosen("--placement", values.placement ?? "leader", PLACEMENTS),
    layer,
  };
  if (plan.kind === "coordinator" && plan.hears.length === 0)
    throw usage("a coordinator is driven by events: --hears says by which");
  return plan;
}

/** Writes both files, or neither where one of them is there already; gives their paths. */
export function writeUnit(plan: Plan, root: string): readonly [unit: string, test: string] {
  const folder = join(root, "src", plan.room);
  if (!existsSync(folder))
    throw usage(
      `there is no room src/${plan.room} yet: make it with an index.ts, and give it a place in .dependency-cruiser.cjs`,
    );
  const { file } = namesOf(plan);
  const paths = [join(folder, `${file}.ts`), join(folder, `${file}.test.ts`)] as const;
  for (const path of paths)
    if (existsSync(path)) throw new OperatingError("UNIT_EXISTS", `${relative(root, path)} is there already`);
  writeFileSync(paths[0], unitText(plan));
  writeFileSync(paths[1], testText(plan));
  return paths;
}

/** As the house writes it: long lines broken, keys without quotes. */
export function formatUnit(paths: readonly string[], root: string): void {
  const done = spawnSync(process.execPath, [scriptOf("biome"), "check", "--write", "--colors=off", ...paths], {
    cwd: root,
    encoding: "utf8",
  });
  if (done.status !== 0) throw new OperatingError("UNIT_NOT_FORMATTED", `${done.stdout}${done.stderr}`);
}

function main(): number {
  const say = (text: string) => void process.stdout.write(`${text}\n`);
  const plan = planOf(process.argv.slice(2));
  if (plan === undefined) {
    say(USAGE.trimEnd());
    return 0;
  }
  const paths = writeUnit(plan, ROOT);
  formatUnit(paths, ROOT);
  const [unit, test] = paths.map((path) => relative(ROOT, path)) as [string, string];
  const { factory } = namesOf(plan);
  const list = plan.room === "daemons" ? "ownUnits in src/daemons/own-units.ts" : "the units in src/app/registry.ts";
  say(`wrote ${unit}`);
  say(`wrote ${test}, which fails until the unit does its work\n`);
  say("Next:");
  say(`  1. npx vitest run --project unit ${test}`);
  say("  2. write its handlers, and what the test expects of them");
  say(`  3. add ${factory}() to ${list}, and its name to its profiles in src/daemons/daemon-types.ts`);
  say("  4. npm run docs, then npm test: the audit tells if an event has no emitter or no listener");
  say("docs/27-adding-a-unit.md tells the whole story.");
  return 0;
}

if (isProgram(import.meta.url)) await reportAndExit(main);
