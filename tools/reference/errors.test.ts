import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { owned } from "../../test/support/process.ts";
import { errorsIn, printErrors } from "./errors.ts";

test("errors are found with their text, hint and room: thrown, returned, chosen, and in tables; tests are not", () => {
  const folder = owned(onTestFinished).folder();
  mkdirSync(join(folder, "router"));
  writeFileSync(
    join(folder, "router", "x.ts"),
    `throw OperatingError.notFound("GONE", \`event \${id} is gone\`, { hint: "Ask " + "again.", retryable: true });
     const make = () => OperatingError.unavailable(known ? "ONE" : "TWO", "either");
     const passed = new OperatingError(problem.kind ?? "internal", problem.code ?? "THREE", problem.detail ?? "no word");
     const faults = [{ number: 13, kind: "conflict", code: "DISK_FULL", says: "the disk is full", hint: "Make room." }];
     new Error("NOT_OURS"); const other = { code: "NOT_A_ROW" };`,
  );
  writeFileSync(join(folder, "router", "x.test.ts"), `OperatingError.invalid("ONLY_IN_A_TEST", "no")`);
  const plain = { hint: "", retryable: false, room: "router" };
  expect(errorsIn(folder)).toEqual([
    { ...plain, kind: "not_found", code: "GONE", says: "event ... is gone", hint: "Ask again.", retryable: true },
    { ...plain, kind: "unavailable", code: "ONE", says: "either", retryable: true },
    { ...plain, kind: "unavailable", code: "TWO", says: "either", retryable: true },
    { ...plain, kind: "internal", code: "THREE", says: "no word" },
    { ...plain, kind: "conflict", code: "DISK_FULL", says: "the disk is full", hint: "Make room." },
  ]);
  expect(printErrors(errorsIn(folder))).toContain(
    "| `GONE` | not_found | event ... is gone | Ask again. | yes | router |",
  );
});
