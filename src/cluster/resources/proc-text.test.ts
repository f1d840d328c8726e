import { describe, expect, test } from "vitest";
import {
  cpuShare,
  cpuTicks,
  gpusOf,
  groupPaths,
  inactiveFileBytes,
  limitBytes,
  memoryOf,
  othersShare,
  pressureOfLoad,
  pressureShare,
  quotaCpus,
  treeTicks,
  withParents,
} from "./proc-text.ts";

describe("processors", () => {
  test("busy ticks are all but idle and waiting for a disk", () => {
    expect(cpuTicks("cpu  100 20 30 800 40 5 5 0 50 0\ncpu0 1 2 3 4\n")).toEqual({ busy: 160, total: 1_000 });
    expect(cpuTicks("nothing")).toBeNull();
    expect(cpuTicks("cpu  a b c d")).toBeNull();
  });

  test("usage is told between two readings, and not when the counters began anew", () => {
    expect(cpuShare({ busy: 100, total: 1_000 }, { busy: 150, total: 1_100 })).toBe(0.5);
    expect(cpuShare({ busy: 100, total: 1_000 }, { busy: 100, total: 1_000 })).toBeNull();
    expect(cpuShare({ busy: 100, total: 1_000 }, { busy: 10, total: 1_100 })).toBeNull();
  });

  test("pressure is the share of the last minute, or follows from the run queue", () => {
    expect(pressureShare("some avg10=1.00 avg60=12.50 avg300=3.00 total=5\nfull avg10=0.00 avg60=0.00")).toBe(0.125);
    expect(pressureShare("")).toBeNull();
    expect([2, 4, 8, 40].map((load) => pressureOfLoad(load, 4))).toEqual([0, 0, 0.5, 0.9]);
  });

  test.each([
    ["max 100000", null],
    ["150000 100000", 1.5],
    ["", null],
  ])("the quota %j is %j processors", (text, cpus) => {
    expect(quotaCpus(text)).toBe(cpus);
  });
});

describe("processors that others use", () => {
  const stat = (pid: number, parent: number, ticks: readonly number[], name = "node") =>
    `${pid} (${name}) S ${parent} ${pid} ${pid} 0 -1 4194304 1 1 1 1 ${ticks.join(" ")} 20 0 1 0 1 1 1\n`;

  test("are counted without a process, those below it, and those that have ended", () => {
    const stats = [
      stat(1, 0, [900, 90, 9, 9]),
      stat(10, 1, [1, 2, 3, 4]),
      stat(11, 10, [10, 0, 0, 0], "a (odd) name 1 2"),
      stat(12, 11, [100, 0, 0, 0]),
      stat(13, 1, [5_000, 0, 0, 0]),
      "",
    ];
    expect(treeTicks(stats, 10)).toBe(120);
    expect(treeTicks(stats, 99)).toBe(0);
  });

  test("are a share of the time between two readings", () => {
    const before = { busy: 100, total: 1_000, own: 50 };
    expect(othersShare(before, { busy: 190, total: 1_100, own: 120 })).toBeCloseTo(0.2, 9);
    expect(othersShare(before, { busy: 190, total: 1_100, own: 10 })).toBeCloseTo(0.9, 9);
    expect(othersShare(before, { busy: 110, total: 1_100, own: 90 })).toBe(0);
    expect(othersShare(before, before)).toBeNull();
  });
});

describe("memory", () => {
  test("available, not free, is what is left", () => {
    const text = "MemTotal:       1000 kB\nMemFree:         10 kB\nMemAvailable:    400 kB\n";
    expect(memoryOf(text)).toEqual({ totalBytes: 1_024_000, availableBytes: 409_600 });
    expect(memoryOf("MemTotal: 1000 kB")).toBeNull();
  });

  test.each([
    ["max\n", null],
    ["9223372036854771712\n", null],
    ["1073741824\n", 1_073_741_824],
    ["", null],
  ])("the limit %j of a control group is %j", (text, bytes) => {
    expect(limitBytes(text)).toBe(bytes);
  });

  test("page cache that can be given back is read from both versions", () => {
    expect(inactiveFileBytes("anon 5\ninactive_file 77\n")).toBe(77);
    expect(inactiveFileBytes("inactive_file 1\ntotal_inactive_file 88\n".replace("inactive_file 1\n", ""))).toBe(88);
    expect(inactiveFileBytes("")).toBe(0);
  });

  test("the groups of a process are found in both versions, and limits of parents count", () => {
    expect(groupPaths("0::/user.slice/a.scope\n")).toEqual({ unified: "/user.slice/a.scope", memory: null });
    expect(groupPaths("4:memory:/box\n1:cpu,cpuacct:/x\n0::/\n")).toEqual({ unified: "/", memory: "/box" });
    expect(withParents("/a/b")).toEqual(["/a/b", "/a", "/"]);
    expect(withParents("/../../a")).toEqual(["/a", "/"]);
  });
});

test("accelerators are read line by line; what is no number is left out", () => {
  const text = "NVIDIA GH200 480GB, 87, 40960, 98304\nOdd, Name, 0, 0, 1024\nBroken, [N/A], 1, 1024\n\n";
  expect(gpusOf(text)).toEqual([
    { name: "NVIDIA GH200 480GB", usage: 0.87, memoryUsedBytes: 40_960 * 2 ** 20, memoryTotalBytes: 98_304 * 2 ** 20 },
    { name: "Odd, Name", usage: 0, memoryUsedBytes: 0, memoryTotalBytes: 2 ** 30 },
  ]);
});
