import { describe, expect, test } from "vitest";
import { type FleetNode, type Listing, nextStep, reopened } from "./decide.ts";
import { machineLimits } from "./limits.ts";
import { freshMachine, type MachineRow } from "./machine.ts";
import type { Machine } from "./provider.port.ts";

const T = 1_800_000_000_000;
const LABEL = "rr-abcdefgh-01jcxkq8ca7ssawmw1s6ht6j5p";
const row = (state: MachineRow["state"], changes: Partial<MachineRow> = {}): MachineRow => ({
  ...freshMachine(
    {
      label: LABEL,
      provider: "somewhere",
      offer: "{}",
      price_usd_hour: 1,
      billing_step_ms: 1_000,
      intended_by: "me",
      reason: "",
      deadline_at: T + 900_000,
    },
    T,
  ),
  state,
  requested_at: state === "intended" ? null : T,
  ...changes,
});
const machine = (changes: Partial<Machine> = {}): Machine => ({
  machine_id: "m1",
  label: LABEL,
  state: "running",
  said: "running",
  price_usd_hour: null,
  address: null,
  ...changes,
});
const listed = (afterMs: number, ...machines: Machine[]): Listing => ({ askedAt: T + afterMs, machines });
const node = (state: FleetNode["state"] = "online"): FleetNode => ({
  node_id: "n1",
  joined_by: LABEL,
  state,
  state_since: T,
  draining: false,
});
const step = (
  given: MachineRow,
  afterMs: number,
  listing: Listing | undefined = undefined,
  joined: FleetNode | undefined = undefined,
) => nextStep({ row: given, listing, node: joined, now: T + afterMs });

const { settleMs, vanishMs } = machineLimits;

describe("a machine that is wanted", () => {
  test("is asked for while there is time", () => {
    expect(step(row("intended"), 10)).toEqual({ act: "create" });
    expect(step(row("intended"), 900_000)).toMatchObject({ changes: { state: "failed" }, told: "failed" });
  });

  test("is never asked for twice: whether it was made is seen in a list", () => {
    expect(step(row("requested"), 10)).toEqual({});
    expect(step(row("requested"), 10, listed(5, machine()))).toMatchObject({
      changes: { state: "starting", machine_id: "m1" },
    });
  });

  test("never was only when a list that came late enough does not show it", () => {
    expect(step(row("requested"), settleMs, listed(settleMs - 1))).toEqual({});
    expect(step(row("requested"), settleMs, listed(settleMs))).toMatchObject({
      changes: { state: "failed" },
      told: "failed",
    });
  });

  test("that failed and left a machine behind is known by its id, also without a label", () => {
    const named = row("requested", { machine_id: "m1", error: "it failed" });
    const step1 = step(named, 10, listed(5, machine({ label: null }), machine({ machine_id: "m2", label: "web" })));
    expect(step1).toMatchObject({ changes: { state: "starting", machine_id: "m1" }, surplus: [] });
  });

  test("of two under one label one is too many", () => {
    const two = listed(5, machine({ machine_id: "m2" }), machine());
    expect(step(row("requested", { machine_id: "m1" }), 10, two)).toMatchObject({
      changes: { machine_id: "m1" },
      surplus: [{ machine_id: "m2" }],
    });
  });

  test("is a node as soon as one has joined with its token", () => {
    expect(step(row("starting", { machine_id: "m1" }), 10, undefined, node())).toMatchObject({
      changes: { state: "active", node_id: "n1" },
      told: "provisioned",
    });
  });

  test("that does not join in time is returned, and that is told once", () => {
    expect(step(row("starting", { machine_id: "m1" }), 900_000, listed(899_000, machine()))).toMatchObject({
      changes: { state: "returning", forced: 1 },
      told: "failed",
    });
  });
});

describe("a machine that works", () => {
  test("in a state that nobody knows is there", () => {
    expect(step(row("active", { machine_id: "m1" }), 10, listed(5, machine({ state: "unknown" })))).toMatchObject({
      changes: { seen_state: "unknown" },
    });
  });

  test("that is missing from lists for long enough is gone, unless its node speaks", () => {
    const first = step(row("active"), settleMs + 10, listed(settleMs), node("dead"));
    expect(first).toEqual({ changes: { missing_since: T + settleMs + 10 } });
    const missed = row("active", { missing_since: T + settleMs });
    const late = settleMs + vanishMs;
    expect(step(missed, late, listed(late - 1), node("dead"))).toEqual({});
    expect(step(missed, late, listed(late), node("dead"))).toMatchObject({
      changes: { state: "ended" },
      told: "terminated",
    });
    expect(step(missed, late, listed(late), node("online"))).toEqual({});
  });

  test("that costs more than was allowed counts for what it costs", () => {
    const dear = listed(5, machine({ price_usd_hour: 3 }));
    expect(step(row("active"), 10, dear)).toMatchObject({ changes: { price_usd_hour: 3 } });
    expect(step(row("active"), 10, listed(5, machine({ price_usd_hour: 0.5 })))).toMatchObject({
      changes: { price_usd_hour: 1 },
    });
  });
});

describe("a machine that is returned", () => {
  const given = row("returning", { machine_id: "m1", node_id: "n1", terminated_at: T + 1_000 });

  test("is ended again and again while its provider shows it", () => {
    expect(step(given, 5_000, listed(4_000, machine()))).toMatchObject({ act: "terminate" });
    expect(step(given, 5_000, listed(4_000, machine({ state: "stopped" })))).toMatchObject({ act: "terminate" });
    expect(step(given, 5_000, listed(4_000, machine({ state: "ending" })))).toEqual({ surplus: [] });
    const long = machineLimits.endingMs + 1_000;
    expect(step(given, long, listed(long - 1, machine({ state: "ending" })))).toMatchObject({ act: "terminate" });
  });

  test("is gone when a list that was asked for after its end shows it no more, or shows it as gone", () => {
    expect(step(given, 5_000, listed(900))).toEqual({ surplus: [] });
    expect(step(given, 5_000, listed(900, machine()))).toEqual({ surplus: [] });
    expect(step(given, 5_000, listed(1_001))).toMatchObject({ changes: { state: "ended" }, told: "terminated" });
    const shown = listed(1_001, machine({ state: "gone" }));
    expect(step(given, 5_000, shown)).toMatchObject({ changes: { state: "ended" }, told: "terminated" });
  });

  test("without a word of its provider stays in the books", () => {
    expect(step(given, 90_000_000)).toEqual({});
  });

  test("and comes to light again is ended again", () => {
    expect(reopened(row("ended", { ended_at: T }), machine(), T + 5)).toMatchObject({
      state: "returning",
      ended_at: null,
      machine_id: "m1",
      forced: 1,
    });
  });
});
