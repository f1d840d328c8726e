/** Pauses and crashes that cost a running job nothing, and a disk that has no room. */
import { createHash, randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { assert } from "../../../src/kernel/index.ts";
import { type AttackedMain, SILENCE_SECONDS } from "./attacked-main.ts";
import type { Attack } from "./list.ts";

/** Holds a job while something happens; afterwards its holder must still be believed. */
async function keepsItsLease(attacked: AttackedMain, happens: () => Promise<void>): Promise<void> {
  const token = await attacked.tokenFor("holder");
  const node_id = `holder-${randomBytes(4).toString("hex")}`;
  const post = (path: string, body: unknown) => attacked.from(token, path, { method: "POST", body });
  await attacked.own("/v1/work/jobs", {
    method: "POST",
    body: { jobs: [{ work_type: "selfplay", payload: { games: 1 } }] },
  });
  const offer = { cpu: 8, memory_gb: 8 };
  const { json } = await post("/v1/work/claim", { node_id, most: 1, offer, start: true });
  const [lease] = (json.leases ?? []) as { work_id: string; node_id: string; fence: number }[];
  assert(lease !== undefined, "no job was given out");
  const ref = { work_id: lease.work_id, node_id: lease.node_id, fence: lease.fence };
  await happens();
  const beat = (await post("/v1/work/beat", { beats: [{ ref }] })).json as { answers?: { ok: boolean }[] };
  assert(beat.answers?.[0]?.ok === true, `its holder has lost the job: ${JSON.stringify(beat)}`);
  await post("/v1/work/release", { releases: [{ ref, reason: "the attack is over" }] });
}

const LONGER_MS = SILENCE_SECONDS * 1_000 * 2;

async function pauses(attacked: AttackedMain, tries: number): Promise<void> {
  for (let i = 0; i < tries; i += 1)
    await keepsItsLease(attacked, async () => {
      attacked.main().kill("SIGSTOP");
      await wait(LONGER_MS);
      attacked.main().kill("SIGCONT");
    });
}

async function crashes(attacked: AttackedMain, tries: number): Promise<void> {
  for (let i = 0; i < tries; i += 1) await keepsItsLease(attacked, () => attacked.restart());
}

async function fullDisk(attacked: AttackedMain, tries: number): Promise<void> {
  const { disk } = attacked;
  if (disk === undefined) return;
  const token = await attacked.tokenFor("filler");
  for (let i = 0; i < tries; i += 1) {
    disk.fill();
    const bytes = randomBytes(200_000);
    const path = `/v1/artifacts/${createHash("sha256").update(bytes).digest("hex")}`;
    const put = () => attacked.from(token, path, { method: "PUT", raw: bytes });
    const refused = await put();
    assert(refused.json.code === "STORE_FULL", `a full disk answers an upload with ${refused.status} ${refused.text}`);
    disk.free();
    const taken = await put();
    assert(taken.status === 201, `with room again an upload is answered with ${taken.status} ${taken.text}`);
  }
}

export const ofTimeAndDisk: readonly Attack[] = [
  { what: "the main process stops for longer than a holder may be silent", times: 10, run: pauses },
  { what: "kill -9 of the main process while a job is held", times: 10, run: crashes },
  { what: "a full disk, freed again", times: 20, run: fullDisk },
];
