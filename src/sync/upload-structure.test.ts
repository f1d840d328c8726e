/** A file is named only when it can be read. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sha256Of, syncWorld } from "../../test/unit/sync/sync-world.ts";

test("a file whose bytes are right and that cannot be read is refused, kept aside, and never has its name", async () => {
  const w = syncWorld({ faultOf: async (path) => (readFileSync(path, "utf8") === "a lie" ? "it is a lie" : null) });
  onTestFinished(() => w.close());
  await w.put("the truth");
  const sha256 = sha256Of("a lie");
  await expect(w.put("a lie")).rejects.toMatchObject({ code: "ARTIFACT_STRUCTURE", status: 422 });
  expect((await w.files.stat(sha256)).size).toBeNull();
  expect(readdirSync(join(w.folder, "quarantine"))).toEqual([expect.stringMatching(`^${sha256}\\.`)]);
});
