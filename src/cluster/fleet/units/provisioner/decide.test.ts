import { describe, expect, test } from "vitest";
import { freshMachine, type MachineRow } from "../../machine.ts";
import { decideReturns, type IdleFacts, idleGates } from "../idle-shutdown/decide.ts";
import { decideGrowth } from "./decide.ts";

const T = 1_800_000_000_000;
const RULES = { min: 0, max: 10, jobsPerMachine: 50, growAfterMs: 120_000, minCpus: 4 };
const machine = (label: string, state: MachineRow["state"], cpus = 4): MachineRow => ({
  ...freshMachine(
    {
      label,
      provider: "somewhere",
      offer: JSON.stringify({ cpus }),
      price_usd_hour: 1,
      billing_step_ms: 1_000,
      intended_by: "me",
      reason: "",
      deadline_at: T,
    },
    T,
  ),
  state,
  idle_since: T - 3_600_000,
  joined_at: T - 7_200_000,
});
const grow = (
  foreseen: { slots: number; wanted: number; error: number | null },
  rows: readonly MachineRow[] = [],
  rules: Partial<typeof RULES> = {},
  waiting = 0,
) => decideGrowth(rows, { waiting, free: 0, missingGpus: 0, foreseen }, { ...RULES, ...rules }, null, T);

describe("what a forecast asks for", () => {
  test("is rented before a job waits, as many machines as its slots need", () => {
    expect(grow({ slots: 4, wanted: 18, error: 0.2 })).toMatchObject({
      count: 4,
      reason: "14 more slots are wanted soon, by a forecast that was off by 20 % lately",
      backlogSince: null,
    });
    expect(grow({ slots: 18, wanted: 18, error: 0.2 }).count).toBe(0);
    // A tenth of a machine is no reason for one.
    expect(grow({ slots: 0, wanted: 1, error: 0.2 }, [], { minCpus: 16 }).count).toBe(0);
  });

  test("counts what is on its way, and goes by the size of the machines that are there", () => {
    const rows = [machine("a", "active", 8), machine("b", "starting", 8)];
    expect(grow({ slots: 8, wanted: 16, error: 0.2 }, rows).count).toBe(0);
    expect(grow({ slots: 8, wanted: 30, error: 0.2 }, rows).count).toBe(2);
  });

  test("is nothing while it was not judged, was far off lately, or machines are rented only by hand", () => {
    expect(grow({ slots: 0, wanted: 40, error: null }).count).toBe(0);
    expect(grow({ slots: 0, wanted: 40, error: 0.6 }).count).toBe(0);
    expect(grow({ slots: 0, wanted: 40, error: 0.1 }, [], { jobsPerMachine: 0 }).count).toBe(0);
  });

  test("never goes beyond the maximum, and never below what waits asks for", () => {
    expect(grow({ slots: 0, wanted: 400, error: 0.1 }).count).toBe(10);
    const rows = [machine("a", "active")];
    const demand = { waiting: 500, free: 0, missingGpus: 0, foreseen: { slots: 4, wanted: 8, error: 0.1 } };
    expect(decideGrowth(rows, demand, RULES, T - 120_000, T).count).toBe(9);
  });
});

describe("an idle machine", () => {
  const facts = (row: MachineRow): IdleFacts => ({
    row,
    node: { node_id: row.label, joined_by: row.label, state: "online", state_since: T, draining: false },
    burden: { held: 0, fitting: 0, alone: 0, unsent: 0 },
    busyAt: 0,
  });
  const rows = [machine("a", "active"), machine("b", "active"), machine("c", "active")];
  const going = (foreseen?: { slots: number; wanted: number; error: number | null }) =>
    decideReturns(rows.map(facts), rows, { min: 0, idleAfterMs: 900_000, foreseen }, T).goes.map(
      ({ row }) => row.label,
    );

  test("stays while the forecast wants its slots soon; what is returned is not rented again", () => {
    expect(going()).toEqual(["a", "b", "c"]);
    expect(going({ slots: 12, wanted: 7, error: 0.2 })).toEqual(["a"]);
    expect(grow({ slots: 8, wanted: 7, error: 0.2 }, rows.slice(1)).count).toBe(0);
    expect(going({ slots: 12, wanted: 12, error: 0.9 })).toEqual(["a", "b", "c"]);
  });

  test("says so among its gates", () => {
    const rules = { min: 0, idleAfterMs: 900_000, staying: 3, foreseen: { slots: 12, wanted: 9, error: 0.2 } };
    expect(idleGates(facts(rows[0]!), rules, T).at(-1)).toEqual({
      gate: "slots that are left without it",
      holds: false,
      actual: "8",
      required: "9, by the forecast",
    });
  });
});
