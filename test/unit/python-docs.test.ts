/** Every call of the Python helpers is in their manual. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");

/** The methods that users call, by class: those without an underscore, of classes without one. */
function callsOf(source: string): string[] {
  const calls: string[] = [];
  let isPublic = false;
  let isClass = false;
  for (const line of source.split("\n")) {
    const [, kind, name] = /^(class|def) (\w+)/.exec(line) ?? [];
    if (kind !== undefined) [isPublic, isClass] = [!name!.startsWith("_"), kind === "class"];
    if (kind === "def" && isPublic && name !== "main") calls.push(name!);
    const [, method] = /^ {4}def ([a-z]\w*)/.exec(line) ?? [];
    if (method !== undefined && isPublic && isClass) calls.push(method);
  }
  return [...new Set(calls)];
}

test.each([
  ["clients/python/ringrift.py", "docs/22-python-client.md"],
  ["clients/python/ringrift_workload.py", "docs/41-workloads.md"],
])("every call of %s is in %s", (program, manual) => {
  const calls = callsOf(read(program));
  expect(calls.length).toBeGreaterThan(10);
  const text = read(manual);
  expect(calls.filter((call) => !new RegExp(`\\b${call}\\b`).test(text))).toEqual([]);
});
