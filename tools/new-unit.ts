/**
 * `npm run new-unit -- <name> --kind daemon|coordinator --hears X,Y --emits Z --room daemons`: writes a unit in the one shape
 * and, beside it, its test, which fails until the unit does its work; and puts it into its room's list of units.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { declaredRegistry } from "../src/app/registry.ts";
import { builtinRows, createCatalog } from "../src/events/index.ts";
import { didYouMean } from "../src/kernel/index.ts";
import { KINDS, type Kind, namesOf, type Plan, testText, unitText } from "./new-unit/text.ts";
import { isProgram, OperatingError, ROOT, readArguments, reportAndExit, say, scriptOf } from "./parts/root.ts";

const ROOMS = [
  "daemons",
  "work",
  "cluster",
  "sync",
  "pipeline",
  ...["selfplay", "data", "training", "evaluation", "models"].map((stage) => `pipeline/${stage}`),
];

const USAGE = `usage: npm run new-unit -- <name> [options]

  <name>             the unit's name, in snake_case: training_trigger
  --kind <kind>      daemon (has a loop) or coordinator (driven by events; the default)
  --hears <events>   events it handles, with commas between them
  --emits <events>   events it emits
  --room <room>      its folder in src/: ${ROOMS.join(", ")}
                     (daemons unless given)
  --placement <p>    leader, each-node or each-process (leader unless given)
  --layer <n>        order of its start, from 1 (2 unless given)
  --help             print this
`;

const PLACEMENTS = ["leader", "each-node", "each-process"];

const HINT = "'npm run new-unit -- --help' lists them.";

const usage = (message: string): OperatingError => OperatingError.invalid("USAGE", message, { hint: HINT });

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
  const text = { type: "string" } as const;
  const options = { kind: text, hears: text, emits: text, room: text, placement: text, layer: text } as const;
  const { values, positionals } = readArguments(
    { args, allowPositionals: true, options: { ...options, help: { type: "boolean", short: "h" } } },
    HINT,
  );
  if (values.help === true) return undefined;
  const [name, ...rest] = positionals;
  if (name === undefined) throw usage("what is the unit's name?");
  if (rest.length > 0) throw usage(`one name, not also '${rest[0]}'`);
  if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name) || name.length > 60)
    throw usage(`'${name}' is no name for a unit: snake_case, at most 60 characters`);
  const layer = Number(values.layer ?? "2");
  if (!Number.isInteger(layer) || layer < 1 || layer > 9)
    throw usage(`--layer is a whole number from 1 to 9, not '${values.layer}'`);
  const hears = eventsOf("--hears", values.hears);
  const emits = eventsOf("--emits", values.emits);
  const { units, parts } = declaredRegistry();
  const emitted = new Set([...units, ...parts].flatMap((speaker) => speaker.emits));
  const heard = new Set(units.flatMap((unit) => unit.hears));
  const plan: Plan = {
    name,
    kind: chosen("--kind", values.kind ?? "coordinator", KINDS) as Kind,
    hears,
    emits,
    awaits: hears.filter((event) => !emitted.has(event)),
    unheard: emits.filter((event) => !heard.has(event)),
    room: chosen("--room", values.room ?? "daemons", ROOMS),
    placement: chosen("--placement", values.placement ?? "leader", PLACEMENTS),
    layer,
  };
  if (plan.kind === "coordinator" && plan.hears.length === 0)
    throw usage("a coordinator is driven by events: --hears says by which");
  return plan;
}

/** The list of units that a room's are put into: its own, or that of the room it is part of. */
function listOf(room: string, root: string): string {
  for (let folder = room; folder !== "."; folder = dirname(folder)) {
    const list = join(root, "src", folder, "units.ts");
    if (existsSync(list)) return list;
  }
  throw usage(`src/${room} has no units.ts yet: make it, and put it into src/app/registry.ts`);
}

/** The list with one more unit at its end. */
function withUnit(text: string, factory: string, path: string): string {
  const [list] = text.match(/Units =[\s\S]*?\n *\] as const/) ?? [];
  if (list === undefined)
    throw OperatingError.conflict("UNIT_NOT_LISTED", "there is no list '...Units = ... [ ... ] as const'");
  return `import { ${factory} } from "${path}";\n${text.replace(list, list.replace(/\] as const$/, `  ${factory}(),\n  ] as const`))}`;
}

/** Writes both files, or neither where one of them is there already, and adds the unit to its list; gives the three paths. */
export function writeUnit(plan: Plan, root: string): readonly [unit: string, test: string, list: string] {
  if (!existsSync(join(root, "src", plan.room)))
    throw usage(
      `there is no room src/${plan.room} yet: make it with an index.ts, and give it a place in .dependency-cruiser.cjs`,
    );
  const { file, factory } = namesOf(plan);
  const list = listOf(plan.room, root);
  const folder = join(root, "src", plan.room, "units", file);
  const [unit, test] = [join(folder, `${file}.unit.ts`), join(folder, `${file}.unit.test.ts`)] as const;
  for (const path of [unit, test])
    if (existsSync(path)) throw OperatingError.conflict("UNIT_EXISTS", `${relative(root, path)} is there already`);
  const listed = withUnit(readFileSync(list, "utf8"), factory, `./${relative(dirname(list), unit)}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(unit, unitText(plan));
  writeFileSync(test, testText(plan));
  writeFileSync(list, listed);
  return [unit, test, list];
}

/** As the house writes it: long lines broken, keys without quotes. */
export function formatUnit(paths: readonly string[], root: string): void {
  const done = spawnSync(process.execPath, [scriptOf("biome"), "check", "--write", "--colors=off", ...paths], {
    cwd: root,
    encoding: "utf8",
  });
  if (done.status !== 0) throw OperatingError.internal("UNIT_NOT_FORMATTED", `${done.stdout}${done.stderr}`);
}

function main(): number {
  const plan = planOf(process.argv.slice(2));
  if (plan === undefined) {
    say(USAGE.trimEnd());
    return 0;
  }
  const paths = writeUnit(plan, ROOT);
  formatUnit(paths, ROOT);
  const [unit, test, list] = paths.map((path) => relative(ROOT, path)) as [string, string, string];
  say(`wrote ${unit}`);
  say(`wrote ${test}, which fails until the unit does its work`);
  say(`added ${namesOf(plan).factory}() to ${list}\n`);
  say("Next:");
  say(`  1. npx vitest run --project unit ${test}`);
  say("  2. write its handlers, and what the test expects of them");
  if (plan.awaits.length + plan.unheard.length > 0)
    say("  3. say in its wiring whom it awaits, and why nobody hears what it emits; or wire the other end");
  say("  Then npm run docs, and npm test: the audit tells if an event has no emitter or no listener.");
  say("docs/27-adding-a-unit.md tells the whole story.");
  return 0;
}

if (isProgram(import.meta.url)) await reportAndExit(main);
