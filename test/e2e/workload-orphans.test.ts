/** kill -9 of a worker, of its guardian, and of both in turn: no process of a program is left, however it hides. */
import { expect, onTestFinished, test, vi } from "vitest";
import { PATIENT, patience } from "../support/patience.ts";
import { type Owned, owned, type Started } from "../support/process.ts";
import { alive } from "../unit/workloads/bench.ts";

const WORKER = new URL("./parts/workload-worker.ts", import.meta.url);

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const setUp = (options: object, own: Owned = owned(onTestFinished), round = 0) => {
  const mark = `ringrift-orphans-${process.pid}-${Math.floor(performance.now())}-${round}`;
  const worker = own.startNode(WORKER, [JSON.stringify(options)], { env: { MARK: mark } });
  // The worker itself carries the mark too.
  const programs = () => alive(mark).filter((pid) => pid !== worker.pid);
  return { worker, programs };
};

const guardianOf = async (worker: Started, after = -1) => {
  const { match, index } = await worker.waitForLine(/^guardian (\d+)$/, { after });
  return { pid: Number(match[1]), index };
};

test("a worker that is killed takes all of its program with it, and its guardian goes last", async () => {
  const { worker, programs } = setUp({ programs: ["deaf-spreads"] });
  const guardian = await guardianOf(worker);
  await worker.waitForLine(/^running/);
  // The program, one in its group, one in a session of its own, one whose parent is gone.
  expect(programs()).toHaveLength(4);
  await worker.killNow();
  await vi.waitUntil(() => programs().length === 0 && !isAlive(guardian.pid), PATIENT);
});

test("a guardian that is killed is replaced, and the new one knows the program", async () => {
  const { worker, programs } = setUp({ programs: ["deaf-spreads"] });
  const first = await guardianOf(worker);
  await worker.waitForLine(/^running/);
  process.kill(first.pid, "SIGKILL");
  const second = await guardianOf(worker, first.index);
  expect(programs()).toHaveLength(4);
  await worker.killNow();
  await vi.waitUntil(() => programs().length === 0 && !isAlive(second.pid), PATIENT);
});

test("however early a worker dies, nothing that it started stays", async () => {
  const own = owned(onTestFinished);
  for (let dieAfterMs = 10; dieAfterMs < 400; dieAfterMs += 45) {
    const { worker, programs } = setUp({ programs: ["deaf-spreads"], die_after_ms: dieAfterMs }, own, dieAfterMs);
    expect(await worker.exited).toMatchObject({ signal: "SIGKILL" });
    await vi.waitUntil(() => programs().length === 0, PATIENT);
  }
});

test("a worker that was stopped longer than a program may be silent reads before it judges", async () => {
  const silenceMs = patience(1_000);
  const { worker } = setUp({ programs: ["deaf-to-cancel"], limits: { silence_seconds: silenceMs / 1_000 } });
  await worker.waitForLine(/^running/);
  worker.kill("SIGSTOP");
  const stoppedMs = performance.now();
  await vi.waitUntil(() => performance.now() - stoppedMs > 2 * silenceMs, PATIENT);
  const before = worker.lines.length;
  worker.kill("SIGCONT");
  // More words than a pipe can hold were said meanwhile and later; none of them was an outcome.
  await vi.waitUntil(() => worker.lines.length > before + 20, PATIENT);
  expect(worker.lines.filter((line) => line.startsWith("outcome"))).toEqual([]);
});

test("lines without end, floods and huge logs leave the worker's memory where it was", async () => {
  const logs = Array.from({ length: 4 }, () => "huge-stderr");
  const programs = ["long-line", "long-line", ...logs, "flood", "good"];
  const { worker } = setUp({ programs, limits: { log_bytes: 1_000_000 } });
  await worker.exited;
  const outcomes = worker.lines.filter((line) => line.startsWith("outcome"));
  expect(outcomes.map((line) => line.trimEnd())).toEqual([
    "outcome long-line failed line_too_long",
    "outcome long-line failed line_too_long",
    ...logs.map(() => "outcome huge-stderr completed"),
    "outcome flood failed too_many_messages",
    "outcome good completed",
  ]);
  const mib = (word: string) => Number(worker.lines.find((line) => line.startsWith(word))!.split(" ")[1]);
  // 200 MB of lines and 160 MB of log went by; what the collector has not yet freed of them is far less.
  expect(mib("peak") - mib("begin")).toBeLessThan(160);
});
