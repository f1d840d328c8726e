import { expect, test } from "vitest";
import { declaredRegistry } from "../../src/app/registry.ts";
import { coordinatorNames } from "../../src/daemons/legacy.ts";
import { compareSubscriptions, legacySubscriptions } from "./legacy-subscriptions.ts";

const registry = declaredRegistry();
const faultsOf = (coordinator: string, listing = legacySubscriptions) =>
  compareSubscriptions(registry, listing).find((row) => row.coordinator === coordinator)!.faults;

test("every coordinator of the document is compared, and every difference has its reason", () => {
  // Two came after the document.
  const later = ["pipeline_orchestrator", "training_activity"];
  const known = Object.values(coordinatorNames).flat();
  expect(Object.keys(legacySubscriptions).sort()).toEqual(known.filter((name) => !later.includes(name)).toSorted());
  expect(compareSubscriptions(registry).filter(({ faults }) => faults.length > 0)).toEqual([]);
});

test("a difference without a reason is found, on either side", () => {
  const { left = [], added = [], ...rest } = legacySubscriptions.training_coordinator!;
  const [lost] = left[0]!.events;
  const [besides] = added[0]!.events;
  const listing = { training_coordinator: { ...rest, left: left.slice(1), added: added.slice(1) } };
  expect(faultsOf("training_coordinator", listing)).toEqual(
    expect.arrayContaining([
      `${lost} is not heard, and nobody says why`,
      `${besides} is heard besides, and nobody says why`,
    ]),
  );
});

test("a reason without a difference is found, and so is one for an event that does not exist", () => {
  const more = (event: string) => ({
    task_coordinator: {
      ...legacySubscriptions.task_coordinator!,
      left: [{ events: [event], why: "it is said so" }],
    },
  });
  expect(faultsOf("task_coordinator", more("TASK_SPAWNED"))).toEqual([
    "TASK_SPAWNED has a reason and is no difference",
  ]);
  expect(faultsOf("task_coordinator", more("TASK_SPAWNT"))).toContain("TASK_SPAWNT is not in the catalog");
});

test("a unit that came is no longer one that is to come", () => {
  expect(faultsOf("job_scheduler", { job_scheduler: { listed: 2, isToCome: true } })).toHaveLength(1);
});
