import { expect, onTestFinished, test } from "vitest";
import { memoryWriter } from "../../../src/adapters/sqlite/in-thread-store.ts";
import { beginGeneration, openReplica, type Replica } from "../../../src/adapters/sqlite/replica/replica.ts";
import { replicaPort } from "../../../src/adapters/sqlite/replica/term-writer.ts";
import { startLeadership } from "../../../src/cluster/leadership/leadership.ts";
import { readStepDown } from "../../../src/cluster/leadership/members.ts";
import { silentLog, systemClock } from "../../../src/kernel/index.ts";
import { until } from "../../support/patience.ts";
import { simulatedLog } from "../../support/simulated-log.ts";

const CLUSTER = { cluster: "games", generation: 1 };
const timing = { leaseMs: 120_000, marginMs: 1_000, beatMs: 10, headStartMs: 0 };

function member(
  log: ReturnType<typeof simulatedLog>,
  name: string,
  replica = openReplica(memoryWriter([]).db, CLUSTER),
) {
  let sent = 0;
  const nextId = () => {
    sent += 1;
    return `${name}.${sent}`;
  };
  const way = log.connect();
  const port = replicaPort({ replica, modules: [], log: way, clock: systemClock(), nextId });
  return { replica, port, way };
}

function leading(log: ReturnType<typeof simulatedLog>, name: string, leaseMs: number, before?: Replica) {
  const { replica, port, way } = member(log, name, before);
  let trustedUntil = () => 0;
  const life = startLeadership({
    ...{ replica: port, log: way, clock: systemClock(), logLines: silentLog(), boot: name, node: name },
    timing: { ...timing, leaseMs, marginMs: 1 },
    lead: async (term) => {
      trustedUntil = term.trustedUntil;
      return async () => {};
    },
  });
  onTestFinished(() => life.stop());
  return { replica, life, trustedUntil: () => trustedUntil() };
}

test("a leader whose entry finds another's in its place knows it for evidence, and may do nothing outside from then on", async () => {
  const log = simulatedLog({ clock: systemClock(), answerMs: 1_000 });
  const a = leading(log, "a", 300);
  await until(
    () => a.life.role() === "leader",
    () => "nobody leads",
  );
  const b = member(log, "b");
  // It does not wait for the lease, as one whose clock runs away would not.
  await until(
    async () => {
      b.replica.replay(log.entries().slice(b.replica.position().seq));
      const claimed = await b.port.claim({ ...CLUSTER, term: 2, boot: "b", node: "b" });
      return claimed.claim === "won";
    },
    () => "the log did not take another's term",
  );
  await until(
    () => a.life.refused() !== null,
    () => "the refused entry was not noticed",
  );
  const { seq } = b.replica.position();
  expect(a.life.refused()).toMatchObject({ term: 1, seq, by: "b", by_term: 2 });
  expect(a.trustedUntil()).toBe(0);
});

test("a term that is handed over says to whom and why, on every replica, also after a restart", async () => {
  const log = simulatedLog({ clock: systemClock(), answerMs: 1_000 });
  const a = leading(log, "a", 300);
  await until(
    () => a.life.role() === "leader",
    () => "nobody leads",
  );
  await a.life.stepDown("b", "upgrade");
  const b = member(log, "b");
  b.replica.replay(log.entries());
  const again = openReplica(b.replica.db, CLUSTER);
  const [newest] = again.terms(10).filter(({ term }) => term === 1);
  expect(readStepDown(newest!.stepDown!)).toEqual({ to: "b", reason: "upgrade" });
  expect(a.life.refused()).toBeNull();
});

test("one that was left behind when the cluster was begun anew is told to join, not that entries are gone", async () => {
  const newLog = () => simulatedLog({ clock: systemClock(), answerMs: 1_000 });
  const old = newLog();
  const a = member(old, "a");
  const b = member(old, "b");
  await a.port.claim({ ...CLUSTER, term: 1, boot: "a", node: "a" });
  b.replica.replay(old.entries());
  const lease = { trustedUntil: () => Number.POSITIVE_INFINITY, onAccepted() {} };
  const writer = a.port.open({ ...CLUSTER, term: 1, boot: "a", node: "a" }, lease);
  for (let i = 0; i < 3; i += 1) await writer.append("beat");
  await writer.end("its machine is thought to be lost");
  beginGeneration(b.replica.db);
  const anew = newLog();
  const survivor = member(anew, "b", openReplica(b.replica.db, { ...CLUSTER, generation: 2 }));
  await survivor.port.claim({ ...CLUSTER, generation: 2, term: 2, boot: "b", node: "b" });
  const { life } = leading(anew, "a", 50, a.replica);
  await expect(life.running).rejects.toMatchObject({ code: "LOG_BEGUN_ANEW" });
});
