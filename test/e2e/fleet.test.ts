/** Machines that are processes here: planned, rented, put to work, and returned, over a kill -9 of their coordinator. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { commandsIn } from "../support/commands.ts";
import { PATIENT, patience } from "../support/patience.ts";
import { owned } from "../support/process.ts";
import { mainProcess, processesWith } from "./parts/worker-world.ts";

const soon = <T>(look: () => T | Promise<T>) => vi.waitFor(look, PATIENT);

interface Status {
  readonly rate_usd_hour: number;
  readonly machines: {
    label: string;
    state: string;
    node_id: string | null;
    cost_usd: number;
    return_reason: string;
  }[];
}

test("two machines are rented, adopted after a kill -9, do all jobs, and go back; the ledger balances", async () => {
  const own = owned(onTestFinished);
  const main = mainProcess(own, {
    RINGRIFT_FLEET_LOCAL_MACHINES: "2",
    RINGRIFT_FLEET_LOCAL_PRICE: "0.36",
    RINGRIFT_FLEET_BUDGET_PER_HOUR: "1",
    RINGRIFT_FLEET_BUDGET_PER_DAY: "5",
    RINGRIFT_FLEET_IDLE_AFTER: String(patience(4_000) / 1_000),
    RINGRIFT_FLEET_LOOK_INTERVAL: "0.5",
    RINGRIFT_NODE_BEAT: "0.5",
    RINGRIFT_NODE_SUSPECT: "5",
    RINGRIFT_JOB_GRACE_PERIOD: "1",
  });
  await main.start();
  const run = commandsIn(main.folder);
  const json = async (...args: string[]) => JSON.parse((await run(...args, "--json")).out);
  const status = () => json("fleet", "status") as Promise<Status>;
  onTestFinished(async () => void (await run("fleet", "down", "--all", "--force").catch(() => undefined)));

  expect((await json("fleet", "plan", "2")).takes).toMatchObject([
    { provider: "local", refusal: null },
    { provider: "local", refusal: null },
  ]);
  expect(await run("fleet", "up", "2", "--dry-run")).toMatchObject({ code: 0 });
  expect((await status()).machines).toEqual([]);
  expect(await run("fleet", "up", "2")).toMatchObject({ code: 0 });
  await soon(async () => expect((await status()).machines).toHaveLength(2));

  // Killed while they are being made: whatever was begun is found again by its label, and nothing is made twice.
  await main.started().killNow();
  await main.start();
  await soon(async () => expect((await status()).machines.map(({ state }) => state)).toEqual(["active", "active"]));
  const { machines, rate_usd_hour } = await status();
  expect(rate_usd_hour).toBeCloseTo(0.72, 6);
  expect(readdirSync(join(main.dataDir, "fleet")).sort()).toEqual(machines.map(({ label }) => label).sort());

  await main.add(Array.from({ length: 6 }, () => ({ work_type: "selfplay", parameters: { ms: 300 } })));
  await soon(async () => expect(await main.states()).toEqual({ completed: 6 }));
  const why = await run("why", machines[0]!.node_id!);
  expect(why.out).toContain("rented");

  await soon(async () => expect((await status()).machines.map(({ state }) => state)).toEqual(["ended", "ended"]));
  const after = await status();
  expect(after.rate_usd_hour).toBe(0);
  for (const { return_reason } of after.machines) expect(return_reason).toContain("nothing to do");
  expect(readdirSync(join(main.dataDir, "fleet"))).toEqual([]);
  for (const { label } of machines) expect(processesWith(label)).toEqual([]);
  const cost = (await json("fleet", "cost")) as { machines: { usd: number }[]; spent_today_usd: number };
  const sum = cost.machines.reduce((all, { usd }) => all + usd, 0);
  expect(sum).toBeGreaterThan(0);
  expect(cost.spent_today_usd).toBeLessThanOrEqual(sum + 1e-9);
  await soon(async () => {
    const events = new DatabaseSync(join(main.dataDir, "coordination.db"), { readOnly: true });
    const told = events
      .prepare(
        "SELECT event_type, count(*) AS n FROM events WHERE event_type LIKE 'NODE_%TE%' OR event_type = 'NODE_PROVISIONED' GROUP BY 1",
      )
      .all() as { event_type: string; n: number }[];
    events.close();
    expect(Object.fromEntries(told.map(({ event_type, n }) => [event_type, n]))).toMatchObject({
      NODE_PROVISIONED: 2,
      NODE_TERMINATED: 2,
    });
  });
});
