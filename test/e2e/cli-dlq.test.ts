import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import { runCli } from "../../src/app/cli.ts";
import { readSettings } from "../../src/app/settings.ts";
import { seededRandom, silentLog, systemClock } from "../../src/kernel/index.ts";
import type { DeadLetter } from "../../src/router/index.ts";
import { connect } from "../../src/surfaces/index.ts";
import { owned } from "../support/process.ts";

const ports = { clock: systemClock(), random: seededRandom(1), actor: "tester" };

/**
 * A main process whose deliveries die after two quick tries, and a consumer over the socket that fails on what is in
 * `broken`. The commands run in this process too, except where a process of their own matters.
 */
async function world() {
  const own = owned(onTestFinished);
  const dataDir = join(own.folder(), "data");
  const settings = readSettings({}, "/", {
    dataDir,
    port: 0,
    router: { maxAttempts: 2, retryFirstMs: 1, retryMostMs: 1 },
  });
  const main = await bootstrapCoordination({ settings, log: silentLog() });
  const client = connect({ dataDir });
  const broken = new Set<string>();
  const handled: string[] = [];
  const exporter = client.subscribe({ consumer: "exporter", start: "earliest", version: "7" }, (event) => {
    if (event.eventType !== "SELFPLAY_TARGET_UPDATED") return;
    const key = String(event.payload.config_key);
    if (broken.has(key)) throw new Error(`cannot write '/data/${key}.npz' (errno 28)`);
    handled.push(key);
  });
  let stopped = false;
  const stop = async () => {
    if (stopped) return;
    stopped = true;
    await exporter.stop();
    await client.close();
    await main.shutdown();
  };
  onTestFinished(stop);
  const io = (signal: AbortSignal, said: { out: string; err: string }, isTerminal: boolean) => ({
    out: (text: string) => {
      said.out += text;
    },
    err: (text: string) => {
      said.err += text;
    },
    env: { NO_COLOR: "1" },
    cwd: "/",
    stdin: Readable.from([]),
    isTerminal,
    columns: 100,
    signal,
  });
  const run = async (...args: string[]) => {
    const said = { out: "", err: "" };
    const never = new AbortController().signal;
    const code = await runCli(["--data-dir", dataDir, "dlq", ...args], io(never, said, false), ports);
    return { code, ...said };
  };
  const json = async (...args: string[]) => JSON.parse((await run(...args, "--json")).out);
  const publish = async (...keys: string[]) => {
    for (const config_key of keys)
      await client.publish("SELFPLAY_TARGET_UPDATED", { config_key, target_games: 1, reason: "test" } as never);
  };
  /** Resolves once the journal's letters look like this. */
  const letters = async (is: (counts: Record<string, number>) => boolean) => {
    while (!is(main.router.deadLetters.counts())) await new Promise((resume) => setImmediate(resume));
  };
  return { own, dataDir, main, broken, handled, run, json, publish, letters, stop, io };
}

const ids = (answer: { dead_letters: DeadLetter[] }) => answer.dead_letters.map(({ id }) => id);

describe("ringrift dlq", () => {
  test("summarises, lists, groups, filters and shows", async () => {
    const { broken, run, json, publish, letters } = await world();
    expect((await run()).out).toBe("no dead letters\nhealth  ok (alerts at 50 and 1,000)\n");
    expect((await run("--pending")).out).toBe("no pending dead letters\n");
    broken.add("hex8_2p").add("hex9_2p");
    await publish("hex8_2p", "hex10_2p", "hex9_2p");
    await letters(({ pending }) => pending === 2);

    const summary = (await run()).out.split("\n");
    expect(summary[0]).toBe("2 dead letters: 2 pending, 0 retrying, 0 recovered, 0 discarded");
    expect(summary[3]).toMatch(/^LETTERS {2}CONSUMER {2}EVENT +FINGERPRINT +FIRST +LAST +ERROR$/);
    expect(summary[4]).toMatch(
      /^ {6}2 {2}exporter {2}SELFPLAY_TARGET_UPDATED {2}[0-9a-f]{12} {2}.* Error: cannot write/,
    );

    const listed = await json("--pending", "--limit", "1");
    expect(ids(listed)).toHaveLength(1);
    const [letter] = listed.dead_letters as DeadLetter[];
    expect(letter).toMatchObject({ consumer: "exporter", attempts: 2, handler_version: "7", status: "pending" });
    expect(ids(await json("--pending"))).toHaveLength(2);
    expect(ids(await json("--fingerprint", letter!.fingerprint))).toHaveLength(2);
    expect(ids(await json("--consumer", "nobody"))).toEqual([]);
    expect(ids(await json("--type", "selfplay_target_updated"))).toHaveLength(2);
    expect(ids(await json("--failed"))).toEqual([]);
    expect(await json("--group")).toMatchObject({ groups: [{ letters: 2, consumer: "exporter" }] });
    expect((await json("--group", "--consumer", "nobody")).groups).toEqual([]);

    const shown = (await run("show", String(letter!.id))).out;
    expect(shown).toMatch(/consumer +exporter, handler version 7/);
    expect(shown).toMatch(/tries +2 tries, sent back 0 times/);
    expect(shown).toMatch(/Error: cannot write '\/data\/hex8_2p.npz'[^\n]*\n +at /);
    expect(shown).toMatch(/"config_key": "hex8_2p"/);
    expect(await run("show", "999")).toMatchObject({ code: 3, err: expect.stringMatching(/no dead letter 999/) });
  });

  test("retries one, says what failed again, and recovers the rest at a rate", async () => {
    const { broken, handled, run, json, publish, letters, main } = await world();
    const keys = ["hex8_2p", "hex9_2p", "hex10_2p"];
    for (const key of keys) broken.add(key);
    await publish(...keys);
    await letters(({ pending }) => pending === 3);
    const [first] = ids(await json("--pending"));

    expect(await json("--retry", "--dry-run")).toMatchObject({ dry_run: true, dead_letters: [{}, {}, {}] });
    expect(main.router.deadLetters.counts()).toMatchObject({ pending: 3 });
    expect((await run("--retry", "--id", String(first))).out).toMatch(/1 dead letter sent back to the consumers/);
    await letters(({ pending }) => pending === 3);
    expect(ids(await json("--failed"))).toEqual([first]);

    broken.clear();
    expect(ids(await json("--retry", "--rate", "1000", "--max-events", "2"))).toHaveLength(2);
    await letters(({ recovered }) => recovered === 2);
    expect((await run("--retry")).out).toMatch(/1 dead letter sent back/);
    await letters(({ recovered }) => recovered === 3);
    expect([...handled].sort()).toEqual([...keys].sort());
    expect((await run("--retry")).out).toBe("no pending dead letters match\n");
    const actors = main.router.store.read<{ actor: string }>("SELECT DISTINCT actor FROM dead_letter_actions");
    expect(actors).toEqual([{ actor: "tester" }]);
  });

  test("discards only what is named and confirmed, and purges only what is resolved and old", async () => {
    const { broken, run, json, publish, letters } = await world();
    broken.add("hex8_2p").add("hex9_2p");
    await publish("hex8_2p", "hex9_2p");
    await letters(({ pending }) => pending === 2);
    const [first, second] = ids(await json("--pending"));

    expect((await run("--discard", "--id", String(first))).code).toBe(2);
    expect(await json("--discard", "--id", String(first), "--dry-run")).toMatchObject({
      dead_letters: [{ id: first }],
    });
    expect((await run("--discard", "--id", String(first), "--yes")).out).toMatch(/1 dead letter discarded, on record/);
    expect(ids(await json("--pending"))).toEqual([second]);
    expect((await json("show", String(first))).dead_letter).toMatchObject({
      status: "discarded",
      resolved_by: "tester",
    });

    expect(await json("--purge")).toMatchObject({ deleted: 0 });
    expect(await json("--purge", "--older-than-hours", "0", "--dry-run")).toEqual({
      action: "purge",
      dry_run: true,
      deleted: 1,
    });
    expect((await run("--purge", "--older-than-hours", "0")).out).toMatch(/^1 dead letter .*unresolved ones stay\n$/);
    expect((await json()).counts).toEqual({ pending: 1, retrying: 0, recovered: 0, discarded: 0 });
  });

  test("alerts at fifty", async () => {
    const { broken, json, publish, letters } = await world();
    const keys = Array.from({ length: 50 }, (_, i) => `hex${i}_2p`);
    for (const key of keys) broken.add(key);
    await publish(...keys.slice(0, 49));
    await letters(({ pending }) => pending === 49);
    expect(await json()).toMatchObject({ health: "ok", unresolved: 49 });
    await publish(...keys.slice(49));
    await letters(({ pending }) => pending === 50);
    expect(await json()).toMatchObject({ health: "warning", unresolved: 50 });
  });

  test("watches, one line each time when piped, until it is told to stop", async () => {
    const { own, dataDir, broken, publish, letters } = await world();
    const watch = own.startCli(["--data-dir", dataDir, "dlq", "--watch", "--interval", "0.1"]);
    await watch.waitForLine(/ {2}ok {2}pending 0 {2}retrying 0 {2}recovered 0 {2}discarded 0$/);
    broken.add("hex8_2p");
    await publish("hex8_2p");
    await letters(({ pending }) => pending === 1);
    await watch.waitForLine(/ {2}ok {2}pending 1 /);
    watch.kill("SIGTERM");
    expect(await watch.exited).toEqual({ code: 0, signal: null });
  });

  test("reads the letters of a process that has stopped", async () => {
    const { own, dataDir, broken, json, publish, letters, stop } = await world();
    broken.add("hex8_2p");
    await publish("hex8_2p");
    await letters(({ pending }) => pending === 1);
    const online = await json("--pending");
    const shown = await json("show", String(ids(online)[0]));
    await stop();
    expect(await json("--pending")).toEqual({ ...online, from: "folder" });
    expect(await json("show", String(ids(online)[0]))).toEqual({ ...shown, from: "folder" });
    const retry = own.startCli(["--data-dir", dataDir, "dlq", "--retry", "--json"]);
    expect(await retry.exited).toEqual({ code: 4, signal: null });
    expect(JSON.parse(retry.stderr()).error).toMatchObject({ code: "NOT_RUNNING", hint: expect.any(String) });
  });
});
