/**
 * Fairness, ageing and pressure over random loads: the queue's own decisions, a clock that only the test moves, producers
 * that obey the pressure, and workers that take what they are given.
 */
import { expect, test } from "vitest";
import { pick, seededRandom } from "../../src/kernel/index.ts";
import { nextPressure, type Pressure, type PressurePolicy } from "../../src/work/backpressure.ts";
import { rateMultiplierOf } from "../../src/work/index.ts";
import { EVIDENCE, PLENTY, workWorld } from "../unit/work/work-world.ts";

const MINUTE = 60_000;

/** Every 10 s: jobs come in at random, some slots take work, and what was taken is done a while later. */
async function runLoad(seed: number, flood: boolean) {
  const random = seededRandom(seed);
  const w = workWorld({ ageing: { stepMs: 5 * MINUTE }, limits: { maxUnfinished: 100_000 } });
  const configs = Array.from({ length: 3 + pick(random, 4) }, (_, i) => `c${i}_2p` as const);
  const slots = 4 + pick(random, 5);
  const waits = new Map<string, number[]>(configs.map((config) => [config, []]));
  const lowWaits: number[] = [];
  const queuedAt = new Map<string, { at: number; low: boolean }>();
  for (let step = 0; step < 120; step += 1) {
    const now = w.clock.now();
    for (const [i, config_key] of configs.entries()) {
      // The first one floods the queue with work that it calls high; the others bring less than their share.
      const jobs = i === 0 && flood ? 2 * slots : random.next() < (0.6 * slots) / configs.length ? 1 : 0;
      for (let n = 0; n < jobs; n += 1) {
        const low = random.next() < 0.2;
        const urgency = i === 0 && flood && !low ? "high" : low ? "low" : "normal";
        const { work_id } = await w.queue.add({ work_type: "selfplay", config_key, urgency });
        queuedAt.set(work_id, { at: now, low });
      }
    }
    const leases = await w.queue.claim({ node_id: `n${pick(random, 3)}`, most: slots, offer: PLENTY });
    for (const { work_id, config_key } of leases) {
      const { at, low } = queuedAt.get(work_id)!;
      waits.get(config_key!)!.push(now - at);
      if (low && config_key === configs[0]) lowWaits.push(now - at);
    }
    await w.queue.completeAll(leases.map((ref) => ({ ref, evidence: EVIDENCE })));
    await w.pass(10_000);
  }
  const left = w.queue.list({ state: "pending", limit: 1_000 });
  const oldest = new Map<string, number>();
  for (const { config_key, queued_at } of left)
    oldest.set(config_key!, Math.max(oldest.get(config_key!) ?? 0, w.clock.now() - queued_at));
  await w.close();
  return { configs, waits, lowWaits, oldest };
}

/** Two tests look at the same floods. */
const floods = new Map<number, ReturnType<typeof runLoad>>();
const flooded = (seed: number) => {
  const flood = floods.get(seed) ?? runLoad(seed, true);
  floods.set(seed, flood);
  return flood;
};

test("a flood of one config never makes the others wait", async () => {
  for (let seed = 1; seed <= 8; seed += 1) {
    const { configs, waits, oldest } = await flooded(seed);
    // Its own jobs wait for as long as there are too many; work of the others comes through within their turn, and what
    // the flood may overtake by when it has aged.
    expect(oldest.get(configs[0]!), `seed ${seed}`).toBeGreaterThan(8 * MINUTE);
    for (const config of configs.slice(1)) {
      const worst = Math.max(0, ...waits.get(config)!, oldest.get(config) ?? 0);
      expect(worst, `seed ${seed}, ${config}`).toBeLessThanOrEqual(2 * MINUTE);
    }
  }
});

test("within a flood of urgent work the low jobs are served too, once they have waited", async () => {
  for (let seed = 1; seed <= 8; seed += 1) {
    const { lowWaits } = await flooded(seed);
    // Two steps of age make them as urgent as the flood, and they are older than its young part.
    expect(lowWaits.length, `seed ${seed}`).toBeGreaterThan(5);
    expect(Math.max(...lowWaits), `seed ${seed}`).toBeGreaterThanOrEqual(10 * MINUTE);
  }
});

test("without a flood nobody waits", async () => {
  for (let seed = 1; seed <= 8; seed += 1) {
    const { waits } = await runLoad(seed, false);
    for (const [config, all] of waits)
      expect(Math.max(0, ...all), `seed ${seed}, ${config}`).toBeLessThanOrEqual(MINUTE);
  }
});

const policy: PressurePolicy = {
  soft: { depth: 300, delaySeconds: 120 },
  hard: { depth: 600, delaySeconds: 300 },
  stop: { depth: 900, delaySeconds: 600 },
  release: 0.8,
  holdSeconds: 120,
};

/** A fluid queue: producers would make `demand` jobs a second and obey the pressure; workers do `speed` a second. */
function runPressure(seed: number, hours: number) {
  const random = seededRandom(seed);
  const waiting: { at: number; jobs: number }[] = [];
  let pressure: Pressure = { level: "none", since: 0 };
  let depth = 0;
  let speed = 2 + random.next();
  let demand = speed * (0.3 + random.next() * 4);
  const changes: { at: number; level: string }[] = [];
  const delays: number[] = [];
  for (let now = 0; now < hours * 3_600; now += 5) {
    // The world changes now and then: workers come and go, and so does what is wanted of them.
    if (random.next() < 0.002) speed = 2 + random.next();
    if (random.next() < 0.002) demand = speed * (0.3 + random.next() * 4);
    const made = 5 * demand * rateMultiplierOf(pressure.level) * (0.5 + random.next());
    waiting.push({ at: now, jobs: made });
    depth += made;
    let room = 5 * speed * (0.8 + 0.4 * random.next());
    while (room > 0 && waiting.length > 0) {
      const first = waiting[0]!;
      const done = Math.min(room, first.jobs);
      first.jobs -= done;
      room -= done;
      depth -= done;
      if (first.jobs <= 1e-9) waiting.shift();
    }
    const delaySeconds = waiting.length === 0 ? 0 : now - waiting[0]!.at;
    const next = nextPressure(now, pressure, { depth: Math.max(0, depth), delaySeconds }, policy);
    if (next.level !== pressure.level) changes.push({ at: now, level: next.level });
    pressure = next;
    delays.push(delaySeconds);
  }
  return { changes, delays, depth };
}

test("pressure holds the delay where it should be, and does not flutter", () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const { changes, delays } = runPressure(seed, 10);
    const sorted = delays.toSorted((a, b) => a - b);
    // The marks are held: what waits stays under the one where producers come to a stop, but for moments.
    expect(sorted[Math.floor(sorted.length * 0.99)]!, `seed ${seed}: p99 of the delay`).toBeLessThanOrEqual(
      policy.stop.delaySeconds,
    );
    // With one world for hours, it would settle into a slow breathing between two levels at most; never faster than it may.
    expect(changes.length / 10, `seed ${seed}: changes an hour`).toBeLessThanOrEqual(30);
    for (const [i, change] of changes.entries()) {
      const before = changes[i - 1];
      const rank = (level: string) => ["none", "soft", "hard", "stop"].indexOf(level);
      if (before !== undefined && rank(change.level) < rank(before.level))
        expect(change.at - before.at, `seed ${seed}`).toBeGreaterThanOrEqual(policy.holdSeconds);
    }
  }
});
