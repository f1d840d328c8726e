/**
 * A program of the workload protocol for tests. Its parameters say how it behaves: `ms` works so long (`again_ms` if it is
 * tried again), `until` works until this file is there, `stubborn` does not hear cancel, `spawn` starts a child of its own
 * that outlives the job, `score` tells how so many games ended, `note` is a file to which it adds a line for each job that it begins,
 * `gpus` one to which it adds which accelerators it sees when it begins and when it ends. A machine can be ill: until the file that
 * TINY_LIES_UNTIL names is there the program tells what it did not see, and until that of TINY_DAWDLES_UNTIL it takes much longer.
 */
import { spawn } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import { sleep, systemClock } from "../../../src/kernel/index.ts";
import { serveProcess } from "../../../src/workloads/process/index.ts";

const clock = systemClock();
const isIll = (until: string | undefined): boolean => until !== undefined && !existsSync(until);
const DAWDLES_MS = 1_500;
const TELLS_EVERY_MS = 100;

await serveProcess({
  name: "tiny",
  version: "1",
  kinds: Object.fromEntries(
    ["selfplay", "evaluation", "validation"].map((kind) => [
      kind,
      async (job) => {
        const {
          ms: firstMs = 0,
          again_ms = firstMs,
          stubborn = false,
          spawn: starts = false,
          note,
          until: gate,
          gpus,
          score,
        } = job.message.parameters as Record<string, never>;
        if (typeof note === "string") appendFileSync(note, `${job.message.job_id} ${process.pid}\n`);
        const tell = (what: string) => {
          if (typeof gpus === "string")
            appendFileSync(gpus, `${what} ${process.env.CUDA_VISIBLE_DEVICES} ${process.pid}\n`);
        };
        tell("begins");
        if (starts) spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" }).unref();
        if (isIll(process.env.TINY_DAWDLES_UNTIL)) await sleep(clock, DAWDLES_MS, job.signal);
        const ms = job.message.attempt > 1 ? again_ms : firstMs;
        const until = clock.monotonic() + Number(ms);
        while (clock.monotonic() < until) {
          job.progress(1 - (until - clock.monotonic()) / Number(ms), { total: 1 });
          const restMs = Math.min(TELLS_EVERY_MS, Math.max(0, until - clock.monotonic()));
          if (stubborn) await sleep(clock, restMs);
          else await sleep(clock, restMs, job.signal);
        }
        while (typeof gate === "string" && !existsSync(gate)) await sleep(clock, 20, job.signal);
        if (kind === "selfplay") {
          const bytes = Buffer.from(`${job.message.job_id} ${job.message.seed}\n`);
          await job.writeArtifact("games.txt", bytes, { kind: "games", rows: 1 });
        }
        tell("ends");
        if (typeof score !== "number") return { games: 1 };
        // Of as many games half are won; whoever lies wins them all.
        const wins = isIll(process.env.TINY_LIES_UNTIL) ? score : score / 2;
        return { games: score, wins, losses: score - wins };
      },
    ]),
  ),
});
