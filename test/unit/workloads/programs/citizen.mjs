/** A program that keeps all rules but the ones named by its arguments. */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const breaks = new Set(process.argv.slice(2));
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const long = breaks.has("no-long") ? {} : { long_parameters: { seconds: 1_000 } };
let running;

const finish = (job, status) => {
  clearInterval(running?.timer);
  running = undefined;
  say({ type: "done", job_id: job.job_id, status });
  // What comes until it has gone is nobody's, however long that takes.
  if (breaks.has("leaves")) {
    lines.removeAllListeners("line");
    setTimeout(() => process.exit(0), 20);
  }
};

const work = (job) => {
  const text = breaks.has("random") ? String(Math.random()) : `seed ${job.seed}`;
  writeFileSync(join(job.output_folder, "out.txt"), text);
  if (breaks.has("strays")) writeFileSync(join(job.output_folder, "..", "stray.txt"), text);
  if (breaks.has("changes-input")) writeFileSync(job.inputs[0].path, text);
  const sha256 = createHash("sha256").update(text).digest("hex");
  say({ type: "artifact", job_id: job.job_id, path: "out.txt", sha256, bytes: text.length, kind: "samples" });
  finish(job, "ok");
};

const take = (job) => {
  if (job.kind !== "selfplay" && !breaks.has("any-kind")) {
    const error = { code: "bad_input", message: `no ${job.kind} here`, retryable: breaks.has("retryable") };
    return say({ type: "done", job_id: job.job_id, status: "error", error });
  }
  if (breaks.has("fails")) throw new Error("it does not work");
  if (!breaks.has("no-progress")) say({ type: "progress", job_id: job.job_id, done: 0 });
  const seconds = job.parameters.seconds ?? 0;
  if (seconds === 0) return work(job);
  const timer = setInterval(() => say({ type: "progress", job_id: job.job_id, done: 1 }), 50);
  running = { job, timer };
};

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    process.exit(breaks.has("exit-1") ? 1 : 64);
  }
  if (message.type === "job") take(message);
  else if (message.type === "cancel" && running && !breaks.has("deaf")) finish(running.job, "preempted");
  else if (message.type === "shutdown" && !breaks.has("stays")) process.exit(0);
});
lines.on("close", () => breaks.has("stays") || process.exit(0));
if (breaks.has("stays")) setInterval(() => {}, 1_000);

say({
  type: "hello",
  protocol: 1,
  name: "citizen",
  version: "1",
  kinds: ["selfplay"],
  capabilities: { deterministic: !breaks.has("no-promise") },
  examples: [{ kind: "selfplay", config_key: "hex8_2p", ...long, inputs: [{ name: "model", path: process.argv[1] }] }],
});
