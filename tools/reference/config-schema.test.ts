import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inspectSettings, settingRows } from "../../src/app/settings.ts";
import { owned } from "../../test/support/process.ts";
import { configSchema } from "./config-schema.ts";

type Node = { readonly properties?: Readonly<Record<string, Node>>; readonly [key: string]: unknown };
interface EdgeSchema {
  readonly type?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly string[];
}
const schema = configSchema() as Node;
const at = (names: readonly string[]): Node | undefined =>
  names.reduce<Node | undefined>((node, name) => node?.properties?.[name], schema);

test("every setting of the file is in the schema, by its group and by its dotted key, and says what it is", () => {
  for (const { key, notInFile } of settingRows) {
    const found = [at(key.split(".")), at([key])];
    if (notInFile) expect(found, key).toEqual([undefined, undefined]);
    else for (const each of found) expect(each, key).toMatchObject({ description: expect.stringMatching(/\.$/) });
  }
});

test("what the schema allows at its edges is taken, and what is just beyond is refused", () => {
  for (const { key, kind } of settingRows) {
    const { type, minimum = 0, maximum = 0, enum: choices } = kind.schema as EdgeSchema;
    const isTaken = (value: unknown) => "value" in kind.fromJson(value, "/");
    if (type === "number" || type === "integer") {
      expect([key, isTaken(minimum), isTaken(maximum)]).toEqual([key, true, true]);
      expect([key, isTaken(minimum - 1), isTaken(maximum * 2 + 1)]).toEqual([key, false, false]);
      if (type === "integer") expect([key, isTaken(minimum + 0.5)]).toEqual([key, false]);
    } else if (type === "boolean") expect([key, isTaken(true), isTaken("true")]).toEqual([key, true, false]);
    else if (choices) for (const choice of choices) expect([key, choice, isTaken(choice)]).toEqual([key, choice, true]);
    else expect([key, isTaken(1)]).toEqual([key, false]);
  }
});

test("a file may name its schema, and nothing else may pass for it", ({ onTestFinished }) => {
  const own = owned(onTestFinished);
  const problemsOf = (text: string) => {
    const cwd = own.folder();
    writeFileSync(join(cwd, "ringrift.config.json"), text);
    return inspectSettings({}, cwd, {}).problems.map(({ message }) => message);
  };
  expect(problemsOf('{ "$schema": "./config.schema.json" }')).toEqual([]);
  expect(problemsOf('{ "router": { "$schema": "x" } }')).toEqual([expect.stringContaining("there is no setting")]);
});
