/** A program that does a random thing after the other, by the seed of its job; some of them are even right. */
import { createHash } from "node:crypto";
import { writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const write = (text) => {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== "EAGAIN") process.exit(1);
    }
  }
};
const say = (message) => write(`${JSON.stringify(message)}\n`);

const randomOf = (seed) => {
  let state = (seed + 1) * 7_919;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
};

const actions = (job, pick) => {
  const about = { job_id: job.job_id };
  const artifact = (path, text, said = text) => {
    writeFileSync(join(job.output_folder, path), text);
    const sha256 = createHash("sha256").update(said).digest("hex");
    say({ type: "artifact", ...about, path, sha256, bytes: text.length, kind: "samples" });
  };
  const right = [
    () => say({ type: "progress", ...about, done: pick(100) }),
    () => artifact(`${pick(1_000_000)}.txt`, "x".repeat(pick(10_000))),
    () => say({ type: "pairs", ...about, candidate: "a", opponent: "b", blocks: [{ opening: 1, scores: [1, 0] }] }),
    () => process.stderr.write("a word to the log\n"),
    () => write("\n\n"),
  ];
  const wrong = [
    () => write("garbage\n"),
    () => write('{"type":"progress"'),
    () => write(Buffer.from([0xff, 0xfe, 0x0a])),
    () => say({ type: "done", job_id: "another", status: "ok" }),
    () => say({ type: "done", ...about, status: "perhaps" }),
    () => say([]),
    () => say({ type: "progress", ...about, done: -1 }),
    () => artifact("wrong.txt", "right", "wrong"),
    () => say({ type: "artifact", ...about, path: "../x", sha256: "0".repeat(64), bytes: 0, kind: "samples" }),
    () => process.exit(pick(80)),
    () => process.kill(process.pid, ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGABRT"][pick(4)]),
  ];
  const last = [
    () => say({ type: "done", ...about, status: "ok", metrics: { n: pick(9) } }),
    () => say({ type: "done", ...about, status: "ok" }),
    () => say({ type: "done", ...about, status: "error" }),
    () => say({ type: "done", ...about, status: "preempted" }),
    () => {},
  ];
  const of = (list) => list[pick(list.length)];
  return Array.from({ length: pick(8) }, () => (pick(12) === 0 ? of(wrong) : of(right))).concat(of(last));
};

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const message = JSON.parse(line);
    if (message.type === "shutdown") process.exit(0);
    if (message.type === "job") for (const act of actions(message, randomOf(message.seed))) act();
  })
  .on("close", () => process.exit(0));
say({ type: "hello", protocol: 1, name: "fuzzing", version: "1", kinds: ["selfplay"] });
