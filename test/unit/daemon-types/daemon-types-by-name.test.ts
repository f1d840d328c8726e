/**
 * Every daemon type of the Python system, started by its name: while its unit is stopped nothing of its work is seen, whatever happens, and once
 * somebody has started it under that name it is.
 */
import { expect, onTestFinished, test } from "vitest";
import { declaredRegistry } from "../../../src/app/registry.ts";
import type { DaemonType } from "../../../src/daemons/legacy.ts";
import { canonicalDaemonName } from "../../../src/daemons/supervisor/daemon-names.ts";
import { ofCluster } from "./of-cluster.ts";
import { ofDaemons } from "./of-daemons.ts";
import { ofFleet } from "./of-fleet.ts";
import { ofLoop } from "./of-loop.ts";
import { ofSteering } from "./of-steering.ts";
import { ofSync } from "./of-sync.ts";
import { ofWork } from "./of-work.ts";
import { allTypes, type Shown } from "./scene.ts";

/** One that is missing does not compile. */
const shown: Readonly<Record<DaemonType, Shown>> = {
  ...ofDaemons,
  ...ofWork,
  ...ofCluster,
  ...ofFleet,
  ...ofSync,
  ...ofLoop,
  ...ofSteering,
};
const { units } = declaredRegistry();

test("all of them are here, each with the unit that does its work", () => {
  expect(Object.keys(shown).sort()).toEqual(allTypes.toSorted());
  const answers = allTypes.map((type) => [type, canonicalDaemonName(type, units)]);
  expect(Object.entries(shown).map(([type, { unit }]) => [type, unit])).toEqual(expect.arrayContaining(answers));
});

test.each(allTypes.map((type) => ({ type, ...shown[type] })))("$type: $unit $does", async ({ type, unit, open }) => {
  const scene = await open(type);
  onTestFinished(async () => void (await scene.close()));
  const { manager, driven, seen, idle = [] } = scene;
  expect(await driven(manager.stop(unit))).toBe(true);
  expect(manager.isRunning(unit)).toBe(false);
  await scene.before?.();
  await scene.live(false);
  expect(seen()).toEqual(idle);
  expect(await driven(manager.start(type))).toBe(true);
  expect(manager.isRunning(unit)).toBe(true);
  await scene.live(true);
  expect(seen()).toEqual(scene.shows);
});
