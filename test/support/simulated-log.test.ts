import { expect, test } from "vitest";
import { systemClock, virtualClock } from "../../src/kernel/index.ts";
import { replicatedLogContract } from "../../src/router/replicated-log.contract.ts";
import { patience } from "./patience.ts";
import { type AppendFate, simulatedLog } from "./simulated-log.ts";
import { driver } from "./virtual-time.ts";

replicatedLogContract("a simulated log", async () => {
  // By the real clock: on a busy machine an answer takes its time.
  const log = simulatedLog({ clock: systemClock(), maxBytes: 10_000, answerMs: patience(500) });
  let isSilent = false;
  return {
    connect: async () => log.connect(() => isSilent),
    silence: async () => {
      isSilent = true;
      return async () => {
        isSilent = false;
        log.wakeAll();
      };
    },
  };
});

const entry = (id: string) => ({ id, bytes: Buffer.from(id) });

const suffering = (...fates: AppendFate[]) => {
  const clock = virtualClock();
  const log = simulatedLog({ clock, fateOf: () => fates.shift() ?? { toMs: 0, backMs: 0, fate: "answered" } });
  return { log, run: driver(clock), way: log.connect() };
};

test("an append that is lost, late or unanswered is unknown to whoever sent it", async () => {
  const { log, run, way } = suffering(
    { toMs: 0, backMs: 0, fate: "lost" },
    { toMs: 0, backMs: 0, fate: "stored, unanswered" },
    { toMs: 5_000, backMs: 0, fate: "answered" },
  );
  expect(await run(way.append(entry("a"), 0))).toMatchObject({ outcome: "unknown" });
  expect(log.last()).toBe(0);
  expect(await run(way.append(entry("b"), 0))).toMatchObject({ outcome: "unknown" });
  expect(log.last()).toBe(1);
  expect(await run(way.append(entry("b"), 0))).toMatchObject({ outcome: "unknown" });
  expect(log.last()).toBe(1);
});

test("once ids are forgotten a repeat is refused, and a rolled back log takes other entries under old numbers", async () => {
  const { log, run, way } = suffering();
  await run(way.append(entry("a"), 0));
  await run(way.append(entry("b"), 1));
  log.forgetIds();
  expect(await run(way.append(entry("b"), 1))).toMatchObject({ outcome: "refused", last: 2 });
  log.rollBack(1);
  expect(await run(way.append(entry("c"), 1))).toEqual({ outcome: "accepted", seq: 2 });
});
