/** A program that breaks one rule, named by its argument; in all else it keeps the protocol. Job parameter `good` makes it behave. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, existsSync, mkdirSync, symlinkSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [how = "good", ...rest] = process.argv.slice(2);
// Straight to the descriptor, so that what one call says arrives together.
const say = (...messages) => {
  const text = Buffer.from(messages.map((each) => `${JSON.stringify(each)}\n`).join(""));
  for (let at = 0; at < text.length; ) {
    try {
      at += writeSync(1, text, at);
    } catch (error) {
      if (error.code !== "EAGAIN") process.exit(1);
    }
  }
};
const hello = { type: "hello", protocol: 1, name: "misbehaving", version: "1", kinds: ["selfplay"] };
const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const MAKES_PIPES = "mkfifo";
const forever = () => setInterval(() => {}, 1_000);

const artifactOf = (job, path, text, more = {}) => ({
  type: "artifact",
  job_id: job.job_id,
  path,
  sha256: sha256(text),
  bytes: text.length,
  kind: "samples",
  ...more,
});
const done = (job) => ({ type: "done", job_id: job.job_id, status: "ok" });

const behave = (job) => {
  writeFileSync(join(job.output_folder, "out.txt"), "good");
  say({ type: "progress", job_id: job.job_id, done: 1 }, artifactOf(job, "out.txt", "good", { rows: 1 }), done(job));
};

/** What each does with a job. */
const jobs = {
  good: behave,
  "job-garbage": () => writeSync(1, "Traceback (most recent call last):\n"),
  "long-line": () => {
    const piece = Buffer.alloc(1 << 20, "x");
    // 100 MB without a line break, for as long as anybody reads.
    for (let i = 0; i < 100; ) {
      try {
        writeSync(1, piece);
        i += 1;
      } catch (error) {
        if (error.code !== "EAGAIN") process.exit(1);
      }
    }
  },
  flood: (job) => {
    for (let i = 0; i < 100_000; i += 1) say({ type: "progress", job_id: job.job_id, done: i });
  },
  "wrong-hash": (job) => {
    writeFileSync(join(job.output_folder, "out.txt"), "good");
    say(artifactOf(job, "out.txt", "good", { sha256: sha256("evil") }), done(job));
  },
  "wrong-size": (job) => {
    writeFileSync(join(job.output_folder, "out.txt"), "good");
    say(artifactOf(job, "out.txt", "good", { bytes: 5 }), done(job));
  },
  "missing-file": (job) => say(artifactOf(job, "none.txt", "good"), done(job)),
  "path-absolute": (job) => {
    writeFileSync(join(job.scratch_folder, "out.txt"), "good");
    say(artifactOf(job, join(job.scratch_folder, "out.txt"), "good"), done(job));
  },
  "path-dots": (job) => {
    writeFileSync(join(job.output_folder, "..", "out.txt"), "good");
    say(artifactOf(job, "../out.txt", "good"), done(job));
  },
  "path-link": (job) => {
    writeFileSync(join(job.scratch_folder, "out.txt"), "good");
    symlinkSync(join(job.scratch_folder, "out.txt"), join(job.output_folder, "link.txt"));
    say(artifactOf(job, "link.txt", "good"), done(job));
  },
  "path-linked-folder": (job) => {
    writeFileSync(join(job.scratch_folder, "out.txt"), "good");
    symlinkSync(job.scratch_folder, join(job.output_folder, "folder"));
    say(artifactOf(job, "folder/out.txt", "good"), done(job));
  },
  "path-folder": (job) => {
    mkdirSync(join(job.output_folder, "folder"));
    say(artifactOf(job, "folder", ""), done(job));
  },
  "path-pipe": (job) =>
    spawn(MAKES_PIPES, [join(job.output_folder, "pipe")]).on("exit", () => say(artifactOf(job, "pipe", ""), done(job))),
  "artifact-twice": (job) => {
    writeFileSync(join(job.output_folder, "out.txt"), "good");
    say(artifactOf(job, "out.txt", "good"), artifactOf(job, "out.txt", "good"), done(job));
  },
  "many-artifacts": (job) => {
    for (let i = 0; i < 20; i += 1) {
      writeFileSync(join(job.output_folder, `${i}.txt`), "good");
      say(artifactOf(job, `${i}.txt`, "good"));
    }
    say(done(job));
  },
  "large-artifact": (job) => {
    const text = "x".repeat(200_000);
    writeFileSync(join(job.output_folder, "out.txt"), text);
    say(artifactOf(job, "out.txt", text), done(job));
  },
  silent: forever,
  "silent-and-deaf": () => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => {});
    forever();
  },
  "deaf-to-cancel": (job) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => {});
    setInterval(() => say({ type: "progress", job_id: job.job_id, done: 0 }), 20);
  },
  "huge-stderr": (job) => {
    const piece = Buffer.alloc(1 << 20, "log log log log\n");
    for (let i = 0; i < 40; ) {
      try {
        writeSync(2, piece);
        i += 1;
      } catch (error) {
        if (error.code !== "EAGAIN") throw error;
      }
    }
    writeSync(2, "the last words\n");
    behave(job);
  },
  "closes-output": () => {
    closeSync(1);
    forever();
  },
  "exit-0": () => process.exit(0),
  "exit-1": () => {
    writeSync(2, "something broke\n");
    process.exit(1);
  },
  "exit-64": () => process.exit(64),
  "exit-75": () => process.exit(75),
  "kill-self": () => process.kill(process.pid, "SIGKILL"),
  "many-children": (job) => {
    for (let i = 0; i < 30; i += 1) spawn("sleep", ["1000"], { stdio: "ignore" });
    setInterval(() => say({ type: "progress", job_id: job.job_id, done: 0 }), 20);
  },
  // In its group, in a session of its own, and an orphan of a process that is gone: none of them hears SIGTERM or sees our end.
  "deaf-spreads": (job) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => {});
    const deaf = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)';
    spawn(process.execPath, ["-e", deaf], { stdio: "ignore" });
    spawn(process.execPath, ["-e", deaf], { stdio: "ignore", detached: true });
    const orphan = `require("node:child_process").spawn("sleep", ["1000"], { stdio: "ignore", detached: true }).unref()`;
    spawn(process.execPath, ["-e", orphan], { stdio: "ignore", detached: true }).on("exit", () =>
      say({ type: "progress", job_id: job.job_id, done: 1 }),
    );
  },
  "leaves-children": (job) => {
    spawn("sleep", ["1000"], { stdio: "inherit" });
    // A session of its own, and nobody's child once we are gone.
    spawn("sleep", ["1000"], { stdio: "ignore", detached: true }).unref();
    setTimeout(() => {
      behave(job);
      process.exit(0);
    }, 100);
  },
  "done-twice": (job) => say(done(job), done(job)),
  "artifact-after-done": (job) => {
    writeFileSync(join(job.output_folder, "out.txt"), "good");
    say(done(job), artifactOf(job, "out.txt", "good"));
  },
  "late-word": (job) => {
    behave(job);
    // Only when the test has seen the end of the job: read together with it, it would be another fault.
    const look = setInterval(() => {
      if (!existsSync(job.parameters.speak)) return;
      clearInterval(look);
      say(done(job));
    }, 10);
  },
  "other-job": (job) => say({ ...done(job), job_id: "job-of-somebody-else" }),
  "hello-twice": () => say(hello),
  "unknown-message": (job) => say({ type: "dance", job_id: job.job_id }),
  "error-retryable": (job) =>
    say({ ...done(job), status: "error", error: { code: "gpu_busy", message: "the GPU is busy", retryable: true } }),
  "error-for-ever": (job) =>
    say({
      ...done(job),
      status: "error",
      error: { code: "no_such_board", message: "what is hex99?", retryable: false },
    }),
  "error-resource": (job) =>
    say({ ...done(job), status: "error", error: { code: "resource", message: "disk full", retryable: true } }),
  "gives-back": (job) => say({ ...done(job), status: "preempted" }),
  "closes-input-after": (job) => {
    process.stdin.destroy();
    closeSync(0);
    behave(job);
    forever();
  },
  environment: (job) =>
    say({
      ...done(job),
      metrics: {
        secret: process.env.SECRET ? 1 : 0,
        allowed: process.env.ALLOWED ? 1 : 0,
        set: Number(process.env.SET ?? 0),
      },
    }),
};

/** What each does at its start, instead of saying hello. */
const starts = {
  "no-hello": forever,
  garbage: () => writeSync(1, "Loading model... 100%\n") && forever(),
  "exit-early": () => process.exit(3),
  "wrong-version": () => say({ ...hello, protocol: 99, protocol_least: 98 }) || forever(),
  "future-version": () => say({ ...hello, protocol: 99, protocol_least: 1, surprise: true }) || listen(),
  "other-kinds": () => say({ ...hello, kinds: ["knitting"] }) || forever(),
  "job-first": () => say({ type: "progress", job_id: "x", done: 1 }) || forever(),
  "closes-input": () => {
    closeSync(0);
    say(hello);
    forever();
  },
};

function listen() {
  let last;
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const message = JSON.parse(line);
    if (message.type === "shutdown") {
      if (how === "last-word") say(done(last));
      process.exit(0);
    }
    if (message.type === "job") last = message;
    if (message.type === "job") (message.parameters.good ? behave : (jobs[how] ?? behave))(message, rest);
  });
  lines.on("close", () => how.includes("deaf") || how === "closes-input-after" || process.exit(0));
}

if (starts[how]) starts[how]();
else {
  say(hello);
  listen();
}
