/** Four more illnesses with real processes, beside those of `node-recovery` and `node-line`: a crash loop, a full disk, wrong results, and slowness. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { commandsIn } from "../support/commands.ts";
import { PATIENT, patience } from "../support/patience.ts";
import { freePort, owned } from "../support/process.ts";
import { smallDisk } from "../support/small-disk.ts";
import { ask } from "../support/surface.ts";
import { declareTiny, mainProcess } from "./parts/worker-world.ts";

/** Long enough that nobody is taken for silent: that illness is another test's. */
const DEAD_SECONDS = patience(20_000) / 1_000;
const MAIN = {
  RINGRIFT_WORK_LEASE_SILENCE: String(DEAD_SECONDS),
  RINGRIFT_NODE_BEAT: "0.3",
  RINGRIFT_NODE_SUSPECT: String(DEAD_SECONDS / 2),
  RINGRIFT_NODE_DEAD: String(DEAD_SECONDS),
  RINGRIFT_P2P_STARTUP_GRACE_PERIOD: "0",
  RINGRIFT_NODE_HEALTH_CHECK: "0.3",
  RINGRIFT_RECOVERY_OBSERVE: "0.5",
  RINGRIFT_RECOVERY_PATIENCE: "600",
};
const NODE = { RINGRIFT_WORKER_BEAT_INTERVAL: "0.3", RINGRIFT_WORKER_CLAIM_WAIT: "1", RINGRIFT_JOB_GRACE_PERIOD: "1" };
/** One batch: only what was played with the same models can be compared. */
const JOB = { parameters: { ms: 150, score: 100 }, batch_id: "one", max_attempts: 50 };
const WAITING = 40;
const MEGABYTES = 64;
const ROOM = { RINGRIFT_WORKER_DISK_RESERVE_GB: "0.02" };
/** Starts in ten minutes that are a crash loop. */
const CRASHES = 5;

interface Node {
  readonly label: string;
  readonly last_seen_at: number;
  readonly health: { readonly condition: string; readonly reason: string | null };
}

test("a crash loop and a full disk are handed to a person, a liar is restarted, a slow node works on; all come back, and nobody else is touched", async () => {
  const own = owned(onTestFinished);
  const port = await freePort();
  const main = mainProcess(own, { ...MAIN, RINGRIFT_PORT: String(port) });
  await main.startInside(onTestFinished);
  const token = await main.token();
  const run = commandsIn(main.folder);
  const { socket_path: socketPath } = JSON.parse(readFileSync(join(main.dataDir, "endpoint.json"), "utf8"));
  const get = async <T>(path: string) => (await ask({ socketPath }, path)).json as T;
  const node = async (label: string) => {
    const { nodes } = await get<{ nodes: Node[] }>("/v1/nodes");
    return nodes.find((each) => each.label === label)!;
  };
  const health = async (label: string) => (await node(label)).health;
  const acts = async (label: string) => {
    const { acts: all } = await get<{ acts: { label: string; rung: string; state: string }[] }>(
      "/v1/recovery/history?limit=100",
    );
    return all
      .filter((act) => act.label === label)
      .map(({ rung, state }) => `${rung} ${state}`)
      .reverse();
  };
  /** Everybody has work as long as somebody waits for something: it is by their work that nodes are judged. */
  const soon = (look: () => Promise<void>) =>
    vi.waitFor(
      async () => {
        const { pending = 0 } = await main.states();
        if (pending < WAITING / 2) await main.add(Array.from({ length: WAITING }, () => JOB));
        await look();
      },
      { ...PATIENT, interval: 200 },
    );
  const isWell = (label: string) =>
    soon(async () => expect(await health(label), label).toMatchObject({ condition: "healthy" }));
  const begin = (folder: string, label: string, env: object = {}) =>
    own.startCli(["join", `http://localhost:${port}`, token, "--label", label, "--slots", "1"], {
      cwd: folder,
      env: { ...NODE, ...env },
    });
  const join_ = async (label: string, { folder = own.folder(), env = {}, workload = {} } = {}) => {
    declareTiny(folder, workload);
    const worker = begin(folder, label, env);
    await worker.waitForLine(/worker ready/);
    return { folder, worker };
  };
  /** A program that is ill, as the variable says, until it is mended. */
  const illUntil = (variable: string) => {
    const file = join(own.folder(), "mended");
    return { workload: { env: { [variable]: file } }, mend: () => writeFileSync(file, "") };
  };
  /** What a person reads who was asked, and what was done before. */
  const isHandedOver = async (label: string, illness: RegExp) => {
    await soon(async () => expect(await acts(label)).toEqual(["observe failed", "drain failed", "person acting"]));
    const shown = (await run("nodes", "health", label)).out;
    expect(shown).toMatch(illness);
    expect(shown).toMatch(/repair +a person was asked to look at it[\s\S]*may get work +no: it is unhealthy/);
    expect((await run("why", label)).out).toMatch(
      new RegExp(`${illness.source}[\\s\\S]*✗ repair[\\s\\S]*a person was asked[\\s\\S]*--rung observe`),
    );
    expect((await run("recovery", "history", "--node", label)).out).toMatch(illness);
  };

  const [lies, dawdles] = [illUntil("TINY_LIES_UNTIL"), illUntil("TINY_DAWDLES_UNTIL")];
  const disk = smallDisk(MEGABYTES, onTestFinished);
  const [crashing, liar, , , , full] = await Promise.all([
    join_("crashing"),
    join_("liar", lies),
    join_("good"),
    join_("better"),
    join_("slow", dawdles),
    disk && join_("full", { folder: disk.folder, env: ROOM }),
  ]);

  const crashLoop = async () => {
    let { worker } = crashing;
    // Nobody waits until it was heard: most of its lives are too short for that.
    for (let n = 0; n < CRASHES; n += 1) {
      await worker.killNow();
      worker = begin(crashing.folder, "crashing");
      await worker.waitForLine(/worker ready/);
    }
    await isHandedOver("crashing", /its worker starts again and again/);
    // That it will not crash again only a person can know.
    const told = await run("recovery", "run", "crashing", "--rung", "observe", "--reason", "a new cable");
    expect(told.code).toBe(0);
    await soon(async () => expect((await acts("crashing")).at(-1)).toBe("person worked"));
    await isWell("crashing");
  };
  const fullDisk = async () => {
    if (disk === undefined || full === undefined) return;
    disk.fill();
    await isHandedOver("full", /its disk is full/);
    // Started anew it is no silent node: it says why it cannot work, and goes on by itself once there is room.
    await full.worker.killNow();
    const { last_seen_at: killedAt } = await node("full");
    const again = begin(full.folder, "full", ROOM);
    await again.waitForLine(/the disk is full: waiting for room/);
    await soon(async () => expect((await node("full")).last_seen_at).toBeGreaterThan(killedAt));
    expect((await health("full")).reason).toMatch(/its disk is full/);
    disk.free();
    await again.waitForLine(/worker ready/);
    await soon(async () => expect((await acts("full")).at(-1)).toBe("person worked"));
    await isWell("full");
  };
  const wrongResults = async () => {
    // A worker that lies in the one job of its trial gets no other for an hour. From its drain to its restart it gets none: it is mended in between.
    await soon(async () => expect(await acts("liar")).toContain("observe failed"));
    lies.mend();
    await liar.worker.waitForLine(/restarting: /, { timeoutMs: PATIENT.timeout });
    await soon(async () => expect(await acts("liar")).toEqual(["observe failed", "drain failed", "restart worked"]));
    await isWell("liar");
  };
  const slowness = async () => {
    await soon(async () => expect((await health("slow")).reason).toMatch(/^it is slow/));
    expect((await run("why", "slow")).out).toMatch(/slow is online[\s\S]*degraded: it is slow/);
    dawdles.mend();
    await isWell("slow");
  };
  await Promise.all([crashLoop(), fullDisk(), wrongResults(), slowness()]);

  // Whoever works is left alone, however slowly.
  for (const label of ["good", "better", "slow"]) expect(await acts(label), label).toEqual([]);
  await vi.waitFor(async () => expect(Object.keys(await main.states())).toEqual(["completed"]), PATIENT);
});
