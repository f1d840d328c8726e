import { describe, expect, test } from "vitest";
import { type DaemonView, type Phase, pathToTrouble, planNext } from "./plan.ts";

/** c stands on b, b on a. */
const chain = (
  phases: readonly [Phase, Phase, Phase],
  change: Partial<Record<"a" | "b" | "c", Partial<DaemonView>>> = {},
) =>
  (["a", "b", "c"] as const).map(
    (name, i): DaemonView => ({
      name,
      dependsOn: i === 0 ? [] : [["a", "b"][i - 1]!],
      phase: phases[i]!,
      wanted: true,
      barred: false,
      notBefore: 0,
      ...change[name],
    }),
  );

describe("the plan", () => {
  test.each<[string, DaemonView[], string[], string[]]>([
    ["starts what stands on nothing", chain(["down", "down", "down"]), ["a"], []],
    ["lets dependents wait until it is ready", chain(["starting", "down", "down"]), [], []],
    ["starts the next when it is", chain(["running", "down", "down"]), ["b"], []],
    ["ends all that stand on what fell, at once", chain(["down", "running", "starting"]), ["a"], ["b", "c"]],
    [
      "ends what nobody wants after its dependents",
      chain(["running", "running", "running"], { a: { wanted: false } }),
      [],
      ["c"],
    ],
    ["goes on down when they have ended", chain(["running", "running", "down"], { a: { wanted: false } }), [], ["b"]],
    ["waits for one that is ending", chain(["running", "stopping", "down"], { a: { wanted: false } }), [], []],
    ["ends the last", chain(["running", "down", "down"], { a: { wanted: false } }), [], ["a"]],
    ["starts nothing on what is barred", chain(["down", "down", "down"], { a: { barred: true } }), [], []],
    [
      "ends one that is barred, and what stands on it first",
      chain(["running", "running", "running"], { b: { barred: true } }),
      [],
      ["c"],
    ],
    ["leaves all as it is when all is well", chain(["running", "running", "running"]), [], []],
  ])("%s", (_, views, start, stop) => {
    const plan = planNext(views, 10);
    expect({ start: plan.start, stop: plan.stop.map(({ name }) => name) }).toEqual({ start, stop });
  });

  test("says when to look again", () => {
    expect(planNext(chain(["down", "down", "down"], { a: { notBefore: 50 } }), 10)).toEqual({
      start: [],
      stop: [],
      wakeAt: 50,
    });
  });

  test("names the way to where the trouble begins", () => {
    const views = new Map(chain(["down", "down", "down"]).map((view) => [view.name, view]));
    expect(pathToTrouble(views, "c")).toEqual(["c", "b", "a"]);
    expect(pathToTrouble(views, "a")).toEqual(["a"]);
  });
});
