/** A host of an inventory, for real: a network namespace with an sshd, from an empty folder to the first finished job and back. */
import { test } from "vitest";
import { run } from "../soak/deploy.ts";
import { patience } from "../support/patience.ts";

test("an empty folder becomes a node that does a job, a second run changes nothing, and a bad program is taken back", {
  timeout: patience(180_000),
}, async () => {
  await run({ hosts: 1, killed: false });
});
