import { Command, CommanderError } from "commander";
import { expect, test } from "vitest";
import { recordedTerminal, shellWithout } from "../../../test/support/terminal.ts";
import { EXIT } from "../cli/io.ts";
import type { MainProcess } from "../cli/main-process.ts";
import type { Shell } from "../cli/shell.ts";
import { registerCluster } from "./command.ts";

const STATUS = {
  ...{ alone: false, cluster: "c-1", generation: 1, name: "a", role: "leader", term: 3, seq: 9, trouble: null },
  ...{
    leader: { name: "a", url: "https://a", fingerprint: null, term: 3, since: 0 },
    terms: [],
    checks: [],
    engine: null,
  },
};
const member = (name: string, more: object = {}) => ({
  ...{ name, url: `https://${name}`, fingerprint: null, role: "follower", term: 3, seq: 9, lag: 0, leader: "a" },
  ...{ version: "1", trouble: null, heard_seconds_ago: 0, present: true, same_rows: true, files_lacking: 0 },
  ...{ lease_seconds: 12, ...more },
});

/** The command over a main process that answers this. */
async function run(answer: object, ...args: readonly string[]) {
  const { io, said } = recordedTerminal({});
  const program = new Command("ringrift").exitOverride();
  const main = {
    ...{ call: async () => answer, raw: async () => answer, read: () => answer },
    [Symbol.dispose]: () => {},
  } as unknown as MainProcess;
  const shell = Object.create(shellWithout(program, io), {
    main: { value: { need: async () => main, look: async () => main } },
  }) as Shell;
  registerCluster(program.command("cluster"), shell);
  try {
    await program.parseAsync(["node", "ringrift", "cluster", ...args]);
    return { out: said.out, code: EXIT.ok };
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    return { out: said.out, code: thrown.exitCode };
  }
}

const verified = (...same: (boolean | null)[]) => ({
  ...{ seq: 9, digest: "d".repeat(64), applied: true },
  members: same.map((same_rows, i) => ({ name: `m${i}`, same_rows })),
});

test("verify ends with what it found: all equal, one that differs, one that has not said", async () => {
  expect(await run(verified(true, true), "verify")).toMatchObject({ code: EXIT.ok });
  const differs = await run(verified(null, false), "verify");
  expect(differs).toMatchObject({ code: EXIT.negative, out: expect.stringContaining("m1 has other rows") });
  expect(await run(verified(true, null), "verify")).toMatchObject({ code: EXIT.unavailable });
  const dry = { seq: null, digest: null, members: [], applied: false };
  expect(await run(dry, "verify", "--dry-run")).toMatchObject({
    code: EXIT.ok,
    out: expect.stringContaining("dry run"),
  });
});

test("status names coordinators whose lease is set differently", async () => {
  const alike = await run({ ...STATUS, members: [member("a"), member("b")] }, "status");
  expect(alike.out).not.toContain("lease");
  const members = [member("a"), member("b", { lease_seconds: 4 }), member("c", { lease_seconds: null })];
  const { out } = await run({ ...STATUS, members }, "status");
  expect(out).toContain("the lease is 12 s here, and elsewhere not: b 4 s; set coordinators.lease alike");
});
