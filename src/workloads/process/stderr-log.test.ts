import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createStderrLog } from "./stderr-log.ts";

const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), "ringrift-stderr-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
};

const never = (thrown: unknown) => expect.unreachable(String(thrown));

it("keeps the last 64 KB of what came since the mark", async () => {
  const log = createStderrLog(undefined, 1_000, never);
  log.push(Buffer.from("before\n"));
  log.mark();
  for (let i = 0; i < 30_000; i += 1) log.push(Buffer.from(`line ${i}\n`));
  expect(log.tail()).toHaveLength(64 * 1024);
  expect(log.tail()).toMatch(/line 29999\n$/);
  expect(log.tail()).not.toContain("before");
  log.push(Buffer.alloc(1_000_000, "x"));
  expect(log.tail()).toBe("x".repeat(64 * 1024));
});

it("writes a file that is bounded, keeps one older file, and goes on after a program before it", async () => {
  const file = join(folder(), "logs", "child.log");
  const first = createStderrLog(file, 1_000, never);
  first.push(Buffer.from("a".repeat(600)));
  await first.close();
  const log = createStderrLog(file, 1_000, never);
  log.push(Buffer.from("b".repeat(300)));
  await log.close();
  expect(readFileSync(file, "utf8")).toBe("a".repeat(600) + "b".repeat(300));
  log.push(Buffer.from("c".repeat(200)));
  await log.close();
  expect(readFileSync(file, "utf8")).toBe("c".repeat(200));
  expect(statSync(`${file}.1`).size).toBe(900);
  log.push(Buffer.alloc(5_000, "d"));
  await log.close();
  expect(statSync(file).size).toBe(1_000);
  expect(log.dropped).toBe(4_000);
  expect(log.bytes).toBe(5_500);
});

it("takes what comes faster than the disk only up to a bound, and counts the rest", async () => {
  const log = createStderrLog(join(folder(), "child.log"), 1_000_000, never);
  for (let i = 0; i < 100; i += 1) log.push(Buffer.alloc(100_000, "x"));
  expect(log.dropped).toBeGreaterThanOrEqual(8_000_000);
  await log.close();
});

it("a log that cannot be written is told once and costs nothing but the file", async () => {
  const place = folder();
  writeFileSync(join(place, "file"), "");
  const told: unknown[] = [];
  const log = createStderrLog(join(place, "file", "child.log"), 1_000, (thrown) => told.push(thrown));
  log.push(Buffer.from("one"));
  await log.close();
  log.push(Buffer.from("two"));
  await log.close();
  expect(told).toHaveLength(1);
  expect(log.tail()).toBe("onetwo");
});
