/** The text of a new unit and of its test. */
import { builtinRows, type EventRow } from "../../src/events/index.ts";
import { examplePayload } from "../../src/surfaces/events/example-payload.ts";

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
  /** What nobody else emits yet, of what it hears; and what nobody else hears, of what it emits. */
  readonly awaits: readonly string[];
  readonly unheard: readonly string[];
}

export interface Names {
  /** Of its folder and, with an ending, of its files: `training-trigger`. */
  readonly file: string;
  /** Of the function that makes the unit: `trainingTrigger`. */
  readonly factory: string;
}

export function namesOf({ name }: Plan): Names {
  const words = name.split("_");
  const camel = words.map((word, i) => (i === 0 ? word : word[0]!.toUpperCase() + word.slice(1))).join("");
  return { file: words.join("-"), factory: camel };
}

const quoted = (names: readonly string[]): string => names.map((name) => JSON.stringify(name)).join(", ");
/** From the unit's folder up to `src/`. */
const up = ({ room }: Plan): string => "../".repeat(room.split("/").length + 2);
const shapePath = (plan: Plan) => (plan.room === "daemons" ? "../../unit/shape.ts" : `${up(plan)}daemons/index.ts`);
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
  const reasons = (key: string, events: readonly string[], reason: string | { readonly by: string }) =>
    events.length === 0
      ? []
      : [
          `  ${key}: {`,
          ...events.map(
            (event) =>
              `    ${event}: ${typeof reason === "string" ? JSON.stringify(reason) : `{ by: ${JSON.stringify(reason.by)} }`},`,
          ),
          "  },",
        ];
  return [
    `import { ${defineOf(plan)}, type Wiring } from "${shapePath(plan)}";`,
    "",
    "const wiring = {",
    `  name: ${JSON.stringify(plan.name)},`,
    `  layer: ${plan.layer},`,
    `  placement: ${JSON.stringify(plan.placement)},`,
    '  profiles: ["coordinator"],',
    '  dependsOn: ["event_router"],',
    `  emits: [${quoted(plan.emits)}],`,
    ...reasons("unheard", plan.unheard, { by: "the_unit_that_is_to_hear_it" }),
    ...reasons("awaits", plan.awaits, "the_unit_that_is_to_emit_it"),
    "} as const satisfies Wiring;",
    "",
    "/** Say in a sentence what it decides, what it is given, and what it never does. */",
    `export const ${factory} = () =>`,
    `  ${defineOf(plan)}({`,
    "    ...wiring,",
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
    `  test("emits ${event} when it is time to", async () => {`,
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
    `import { type UnitWorld, unitWorld } from "${up(plan)}../test/fixtures/unit-world.ts";`,
    `import { type BuiltinRows, builtinRows } from "${up(plan)}events/index.ts";`,
    `import { ${factory} } from "./${file}.unit.ts";`,
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
