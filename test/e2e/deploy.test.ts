/** Hosts of an inventory, for real: network namespaces with an sshd each, from an empty folder to the first finished job. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { deployWorld } from "../support/deploy-world.ts";
import { patience } from "../support/patience.ts";
import { owned } from "../support/process.ts";

test("an empty folder becomes a node that does a job, a second run changes nothing, and a bad program is taken back", {
  timeout: patience(180_000),
}, async () => {
  const world = await deployWorld(owned(onTestFinished), onTestFinished, 1);
  if (world === undefined) return;
  const { deploy, job, inventory, folder } = world;

  const tried = await deploy(["--dry-run"]);
  expect(tried).toMatchObject({ code: 0, answer: { dry_run: true, hosts: [{ outcome: "installed", node_id: null }] } });

  const first = await deploy();
  expect(first, first.said).toMatchObject({ code: 0, answer: { hosts: [{ label: "box-1", outcome: "installed" }] } });
  expect(await job("box-1")).toMatchObject({ state: "completed" });

  const second = await deploy();
  expect(second, second.said).toMatchObject({ code: 0, answer: { hosts: [{ outcome: "unchanged" }] } });

  // A program that starts and ends at once: the canary goes back to the one before.
  const bad = join(folder, "bad");
  mkdirSync(join(bad, "bin"), { recursive: true });
  mkdirSync(join(bad, "dist", "app"), { recursive: true });
  writeFileSync(join(bad, "package.json"), JSON.stringify({ name: "bad", version: "9.9.9" }));
  writeFileSync(join(bad, "bin", "ringrift.js"), "console.error('this program is broken'); process.exit(1);\n");
  writeFileSync(join(bad, "dist", "app", "cli.js"), "\n");
  const broken = await deploy(["--program", bad, "--watch", "4s"]);
  expect(broken, broken.said).toMatchObject({
    code: 1,
    answer: { hosts: [{ outcome: "rolled_back", error: expect.stringContaining("this program is broken") }] },
  });
  expect(await job("box-1")).toMatchObject({ state: "completed" });

  // Another machine answers at the address: nothing is sent to it.
  const wrong = await deploy([], inventory({ knownHosts: "stranger" }));
  expect(wrong, wrong.said).toMatchObject({
    code: 1,
    answer: { hosts: [{ outcome: "failed", error_code: "HOST_UNTRUSTED" }] },
  });
});
