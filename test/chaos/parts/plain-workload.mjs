// A program of the workload protocol without a helper, so that a child starts in a few hundredths of a second. Each job
// works for `ms`, adds a line to `note`, and, if it is self-play, makes a file.
import { createHash } from "node:crypto";
import { appendFileSync, closeSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
let working;

const finish = ({ job_id, kind, output_folder, seed, parameters }) => {
  if (kind === "selfplay") {
    const text = `${seed}\n`.repeat(100);
    const path = join(output_folder, "games.txt");
    const file = openSync(`${path}.new`, "w");
    writeSync(file, text);
    fsyncSync(file);
    closeSync(file);
    renameSync(`${path}.new`, path);
    const sha256 = createHash("sha256").update(text).digest("hex");
    say({ type: "artifact", job_id, path: "games.txt", sha256, bytes: text.length, kind: "games", rows: 100 });
  }
  if (parameters.note) appendFileSync(parameters.note, `${job_id}\n`);
  say({ type: "done", job_id, status: "ok", metrics: { games: 1 } });
};

const hear = {
  job(job) {
    const timer = setTimeout(() => {
      working = undefined;
      finish(job);
    }, job.parameters.ms ?? 0);
    working = { job_id: job.job_id, timer };
  },
  cancel({ job_id }) {
    if (working?.job_id !== job_id) return;
    clearTimeout(working.timer);
    working = undefined;
    say({ type: "done", job_id, status: "preempted" });
  },
  shutdown: () => process.exit(0),
};
createInterface({ input: process.stdin })
  .on("line", (line) => {
    const message = JSON.parse(line);
    hear[message.type]?.(message);
  })
  .on("close", () => process.exit(0));
say({ type: "hello", protocol: 1, name: "plain", version: "1", kinds: ["selfplay", "evaluation"] });
