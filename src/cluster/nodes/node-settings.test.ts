import { expect, test } from "vitest";
import { settingDifferences } from "./node-settings.ts";

const node = (name: string, settings: Readonly<Record<string, string | number | boolean | null>>) => ({
  node: name,
  version: "1",
  settings: Object.entries(settings).map(([key, value]) => ({ key, value })),
});

test("a setting that is not the same everywhere is told with all its values; what is not set has its default", () => {
  const nodes = [
    node("main", { "worker.nice": 5, "resources.cpu_warn": 0.8, "worker.tags": "gpu" }),
    node("a", { "worker.nice": 5, "resources.cpu_warn": 0.5 }),
    node("b", { "worker.nice": 5, "resources.cpu_warn": 0.8, "worker.slots": 2 }),
  ];
  expect(settingDifferences(nodes)).toEqual([
    { key: "resources.cpu_warn", values: [0.8, 0.5, 0.8] },
    { key: "worker.slots", values: [undefined, undefined, 2] },
    { key: "worker.tags", values: ["gpu", undefined, undefined] },
  ]);
});

test("what every machine has of its own is no difference, and neither is a single machine", () => {
  const own = { data_dir: "/a", node_id: "a", "api.port": 1, "log.level": "DEBUG", "api.tls_key_file": "/k" };
  expect(settingDifferences([node("main", own), node("a", {})])).toEqual([]);
  expect(settingDifferences([node("main", { "worker.nice": 5 })])).toEqual([]);
});

test("a word and a number that look alike are told apart", () => {
  const nodes = [node("main", { "worker.tags": "1" }), node("a", { "worker.tags": 1 })];
  expect(settingDifferences(nodes)).toHaveLength(1);
});
