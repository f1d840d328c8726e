import { expect, test } from "vitest";
import { reportOnFile } from "./why-file.ts";

const SHA = "5b6ec061fbef".padEnd(64, "0");
const NOW = 1_900_000_000_000;
type File = Parameters<typeof reportOnFile>[0];
type Transfer = Parameters<typeof reportOnFile>[1][number];

const copy = (name: string, why: string | null = null) => ({
  ...{ node_id: name, name, state: "held" as const, verified_at: NOW, verified_by: name },
  ...{ counts: why === null, why },
});

const report = (given: Partial<File> = {}, transfers: readonly Partial<Transfer>[] = []) =>
  reportOnFile(
    {
      ...{ sha256: SHA, kind: "games", state: "durable", reason: null, created_at: NOW, freed_at: null },
      ...{ copies: 2, required: 2, factor: 2, safe: true, at_risk: false, pins: ["selfplay:hex8_2p"] },
      ...{ holders: [copy("desk"), copy("box2")] },
      ...given,
    } as File,
    transfers.map(
      (each) =>
        ({
          ...{ node_id: "box2", action: "fetch", state: "running", attempts: 1, error: null, created_at: NOW },
          ...{ bytes: 2_000_000, bytes_done: 500_000 },
          ...each,
        }) as Transfer,
    ),
  );

test("a file with its verdict and all its copies is safe, and says who needs it", () => {
  const { verdict, cause, gates, label } = report();
  expect({ verdict, cause, label }).toEqual({
    verdict: "games 5b6ec061fbef is safe: 2 of 2 copies",
    cause: null,
    label: "5b6ec061fbef",
  });
  expect(gates.map(({ gate, passed }) => [gate, passed])).toEqual([
    ["verdict", true],
    ["copies", true],
    ["copy on desk", true],
    ["copy on box2", true],
    ["needed", true],
  ]);
  expect(gates.at(-1)).toMatchObject({ actual: "by selfplay:hex8_2p" });
});

test.each([
  [
    "file_damaged",
    "warn",
    { state: "quarantined", reason: "missing" },
    "games 5b6ec061fbef is damaged or lost: missing",
  ],
  ["file_rejected", "warn", { state: "rejected", reason: "parity" }, "games 5b6ec061fbef was rejected: parity"],
  [
    "file_at_risk",
    "warn",
    { copies: 0, safe: false, at_risk: true },
    "games 5b6ec061fbef is only on nodes that are rented or being drained",
  ],
  ["file_short_of_copies", "warn", { copies: 1, safe: false }, "games 5b6ec061fbef has 1 of 2 copies"],
  ["file_unjudged", "note", { state: "in_flight" }, "the checks of games 5b6ec061fbef are not done"],
] as const)("%s is named with what is wrong", (code, level, given, what) => {
  const { cause, verdict } = report(given);
  expect(cause).toMatchObject({ code, level, what, subject: "5b6ec061fbef" });
  expect(verdict).toBe(what);
});

test("a copy that is on its way is no trouble, one that fails to come is", () => {
  const short = { copies: 1, safe: false, holders: [copy("desk"), copy("box2", "its node is away")] };
  const coming = report(short, [{}]);
  expect(coming.cause).toMatchObject({ level: "note" });
  expect(coming.gates.find(({ gate }) => gate === "transfer")).toMatchObject({
    passed: false,
    in_progress: true,
    actual: "to box2: running, 500.0 kB of 2.0 MB",
  });
  const failing = report(short, [{ state: "waiting", attempts: 3, error: "no route" }]);
  expect(failing.cause).toMatchObject({ level: "warn", code: "file_short_of_copies" });
  expect(failing.gates.find(({ gate }) => gate === "transfer")).toMatchObject({
    in_progress: false,
    actual: "to box2: waiting, 500.0 kB of 2.0 MB; attempt 3 failed: no route",
  });
  expect(failing.gates.find(({ gate }) => gate === "copy on box2")).toMatchObject({
    passed: false,
    actual: "it does not count: its node is away",
  });
});

test("a file that nothing needed any more holds nobody up", () => {
  const { verdict, cause, gates } = report({ state: "freed", freed_at: NOW, copies: 0, safe: false, holders: [] });
  expect({ verdict, cause }).toEqual({
    verdict: "games 5b6ec061fbef was removed: nothing needed it any more",
    cause: null,
  });
  expect(gates).toHaveLength(1);
});
