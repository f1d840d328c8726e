/** The text of a new unit and of its test. */
import { builtinRows, type EventRow } from "../../src/events/index.ts";
import { examplePayload } from "../../src/surfaces/cli/example-payload.ts";

export const KINDS = ["coordinator", "daemon"] as const;
export type Kind = (typeof KINDS)[number];

export interface Plan {
  readonly name: string;
  readonly kind: Kind;
  readonly hears: readonly string[];
  readonly emits: readonly string[];
  readonly room: string;
  readonly placement: string;
  readonly layer: number;
}

export interface Names {
  /** Of the file, without its ending: `training-trigger.daemon`. */
  readonly file: string;
  /** Of the function that makes the unit: `trainingTriggerDaemon`. */
  readonly factory: string;
}

export function namesOf({ name, kind }: Plan): Names {
  const words = name.replace(new RegExp(`_${kind}$`), "").split("_");
  const camel = words.map((word, i) => (i === 0 ? word : word[0]!.toUpperCase() + word.slice(1))).join("");
  return { file: `${words.join("-")}.${kind}`, factory: `${camel}${kind[0]!.toUpperCase()}${kind.slice(1)}` };
}

const quoted = (names: readonly string[]): string => names.map((name) => JSON.stringify(name)).join(", ");
const roomPath = (plan: Plan) => (plan.room === "daemons" ? "./unit.ts" : "../daemons/index.ts");
const defineOf = ({ kind }: Plan) => (kind === "daemon" ? "defineDaemon" : "defineCoordinator");

/** What is thrown where work is to be written; the test shows it. */
const notWritten = (what: string): string => `${what} is not written yet`;
const thrown = (what: string) => `throw new Error(${JSON.stringify(notWritten(what))});`;

export function unitText(plan: Plan): string {
  const { factory } = namesOf(plan);
  const handlers = plan.hears.map(
    (event) => `      ${event}() {\n        ${thrown(`what it does on ${event}`)}\n      },`,
  );
  const on = handlers.length === 0 ? [] : ["    on: {", ...handlers, "    },"];
  const loop =
    plan.kind === "coordinator"
      ? []
      : [
          "    loop: {",
          "      everyMs: 60_000,",
          "      tick() {",
          `        ${thrown("what its loop does")}`,
          "      },",
          "    },",
        ];
  return [
    `import { ${defineOf(plan)} } from "${roomPath(plan)}";`,
    "",
    "/** Say in a sentence what it decides, what it is given, and what it never does. */",
    `export const ${factory} = () =>`,
    `  ${defineOf(plan)}({`,
    `    name: ${JSON.stringify(plan.name)},`,
    `    layer: ${plan.layer},`,
    `    placement: ${JSON.stringify(plan.placement)},`,
    `    emits: [${quoted(plan.emits)}],`,
    ...on,
    ...loop,
    "  });",
    "",
  ].join("\n");
}

const rowOf = (event: string): EventRow => (builtinRows as Readonly<Record<string, EventRow>>)[event]!;

const heardTest = (event: string): string[] => [
  `  test("works on ${event}", async () => {`,
  "    const { w, status } = await running();",
  `    const event = await w.router.publish(${JSON.stringify(event)}, ${JSON.stringify(examplePayload(rowOf(event)))}, { source: "test" });`,
  "    await w.driven(w.router.settled(event));",
  "    expect(status()).toMatchObject({ handled_events: 1, failed_events: 0, last_error: null });",
  "  });",
];

const loopTest = (): string[] => [
  '  test("its loop does its work", async () => {',
  "    const { w, status } = await running();",
  "    await w.pass(120_000);",
  "    expect(status()).toMatchObject({ tick_errors: 0, last_error: null });",
  "    expect(status().ticks).toBeGreaterThan(0);",
  "  });",
];

const emitTest = (event: string, plan: Plan): string[] => {
  const [cause] = plan.hears;
  const act =
    cause === undefined
      ? ["    await w.pass(120_000);"]
      : [
          `    const cause = await w.router.publish(${JSON.stringify(cause)}, ${JSON.stringify(examplePayload(rowOf(cause)))}, { source: "test" });`,
          "    await w.driven(w.router.settled(cause));",
        ];
  return [
    `  test("says ${event} when it is time to", async () => {`,
    "    const { w } = await running();",
    ...act,
    `    expect(w.router.history({ eventType: ${JSON.stringify(event)} })).toHaveLength(1);`,
    "  });",
  ];
};

export function testText(plan: Plan): string {
  const { file, factory } = namesOf(plan);
  const tests = [
    ...plan.hears.map(heardTest),
    ...(plan.kind === "daemon" ? [loopTest()] : []),
    ...plan.emits.map((event) => emitTest(event, plan)),
  ];
  return [
    'import { afterEach, describe, expect, test } from "vitest";',
    'import { type UnitWorld, unitWorld } from "../../test/fixtures/unit-world.ts";',
    'import { type BuiltinRows, builtinRows } from "../events/index.ts";',
    `import { ${factory} } from "./${file}.ts";`,
    "",
    "const worlds: UnitWorld<BuiltinRows>[] = [];",
    "afterEach(async () => {",
    "  for (const world of worlds.splice(0)) await world.close();",
    "});",
    "",
    "/** The unit over a router in memory, with time that only the test moves. */",
    "async function running() {",
    "  const w = unitWorld(builtinRows, { settings: { maxAttempts: 1 } });",
    "  worlds.push(w);",
    `  const runtime = w.runtime([${factory}()]);`,
    "  await w.driven(runtime.start());",
    `  return { w, status: () => runtime.status().find(({ name }) => name === ${JSON.stringify(plan.name)})! };`,
    "}",
    "",
    `describe(${JSON.stringify(plan.name)}, () => {`,
    tests.map((lines) => lines.join("\n")).join("\n\n"),
    "});",
    "",
  ].join("\n");
}
