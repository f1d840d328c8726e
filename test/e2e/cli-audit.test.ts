import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { AuditReport } from "../../src/daemons/index.ts";
import { commandsOn } from "../support/commands.ts";
import { owned } from "../support/process.ts";

test("ringrift audit judges the code, the running process and the folder it leaves, and its exit code is the verdict", async () => {
  const own = owned(onTestFinished);
  const dataDir = join(own.folder(), "data");
  const run = commandsOn(dataDir);
  const judged = async (...args: string[]) => {
    const { code, out } = await run("audit", "--json", ...args);
    const report = JSON.parse(out) as AuditReport & { from: string | null };
    expect(code).toBe(report.exit_code);
    return report;
  };

  const declared = await judged();
  expect(declared).toMatchObject({ from: null, ok: true, observed: false, findings: expect.any(Array) });
  expect(declared.totals.units).toBeGreaterThan(0);
  const printed = await run("audit");
  expect(printed).toMatchObject({ code: 0, err: "" });
  expect(printed.out).toMatch(/Units by layer[\s\S]*Orphan events[\s\S]*Dead subscriptions[\s\S]*At run time/);
  for (const line of printed.out.split("\n")) expect(line.length).toBeLessThanOrEqual(100);

  const main = own.startCli(["--data-dir", dataDir, "up", "--port", "0"]);
  await main.waitForLine(/^ready/);
  expect(await judged()).toMatchObject({ from: "process", ok: true, observed: true });

  // Somebody speaks in a unit's name what that unit never declared.
  await run("events", "publish", "TIER_PROMOTION", "{}", "--source", "dlq_retry");
  const undeclared = { kind: "undeclared_emission", event: "TIER_PROMOTION", units: ["dlq_retry"] };
  expect(await judged()).toMatchObject({ from: "process", ok: false, exit_code: 1 });
  expect((await judged()).findings).toContainEqual(expect.objectContaining(undeclared));
  await main.stop();
  const alone = own.startCli(["--data-dir", dataDir, "audit", "--json"]);
  expect((await alone.exited).code).toBe(1);
  expect(JSON.parse(alone.stdout())).toMatchObject({ from: "folder", exit_code: 1 });
  const left = await judged();
  expect(left).toMatchObject({ from: "folder", ok: false, observed: true });
  expect(left.findings).toContainEqual(expect.objectContaining(undeclared));
  expect(await judged("--declared")).toMatchObject({ from: null, ok: true });
});
