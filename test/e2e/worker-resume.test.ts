/** A training job whose worker leaves in the middle of it goes on where it was, on another machine, with real processes. */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { PATIENT } from "../support/patience.ts";
import { freePort, owned } from "../support/process.ts";
import { mainProcess } from "./parts/worker-world.ts";

const soon = <T>(look: () => T | Promise<T>) => vi.waitFor(look, PATIENT);
const CONFIG = "connect4_7x6_2p";
const SMALL = { wide: 8, narrow: 8 };
const NODE = { RINGRIFT_WORKER_BEAT_INTERVAL: "0.3", RINGRIFT_WORKER_CLAIM_WAIT: "1" };

test("the next try of a stopped training goes on from its checkpoint on another node, to the model of an undisturbed run", async () => {
  const own = owned(onTestFinished);
  const port = await freePort();
  const main = mainProcess(own, { RINGRIFT_PORT: String(port) });
  // The built-in games do the jobs here.
  rmSync(join(main.folder, "ringrift.config.json"));
  await main.startInside(onTestFinished);
  const token = await main.token();
  const node = (label: string) => {
    const worker = own.startCli(["join", `http://localhost:${port}`, token, "--label", label, "--slots", "1"], {
      cwd: own.folder(),
      env: NODE,
    });
    return worker.waitForLine(/worker ready/).then(() => worker);
  };
  const add = async (work_type: string, payload: object): Promise<string> => {
    const jobs = [{ work_type, config_key: CONFIG, payload }];
    const { added } = (await main.post("/v1/work/jobs", { jobs })) as { added: { work_id: string }[] };
    return added[0]!.work_id;
  };
  const outputOf = async (id: string, name: string): Promise<string> => {
    await soon(async () => expect((await main.show(id)).state).toBe("completed"));
    return (await main.show(id)).evidence!.outputs.find((each) => each.name.startsWith(name))!.sha256;
  };

  const first = await node("one");
  const played = await add("selfplay", { parameters: { ...SMALL, games: 12, simulations: 8 }, seed: 3 });
  const samples = await outputOf(played, "samples");
  const training = {
    parameters: { ...SMALL, steps: 20_000, batch: 32 },
    seed: 7,
    inputs: [{ name: "samples-0000", sha256: samples }],
  };
  const stopped = await add("training", training);
  await soon(async () => expect((await main.show(stopped)).progress ?? 0).toBeGreaterThan(0));
  expect(await first.stop()).toEqual({ code: 0, signal: null });
  const { state, attempts, saved, progress } = await main.show(stopped);
  expect({ state, attempts }).toEqual({ state: "pending", attempts: 0 });
  expect(saved).toMatchObject({ epoch: expect.any(Number), bytes: expect.any(Number) });
  expect(saved!.epoch).toBeGreaterThan(0);
  expect(existsSync(join(main.dataDir, "artifacts", saved!.sha256.slice(0, 2), saved!.sha256))).toBe(true);

  await node("two");
  // It does not fall behind where the first one was.
  await soon(async () => expect((await main.show(stopped)).progress ?? 0).toBeGreaterThanOrEqual(progress ?? 0));
  const model = await outputOf(stopped, "model");
  expect((await main.show(stopped)).node_id).not.toBe(saved!.node_id);
  const undisturbed = await add("training", training);
  expect(await outputOf(undisturbed, "model")).toBe(model);
});
