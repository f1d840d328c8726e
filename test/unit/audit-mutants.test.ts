import { resolve } from "node:path";
import ts from "typescript";
import { beforeAll, expect, test } from "vitest";

/** Each file of `test/types/mutants` is `sound.ts` with one fault planted in it. */
const folder = resolve(import.meta.dirname, "../types/mutants");
const names = ["sound", "undeclared-emission", "dead-subscription", "unknown-event", "wrong-payload"] as const;
const told = new Map<string, string[]>();

beforeAll(() => {
  const root = resolve(import.meta.dirname, "../..");
  const read = ts.readConfigFile(resolve(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...read.config, include: [], files: [] }, ts.sys, root);
  const files = names.map((name) => resolve(folder, `${name}.ts`));
  const program = ts.createProgram(files, options);
  for (const [i, file] of files.entries()) {
    const source = program.getSourceFile(file);
    const found = ts.getPreEmitDiagnostics(program, source);
    told.set(
      names[i]!,
      found.map(({ code, messageText }) => `TS${code}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`),
    );
  }
});

test("the wiring that the mutants break compiles", () => {
  expect(told.get("sound")).toEqual([]);
});

test.each([
  ["undeclared-emission", /Property 'HOST_OFFLINE' does not exist on type 'Emit<never/],
  ["dead-subscription", /deadSubscriptions.*is missing|missing.*deadSubscriptions/s],
  ["unknown-event", /'MODEL_PROMOTION' does not exist/],
  ["wrong-payload", /'host' does not exist in type .*node_id/s],
] as const)("the mutant %s does not compile, and the compiler says why", (name, why) => {
  const diagnostics = told.get(name)!;
  expect(diagnostics).not.toEqual([]);
  expect(diagnostics.join("\n")).toMatch(why);
});
