import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { smallDisk } from "../../../test/support/small-disk.ts";
import { seededRandom, silentLog, systemClock } from "../../kernel/index.ts";
import { createDeliveries } from "./deliveries.ts";
import type { Refusal, Reply } from "./ports.ts";
import { openSpool, type SpoolEntry } from "./spool.ts";

const entryOf = (n: number): SpoolEntry => ({
  say: "complete",
  ref: { work_id: `w${n}`, node_id: "n1", fence: 1 },
  work_type: "check",
  finished_at: n,
  evidence: { outputs: [], counts: {} },
  files: [],
});

test("on a full disk a result that was refused is let go of all the same, and one that was spooled is still there", async () => {
  const disk = smallDisk(1, onTestFinished);
  if (disk === undefined) return;
  const spool = await openSpool({ folder: join(disk.folder, "spool"), onTrouble: () => {} });
  const [spooled, refused] = [entryOf(1), entryOf(2)];
  await spool.put(spooled);
  disk.fill();
  await expect(spool.put(entryOf(3))).rejects.toMatchObject({ code: "ENOSPC" });

  const settled = Promise.withResolvers<Refusal | undefined>();
  const answer: Reply<never> = { ok: false, error: { code: "STALE_LEASE", message: "somebody else has it" } };
  const deliveries = createDeliveries({
    queue: {
      complete: async (all) => all.map(() => answer),
      fail: async (all) => all.map(() => answer),
      release: async (all) => all.map(() => answer),
    },
    artifacts: { upload: async () => undefined },
    spool,
    clock: systemClock(),
    random: seededRandom(1),
    log: silentLog(),
    onSettled: (_, why) => settled.resolve(why),
  });
  deliveries.push(refused);
  expect(await settled.promise).toMatchObject({ code: "STALE_LEASE" });
  expect((await spool.read()).entries).toEqual([spooled]);
  disk.free();
  await spool.put(entryOf(3));
  expect((await spool.read()).entries).toHaveLength(2);
  await deliveries.stop();
});
