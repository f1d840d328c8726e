import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { type Clock, sleep } from "../../kernel/index.ts";
import { decimal, lengthOfTime, negative, type Shell } from "../../surfaces/cli/index.ts";
import { readSettings } from "../settings.ts";
import { frame, type Rates, type Screen, statusLine, summaryLines } from "./demo-view.ts";
import { CAUSE } from "./messages.ts";
import { type Proof, proofOf } from "./proof.ts";
import { createStage, type Snapshot, type Stage, startMain } from "./stage.ts";

const PIPED_MS = 15_000;
/** It is killed soon, and then when it has caught up and lived for a while; where that takes too long, all the same. */
const FIRST_LIFE_MS = 2_000;
const LIVES_LEAST_MS = 3_000;
const LIVES_MOST_MS = 12_000;
const CAUGHT_UP = 20;
const STAYS_DEAD_MS = 800;
const LETTER_SHOWN_MS = 1_200;
const FRAME_EVERY_MS = 200;
const LINE_EVERY_MS = 1_000;
const STOP_LIMIT_MS = 10_000;
const SETTLE_LIMIT_MS = 30_000;
const LOOK_EVERY_MS = 20;

/** Ends the wait early, without an error, when the signal aborts. */
const pause = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  sleep(clock, ms, signal).catch(() => undefined);

/** Waits for something to become true, looking again and again. */
async function until(clock: Clock, limitMs: number, signal: AbortSignal, holds: () => boolean): Promise<void> {
  const end = clock.monotonic() + limitMs;
  while (!signal.aborted && !holds() && clock.monotonic() < end) await pause(clock, LOOK_EVERY_MS, signal);
}

const never = new AbortController().signal;

/** Kills the one consumer from time to time, as the operating system would, and lets it come back. */
async function killAgainAndAgain(stage: Stage, clock: Clock, signal: AbortSignal): Promise<void> {
  const { pipeline } = stage;
  const caughtUp = () => stage.behind("data_pipeline") < CAUGHT_UP;
  for (let first = true; !signal.aborted; first = false) {
    await pause(clock, first ? FIRST_LIFE_MS : LIVES_LEAST_MS, signal);
    if (!first) await until(clock, LIVES_MOST_MS - LIVES_LEAST_MS, signal, caughtUp);
    if (signal.aborted) return;
    await pipeline.kill();
    await pause(clock, STAYS_DEAD_MS, signal);
    if (!signal.aborted) pipeline.start();
  }
}

/** Sees to dead letters as an operator would: repairs the cause, then sends the letter back. */
async function seeToLetters(stage: Stage, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(clock, LOOK_EVERY_MS, signal);
    for (const letter of stage.pendingLetters()) {
      const age = clock.now() - letter.last_failed_at;
      if (age < LETTER_SHOWN_MS) continue;
      stage.scoreboard.tell({ type: "repair", eventId: letter.event_id });
      await stage.main.router.deadLetters.retryAll({ filter: { id: letter.id }, actor: "demo" });
    }
  }
}

const ratesBetween = (a: Snapshot, b: Snapshot): Rates => {
  const span = Math.max(1, b.elapsedMs - a.elapsedMs) / 1_000;
  const done = (s: Snapshot, i: number) => s.standings[i]?.done ?? 0;
  return {
    published: (b.published - a.published) / span,
    data_pipeline: Math.max(0, (done(b, 0) - done(a, 0)) / span),
    scoreboard: Math.max(0, (done(b, 1) - done(a, 1)) / span),
  };
};

/** Draws what happens until the signal aborts: a picture in place on a terminal, else a line a second. */
async function draw(stage: Stage, shell: Shell, signal: AbortSignal): Promise<void> {
  const { clock, io } = shell;
  const live = io.isTerminal && !shell.json;
  const everyMs = live ? FRAME_EVERY_MS : LINE_EVERY_MS;
  const looks: Snapshot[] = [stage.snapshot()];
  const about = { pid: process.pid, port: stage.main.api.port, dataDir: stage.main.settings.dataDir };
  // The first picture is drawn over the line that said it is coming.
  let height = live ? 1 : 0;
  while (!signal.aborted && stage.crash === undefined) {
    await pause(clock, everyMs, signal);
    const now = stage.snapshot();
    looks.push(now);
    const oldest = looks.length > LINE_EVERY_MS / everyMs + 1 ? looks.shift()! : looks[0]!;
    const rates = ratesBetween(oldest, now);
    if (shell.json) {
      const { newestLetter: _, last: __, ...counts } = now;
      shell.print({ status: "running", ...counts });
    } else if (!live) shell.say(statusLine(now, rates));
    else {
      const lines = frame(now, rates, about, screenOf(shell));
      // Ctrl-C leaves its mark where the cursor stands: begin at the left edge.
      io.out(`\r\u001b[${height}A${lines.map((line) => `\u001b[2K${line}\n`).join("")}\u001b[J`);
      height = lines.length;
    }
  }
}

const screenOf = (shell: Shell): Screen => ({
  paint: shell.paint,
  width: Math.min(shell.width, 120),
});

/** Lets everything come to rest, asks each process for its last word, and does the sums. */
async function settleAndProve(stage: Stage, clock: Clock): Promise<Proof> {
  const { publisher, pipeline, scoreboard } = stage;
  const { count: acknowledged } = await publisher.stop(STOP_LIMIT_MS);
  if (!pipeline.alive) pipeline.start();
  await until(clock, SETTLE_LIMIT_MS, never, () => stage.crash !== undefined || stage.settled());
  if (stage.crash !== undefined) throw stage.crash;
  const { elapsedMs } = stage.snapshot();
  const { byType } = await scoreboard.stop(STOP_LIMIT_MS);
  await pipeline.stop(STOP_LIMIT_MS);
  const scoreboardReceived = Object.values(byType).reduce((sum, count) => sum + count, 0);
  return proofOf(stage, { acknowledged, scoreboardReceived, elapsedMs });
}

/** Plays until the signal aborts or the time is over; nothing comes of it when it was ended before it began. */
async function play(stage: Stage, shell: Shell, forMs: number | undefined): Promise<Proof | undefined> {
  const { clock, io } = shell;
  const { publisher, pipeline, scoreboard } = stage;
  const time = new AbortController();
  const over = AbortSignal.any([io.signal, time.signal]);
  const resting = new AbortController();
  const beside: Promise<void>[] = [];
  try {
    if (io.isTerminal && !shell.json) shell.say(shell.paint.dim("starting a publisher and two consumers ..."));
    for (const consumer of [scoreboard, pipeline]) consumer.start();
    await until(clock, SETTLE_LIMIT_MS, over, () => stage.crash !== undefined || stage.settled());
    publisher.start();
    await until(clock, SETTLE_LIMIT_MS, over, () => stage.crash !== undefined || stage.committed(CAUSE) > 0);
    if (over.aborted) return undefined;
    stage.begin();
    if (forMs !== undefined) clock.after(forMs, () => time.abort());
    beside.push(killAgainAndAgain(stage, clock, over), seeToLetters(stage, clock, resting.signal));
    await draw(stage, shell, over);
    if (stage.crash !== undefined) throw stage.crash;
    time.abort();
    await beside[0];
    return await settleAndProve(stage, clock);
  } finally {
    time.abort();
    resting.abort();
    await Promise.allSettled(beside);
    await Promise.all([publisher, pipeline, scoreboard].map((member) => member.kill()));
  }
}

interface DemoOptions {
  readonly for?: number;
  readonly rate: number;
}

/** `ringrift demo`: events crossing processes, live, with processes that are killed and letters that die and recover. */
export function registerDemo(program: Command, shell: Shell): void {
  program
    .command("demo")
    .description(
      "watch events cross processes while one of them is killed again and again; the sums at the end prove it",
    )
    .option("--for <time>", "how long, such as 20s; until Ctrl-C on a terminal, else 15s", lengthOfTime("--for"))
    .option("--rate <n>", "events that are published a second", decimal("--rate", 1, 5_000), 50)
    .action(async (options: DemoOptions) => {
      const { io, clock } = shell;
      const given = program.opts<{ dataDir?: string }>().dataDir;
      const dataDir = given ?? mkdtempSync(join(tmpdir(), "ringrift-demo-"));
      const settings = readSettings(io.env, io.cwd, { dataDir });
      try {
        const main = await startMain(settings, clock);
        let proof: Proof | undefined;
        try {
          const stage = createStage(main, clock, options.rate);
          proof = await play(stage, shell, options.for ?? (io.isTerminal ? undefined : PIPED_MS));
        } finally {
          await main.shutdown();
        }
        if (proof === undefined) return;
        if (shell.json) shell.print({ status: "ended", ...proof });
        else for (const line of summaryLines(proof, screenOf(shell))) shell.say(line);
        if (!proof.ok) throw negative();
      } finally {
        if (given === undefined) rmSync(dataDir, { recursive: true, force: true });
      }
    });
}
