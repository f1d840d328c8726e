import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { syncWorld } from "../../test/unit/sync/sync-world.ts";

const everything = async (sha256s: readonly string[]) => sha256s;

test("places that are reserved are nobody else's: not taken away, not swept, not given twice; too large ones are refused", async () => {
  const world = syncWorld({ maxBytes: 100 });
  onTestFinished(() => world.close());
  const { files: store, folder } = world;
  const [one, other] = ["a".repeat(64), "b".repeat(64)];
  const wanted = [
    { sha256: one, bytes: 10 },
    { sha256: other, bytes: 101 },
  ];
  const { expected, refused, release } = store.reserve(wanted, "transfers");
  expect(expected).toMatchObject([{ sha256: one, landing: { path: store.pathOf(one) } }]);
  expect(refused).toMatchObject([{ sha256: other, code: "ARTIFACT_TOO_LARGE" }]);
  expect(store.reserve([wanted[0]!], "transfers").refused).toMatchObject([{ code: "ARTIFACT_BUSY" }]);
  mkdirSync(join(folder, "aa"));
  const { path, part } = expected[0]!.landing;
  writeFileSync(part, "half");
  const [left] = await store.filesIn("aa");
  expect(await store.dropPart(left!, Number.MAX_SAFE_INTEGER)).toBe(false);
  renameSync(part, path);
  expect(await store.take([one], Number.MAX_SAFE_INTEGER, everything)).toEqual([]);
  release();
  expect(await store.take([one], Number.MAX_SAFE_INTEGER, everything)).toEqual([one]);
});
