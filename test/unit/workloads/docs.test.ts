import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { printDeclaration, printMessages } from "../../../src/workloads/process/protocol-docs.ts";

const page = readFileSync(new URL("../../../docs/41-workloads.md", import.meta.url), "utf8");
const between = (name: string): string => page.split(`<!-- ${name} -->\n`)[1]!.split(`<!-- /${name} -->`)[0]!;

test("the tables of the manual are what the code prints", () => {
  expect(between("messages"), "print it again: ringrift workload messages").toBe(printMessages());
  expect(between("declaration"), "print it again: ringrift workload declaration").toBe(printDeclaration());
});
