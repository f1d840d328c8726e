/** Harm that is sound in form: models that were turned around, and a producer that lies about who won. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ensurePlans } from "../../src/app/pipeline/plans.ts";
import { systemClock } from "../../src/kernel/index.ts";
import { championHistory } from "../../src/pipeline/models/index.ts";
import { promoteByHand } from "../../src/pipeline/promotion/index.ts";
import type { Poison } from "../../src/workloads/faulty-arena/declaration.ts";
import { poisonedArenaDeclaration } from "../../src/workloads/faulty-arena/index.ts";
import { COMPILE_CACHE } from "../support/compiled.ts";
import { CONFIG, planned, QUICK, SOUND, soundness, startLoop } from "../support/loop.ts";
import { causeFaults } from "../support/loop-causes.ts";
import { owned } from "../support/process.ts";
import { ask } from "../support/surface.ts";

const clock = systemClock();

/** A settings file whose built-in games do harm. */
function declarePoison(folder: string, poison: Poison): string {
  const file = join(folder, "ringrift.config.json");
  const { command, args, kinds } = poisonedArenaDeclaration({ poison });
  writeFileSync(file, JSON.stringify({ workloads: { arena: { command, args, kinds, env_allow: [COMPILE_CACHE] } } }));
  return file;
}

test("a model scrambled after training is never promoted; forced in by hand it is rolled back, with the reason", async () => {
  const own = owned(onTestFinished);
  const loop = await startLoop(own, {
    plans: planned(QUICK),
    slots: 2,
    configFile: declarePoison(own.folder(), "model"),
  });
  onTestFinished(loop.end);
  const { champions, gates } = await loop.complete();
  expect(champions.map(({ by }) => by)).toEqual(["first"]);
  expect(gates.length).toBe(QUICK.most_iterations);
  for (const { verdict, games } of gates) {
    expect(verdict).not.toBe("promote");
    expect(games).toBeGreaterThan(0);
  }

  const first = champions[0]!.model;
  const scrambled = gates.at(-1)!.candidate;
  const { router } = loop.main;
  const { store } = router;
  const order = { configKey: planned(QUICK)[0]!.plan.config_key, model: scrambled, by: "somebody" };
  const ports = { router: router as never, store, clock };
  await promoteByHand(ports, { ...order, reason: "it looks good to me" });
  expect(loop.config().champion).toMatchObject({ model: scrambled, by: "hand" });
  await loop.until(({ champion }) => champion?.by === "rollback");
  const [restored, forced] = championHistory(store, CONFIG);
  expect(forced).toMatchObject({ model: scrambled, cause: "hand", by: "somebody" });
  expect(restored).toMatchObject({ model: first, cause: "rollback", by: "model_rollback" });
  expect(restored!.evidence).toMatchObject({
    withdrawn: scrambled,
    reason: expect.stringMatching(/^-\d+ Elo .* over \d+ blocks against /),
  });
  // Once withdrawn it stays away: not even the same person brings it back unseen.
  await expect(promoteByHand(ports, { ...order, reason: "again" })).rejects.toMatchObject({ code: "MODEL_WITHDRAWN" });
  expect(await soundness(loop)).toEqual(SOUND);
});

test("a producer with poisoned labels is found and its games are rejected; the loop goes on with honest ones", async () => {
  const own = owned(onTestFinished);
  const loop = await startLoop(own, { plans: [], slots: 1 });
  onTestFinished(loop.end);
  const { socketPath, port } = loop.main.api;
  const { json } = await ask({ socketPath }, "/v1/tokens", {
    method: "POST",
    body: { label: "node", scope: "worker" },
  });
  const folder = own.folder();
  declarePoison(folder, "labels");
  const url = `http://127.0.0.1:${port}`;
  const liar = own.startCli(["join", url, String(json.token), "--label", "liar", "--slots", "1"], { cwd: folder });
  const liarId = (await liar.waitForLine(/joined .* as .* \((n[0-9a-f]{16})\)/)).match[1]!;
  await liar.waitForLine(/worker ready/);
  await ensurePlans(loop.main.router as never, planned(QUICK));

  const { books, suspects, champions } = await loop.complete();
  expect(suspects).toMatchObject([{ producer: liarId, reason: "labels" }]);
  expect(Object.keys(books.rejected)).toEqual(["labels"]);
  expect(books.rejected.labels).toBeGreaterThanOrEqual(QUICK.games_per_job);
  expect(books.durable).toBe(QUICK.games_per_iteration * QUICK.most_iterations);
  expect(books.produced).toBe(books.durable + books.rejected.labels!);
  expect(champions.length).toBeGreaterThan(1);
  expect(await soundness(loop)).toEqual(SOUND);
  // Also what came of jobs on another node, and of those that were played again.
  expect(causeFaults(loop.main.router.store)).toEqual([]);
  await liar.stop();
});
