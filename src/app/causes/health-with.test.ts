import { expect, test } from "vitest";
import type { SystemHealth } from "../../cluster/index.ts";
import { causeOf } from "../../daemons/index.ts";
import { healthWith } from "./causes.ts";

const well = { status: "healthy", since: 1_000, score: 100, reasons: [], parts: [] } as unknown as SystemHealth;
const trouble = (level: "bad" | "note", since: number | null) =>
  causeOf(level, "no_worker", "work", "no worker is connected", {
    ...{ actual: null, required: null, since },
    advice: { action: "health", subject: "" },
  });

test("health is degraded since its causes are there, however well its parts score", () => {
  const told = healthWith(well, [trouble("bad", 5_000), trouble("bad", null), trouble("bad", 4_000)]);
  expect(told).toMatchObject({ status: "degraded", since: 4_000, score: 100 });
  expect(healthWith(well, [trouble("bad", null)])).toMatchObject({ status: "degraded", since: null });
});

test("notes change nothing, and what was unhealthy before stays so since then", () => {
  expect(healthWith(well, [trouble("note", 5_000)])).toMatchObject({ status: "healthy", since: 1_000 });
  const ill = { ...well, status: "unhealthy" } as SystemHealth;
  expect(healthWith(ill, [trouble("bad", 5_000)])).toMatchObject({ status: "unhealthy", since: 1_000 });
});
