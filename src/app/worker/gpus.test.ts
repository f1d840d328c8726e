import { expect, test } from "vitest";
import { findGpus, offeredGpus, parseGpus } from "./gpus.ts";

const UUID = (n: number) => `GPU-${String(n).repeat(8)}-aaaa-bbbb-cccc-dddddddddddd`;
const SETTINGS = { gpus: 0, gpuMemoryGb: 0, detectGpus: true };
const TWO = parseGpus(`0, ${UUID(1)}, 24576\n1, ${UUID(2)}, 81559\n`);

test("what the tool says is read line by line, and what is no accelerator is left out", () => {
  expect(TWO).toEqual([
    { id: UUID(1), index: 0, memoryGb: 25.7 },
    { id: UUID(2), index: 1, memoryGb: 85.5 },
  ]);
  const odd = [
    "No devices were found",
    "",
    "x, y, z",
    `0, ${UUID(1)}, [N/A]`,
    `-1, ${UUID(1)}, 5`,
    `0, ; rm -rf /, 24576`,
    `0, ${UUID(1)}`,
    `2, ${UUID(3)}, 1000`,
    `3, ${UUID(3)}, 1000`,
    `4, MIG-11111111-2222-3333-4444-555555555555, 1000, more`,
  ];
  expect(parseGpus(odd.join("\n")).map(({ index }) => index)).toEqual([3, 4]);
  expect(parseGpus("0,".repeat(100_000))).toEqual([]);
});

test("a machine without the tool has none", async () => {
  expect(await findGpus("no-such-tool")).toEqual([]);
  expect(await findGpus("false")).toEqual([]);
});

test.each([
  ["all that were found", {}, {}, [UUID(1), UUID(2)]],
  ["as many as the settings say", { gpus: 1 }, {}, [UUID(1)]],
  ["those that the worker may see, by number", {}, { CUDA_VISIBLE_DEVICES: "1" }, [UUID(2)]],
  ["those that it may see, by name", {}, { CUDA_VISIBLE_DEVICES: UUID(1) }, [UUID(1)]],
  ["none where it may see none", {}, { CUDA_VISIBLE_DEVICES: "" }, []],
  ["no more than it may see", { gpus: 4 }, { CUDA_VISIBLE_DEVICES: "0, 5" }, [UUID(1), "5"]],
  ["what the settings name beyond what was found", { gpus: 3 }, {}, [UUID(1), UUID(2), "2"]],
])("jobs get %s", (_what, settings, env, ids) => {
  expect(offeredGpus({ ...SETTINGS, ...settings }, TWO, env).map(({ id }) => id)).toEqual(ids);
});

test("without the tool the settings decide, and their memory is what they say", () => {
  expect(offeredGpus({ ...SETTINGS, gpus: 2, gpuMemoryGb: 24 }, [], {})).toEqual([
    { id: "0", index: 0, memoryGb: 24 },
    { id: "1", index: 1, memoryGb: 24 },
  ]);
});
