/** kill -9 of the main process while its daemons run: what the next one finds. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { PATIENT } from "../support/patience.ts";
import { freePort, owned, type Started } from "../support/process.ts";

interface Told {
  readonly published: number;
  readonly counted: number;
  readonly restarts: number;
  readonly given_up: boolean;
}

const last = (main: Started): Told => JSON.parse(main.lines.findLast((line) => line.startsWith("{"))!) as Told;

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    // A process that nobody has waited for is dead all the same.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

test("books and cursors go on where they stood; no orphan process, port or lock is left", async () => {
  const own = owned(onTestFinished);
  const dataDir = own.folder();
  const port = await freePort();
  const env = {
    RINGRIFT_DATA_DIR: dataDir,
    RINGRIFT_PORT: String(port),
    RINGRIFT_DAEMON_RESTART_FIRST: "0.3",
    RINGRIFT_DAEMON_MAX_RESTARTS: "3",
  };
  const start = (...args: string[]) =>
    own.startNode(new URL("./parts/supervising-main.ts", import.meta.url), args, { env });

  const first = start();
  const child = Number((await first.waitForLine(/^child (\d+)/)).match[1]);
  await first.waitForLine(/"restarts":1,/);
  await first.killNow();
  const before = last(first);
  await vi.waitUntil(() => !isAlive(child), PATIENT);
  expect(existsSync(join(dataDir, "ringrift.sock"))).toBe(true);

  const second = start();
  // The same port and folder are free at once; the restarts of the life before still count.
  expect((await second.waitForLine(/^ready (\d+)/)).match[1]).toBe(String(port));
  await second.waitForLine(/"given_up":true/);
  const lines = second.lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Told);
  expect(lines[0]!.restarts).toBeGreaterThanOrEqual(before.restarts);
  await second.killNow();

  const third = start();
  // What was given up stays so over any number of lives, until somebody resets it.
  const told = JSON.parse((await third.waitForLine(/^\{/)).text) as Told;
  expect(told).toMatchObject({ given_up: true });
  await third.waitForLine(/"published":60,/);
  await third.killNow();

  const db = new DatabaseSync(join(dataDir, "coordination.db"), { readOnly: true, timeout: 5_000 });
  const { n: published } = db.prepare("SELECT count(*) AS n FROM events WHERE event_type = 'HOST_OFFLINE'").get() as {
    n: number;
  };
  const fourth = start("drain");
  // Every event on disk is counted once, whichever life it was published in and whenever that one was killed.
  await fourth.waitForLine(new RegExp(`"counted":${published},`));
  const after = fourth.lines.length;
  await fourth.waitForLine(/^\{/, { after: after + 20 });
  expect(last(fourth).counted).toBe(published);
  expect(published).toBeGreaterThan(60);
  db.close();
});
