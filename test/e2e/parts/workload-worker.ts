/**
 * A worker that runs jobs on a program of `misbehaving.mjs`, and says what its parents need to know of it: pids, progress,
 * outcomes, and how much memory it took. With `die_after_ms` it kills itself so long after the first job was given.
 */
import { readFileSync } from "node:fs";
import { openBench } from "../../unit/workloads/bench.ts";

const {
  programs,
  limits = {},
  die_after_ms: dieAfterMs,
} = JSON.parse(process.argv[2]!) as {
  programs: readonly string[];
  limits?: Record<string, number>;
  die_after_ms?: number;
};
const bench = openBench();
const say = (text: string) => process.stdout.write(`${text}\n`);
const peakMib = () =>
  Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? 0) / 1_024);

let guardian: number | undefined;
setInterval(() => {
  const { pid } = bench.edges.guardian;
  if (pid !== undefined && pid !== guardian) {
    guardian = pid;
    say(`guardian ${pid}`);
  }
}, 5);

say(`begin ${peakMib()}`);
if (dieAfterMs !== undefined) setTimeout(() => process.kill(process.pid, "SIGKILL"), dieAfterMs);
for (const how of programs) {
  const runner = bench.runner(how, { env_allow: ["MARK"], limits });
  const outcome = await runner.runJob(bench.job(), { progress: () => say(`running ${runner.child?.pid}`) });
  say(`outcome ${how} ${outcome.status} ${outcome.error?.code ?? ""}`);
  await runner.close();
}
say(`peak ${peakMib()}`);
await bench.close();
process.exit(0);
