import { expect, test } from "vitest";
import { memoryStore } from "../../adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../app/store-modules.ts";
import { createIds, seededRandom, virtualClock } from "../../kernel/index.ts";
import { isOurs, newFleetName, newLabel } from "./label.ts";
import { freshMachine, type MachineRow } from "./machine.ts";
import { changeMachine, intendMachines, nameFleet, openMachines, storedFleetName } from "./machine-rows.ts";

const world = () => {
  const clock = virtualClock();
  const store = memoryStore(storeModules, clock);
  const random = seededRandom(3);
  const ids = createIds(clock, random);
  const row = (price: number, provider = "somewhere"): MachineRow =>
    freshMachine(
      {
        label: newLabel("abcdefgh", ids),
        provider,
        offer: "{}",
        price_usd_hour: price,
        billing_step_ms: 1_000,
        intended_by: "me",
        reason: "a test",
        deadline_at: clock.now() + 900_000,
      },
      clock.now(),
    );
  const intend = (rows: readonly MachineRow[], usdPerHour = 3) =>
    store.commit([
      intendMachines({
        rows,
        budget: { usdPerHour, usdPerDay: 50 },
        maxMachines: 4,
        maxOfProvider: 3,
        now: clock.now(),
      }),
    ]);
  return { clock, store, random, row, intend };
};

test("two that buy at once never spend the same money, and what is refused leaves no row", async () => {
  const w = world();
  const both = await Promise.allSettled([w.intend([w.row(2)]), w.intend([w.row(2)])]);
  expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(both.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "BUDGET_HOUR" } });
  await expect(w.intend([w.row(0.5), w.row(0.6)])).rejects.toMatchObject({ code: "BUDGET_HOUR" });
  expect(openMachines(w.store)).toHaveLength(1);
});

test("no more machines are wanted than are allowed, in all and of one provider", async () => {
  const w = world();
  await w.intend([w.row(0.1), w.row(0.1), w.row(0.1)]);
  await expect(w.intend([w.row(0.1)])).rejects.toMatchObject({ code: "FLEET_FULL" });
  await w.intend([w.row(0, "elsewhere")]);
  await expect(w.intend([w.row(0, "elsewhere")])).rejects.toMatchObject({ code: "FLEET_FULL" });
});

test("what was decided on a row that has moved on meanwhile is refused", async () => {
  const w = world();
  const row = w.row(1);
  await w.intend([row]);
  const { label } = row;
  await w.store.commit([changeMachine({ label, from: "intended", changes: { state: "requested" } })]);
  await expect(
    w.store.commit([changeMachine({ label, from: "intended", changes: { state: "failed" } })]),
  ).rejects.toMatchObject({ code: "READ_CONFLICT" });
  expect(openMachines(w.store)).toMatchObject([{ label, state: "requested" }]);
});

test("a fleet keeps its name, and its labels are told from all others", async () => {
  const { store, random, clock } = world();
  expect(storedFleetName(store)).toBeUndefined();
  const [first] = await store.commit([nameFleet({ name: newFleetName(random) })]);
  const [second] = await store.commit([nameFleet({ name: newFleetName(random) })]);
  expect(second).toBe(first);
  expect(storedFleetName(store)).toBe(first);
  const label = newLabel(first, createIds(clock, random));
  expect(label).toMatch(/^rr-[a-z0-9]{8}-[a-z0-9]{26}$/);
  expect(isOurs(first, label)).toBe(true);
  for (const other of [null, "", "web-1", `x${label}`, `${label}x`, label.replace(first, "zzzzzzzz"), first])
    expect(isOurs(first, other)).toBe(false);
});
