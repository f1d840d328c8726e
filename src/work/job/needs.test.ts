import { describe, expect, test } from "vitest";
import { fits, type Lane, laneSignature, needsSchema, whyNotThere, without } from "./needs.ts";

const needs = (given: object) => needsSchema().parse(given);
const offer = { cpu: 8, gpu: 1, memory_gb: 32, gpu_memory_gb: 16, tags: ["avx2", "spot"] };
const lane = (given: Partial<Lane> = {}): Lane => ({
  lane: 1,
  workType: "selfplay",
  configKey: "hex8_2p",
  needs: needs({}),
  targets: null,
  excluded: [],
  ...given,
});

test.each([
  [{}, true],
  [{ cpu: 8, gpu: 1, memory_gb: 32, gpu_memory_gb: 16, tags: ["avx2"] }, true],
  [{ cpu: 8.5 }, false],
  [{ gpu: 2 }, false],
  [{ memory_gb: 33 }, false],
  [{ gpu: 1, gpu_memory_gb: 24 }, false],
  [{ gpu_memory_gb: 24 }, true],
  [{ tags: ["avx2", "avx512"] }, false],
])("what needs %j fits: %s", (wanted, answer) => {
  expect(fits(needs(wanted), offer)).toBe(answer);
});

test("a job takes its part, and leaves the memory of each accelerator as it is", () => {
  expect(without(offer, needs({ cpu: 3, gpu: 1, memory_gb: 8, gpu_memory_gb: 16 }))).toEqual({
    ...offer,
    cpu: 5,
    gpu: 0,
    memory_gb: 24,
  });
});

describe("lanes", () => {
  test("the order in which tags and nodes are named makes no difference, and everything else does", () => {
    const one = lane({ needs: needs({ tags: ["a", "b"] }), targets: ["x", "y"], excluded: ["p", "q"] });
    const same = lane({ needs: needs({ tags: ["b", "a"] }), targets: ["y", "x"], excluded: ["q", "p"] });
    expect(laneSignature(one)).toBe(laneSignature(same));
    const others = [
      { configKey: null },
      { workType: "training" },
      { needs: needs({ cpu: 1 }) },
      { targets: null },
      { excluded: [] },
    ];
    const all = [one, ...others.map((other) => ({ ...one, ...other }))].map(laneSignature);
    expect(new Set(all).size).toBe(all.length);
  });

  test("a node is told why a lane is not for it", () => {
    expect(whyNotThere(lane(), "a", undefined)).toBeUndefined();
    expect(whyNotThere(lane(), "a", new Set(["training"]))).toContain("no executor");
    expect(whyNotThere(lane({ targets: ["b"] }), "a", undefined)).toContain("other nodes");
    expect(whyNotThere(lane({ excluded: ["a"] }), "a", undefined)).toContain("must not");
  });
});
