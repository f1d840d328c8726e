import { expect, onTestFinished, test } from "vitest";
import { runSurface } from "../../../test/support/surface.ts";
import { ackSession } from "../consumers/wire.ts";
import { createBudget } from "./budget.ts";
import { costOfItems, MAX_UNDER_WAY } from "./limits.ts";

test("a budget is one caller's up to its bound, everybody's up to another, and open to whoever holds nothing", () => {
  const budget = createBudget({ one: 100_000, all: 150_000 });
  const letGo = budget.hold("a", 90_000);
  expect(budget.hasRoom("a", 20_000)).toBe(false);
  expect(budget.hasRoom("b", 1_000_000)).toBe(true);
  budget.hold("b", 60_000);
  expect(budget.hasRoom("b", 1)).toBe(false);
  expect(budget.hasRoom("c", 90_000)).toBe(true);
  letGo();
  letGo();
  expect(budget.bytes).toBe(60_000);
  expect(budget.hasRoom("b", 40_000)).toBe(true);
});

test("one caller's flood is refused before its bodies are read, and takes nothing from another", async () => {
  const surface = await runSurface({ RINGRIFT_RATE_FACTOR: "0.1" });
  onTestFinished(() => surface.end());
  const tokenOf = async (label: string) => {
    const made = await surface.ask("socket", "/v1/tokens", { method: "POST", body: { label, scope: "worker" } });
    return String(made.json.token);
  };
  const [flood, honest] = [await tokenOf("flood"), await tokenOf("honest")];
  const beats = Array.from({ length: 1_000 }, (_, i) => ({ ref: { work_id: `w${i + 1}`, node_id: "ff", fence: 1 } }));
  const beat = (token: string, raw: string) =>
    surface.ask("port", "/v1/work/beat", {
      method: "POST",
      token,
      raw,
      headers: { "content-type": "application/json" },
    });
  const first = await beat(flood, JSON.stringify({ beats }));
  expect([first.status, (first.json.answers as unknown[]).length]).toEqual([200, beats.length]);
  // It is not even JSON, and nobody has looked.
  const second = await beat(flood, "{".repeat(100));
  expect([second.status, second.json.code]).toEqual([429, "TOO_MANY_REQUESTS"]);
  expect(Number(second.headers["retry-after"])).toBeGreaterThan(0);
  expect((await beat(honest, JSON.stringify({ beats: beats.slice(0, 10) }))).status).toBe(200);
});

test("an ack is cheap, and what it emits costs as much as any other event", () => {
  const seqs = Array.from({ length: 100 }, (_, i) => i + 1);
  expect(costOfItems({ seqs, emit: [] }, ackSession.itemCosts)).toBeCloseTo(10);
  expect(costOfItems({ seqs: [1], emit: Array.from({ length: 1_000 }) }, ackSession.itemCosts)).toBeCloseTo(1_000.1);
});

test("requests that one caller leaves open take no place from another", async () => {
  const surface = await runSurface({ RINGRIFT_RATE_FACTOR: "10" });
  onTestFinished(() => surface.end());
  const tokenOf = async (label: string) => {
    const made = await surface.ask("socket", "/v1/tokens", { method: "POST", body: { label, scope: "worker" } });
    return String(made.json.token);
  };
  const [idle, honest] = [await tokenOf("idle"), await tokenOf("honest")];
  const claim = (token: string, node_id: string, wait_seconds: number) =>
    surface.ask("port", "/v1/work/claim", {
      method: "POST",
      token,
      body: { node_id, offer: { cpu: 1 }, wait_seconds },
    });
  const open = Array.from({ length: MAX_UNDER_WAY }, () => claim(idle, "idle", 30));
  await expect
    .poll(async () => (await surface.ask("socket", "/v1/work/stats")).json.claims_waiting)
    .toBe(MAX_UNDER_WAY);
  const more = await claim(idle, "idle", 0);
  expect([more.status, more.json.code]).toEqual([429, "TOO_MANY_REQUESTS"]);
  expect((await claim(honest, "honest", 0)).status).toBe(200);
  await surface.ask("socket", "/v1/work/jobs", {
    method: "POST",
    body: { jobs: Array.from({ length: MAX_UNDER_WAY }, () => ({ work_type: "selfplay", needs: { cpu: 0 } })) },
  });
  // As many as one node may hold are answered with a job, the others in their own time.
  expect((await Promise.race(open)).status).toBe(200);
});
