import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { recordedTerminal } from "../../../test/support/terminal.ts";
import { seededRandom, silentLog, systemClock } from "../../kernel/index.ts";
import { readBooks } from "../../sync/books.ts";
import { bootstrapCoordination } from "../bootstrap.ts";
import { findHolder, holdsLock, isGone } from "../data-folder/own-process.ts";
import { readSettings } from "../settings.ts";
import type { Finding } from "./doctor/finding.ts";
import { runCli } from "./run.ts";

const root = mkdtempSync(join(tmpdir(), "ringrift-doctor-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let made = 0;
const folder = () => {
  made += 1;
  const path = join(root, String(made));
  mkdirSync(path, { mode: 0o700 });
  return path;
};

async function run(words: readonly string[], env: Record<string, string> = {}) {
  const { io, said } = recordedTerminal({ env: { RINGRIFT_PORT: "0", ...env }, cwd: root });
  const ports = { clock: systemClock(), random: seededRandom(1), actor: "tester" };
  const code = await runCli(["doctor", ...words], io, ports);
  return { code, ...said };
}

async function doctor(dataDir: string, env: Record<string, string> = {}) {
  const { code, out } = await run(["--json", "--data-dir", dataDir], env);
  const { findings, ...rest } = JSON.parse(out) as { findings: Finding[]; ok: boolean; running: boolean };
  const of = (check: string) => findings.find((each) => each.check === check);
  return { code, findings, of, ...rest };
}

describe("ringrift doctor", () => {
  it("finds nothing wrong with a folder that is yet to be made, and leaves nothing behind", async () => {
    const path = folder();
    const { code, findings, of } = await doctor(join(path, "data"));
    expect(findings.filter(({ status }) => status === "fail")).toEqual([]);
    expect(code).toBe(0);
    expect(of("data folder")?.message).toMatch(/does not exist yet/);
    expect(readdirSync(path)).toEqual([]);
  });

  it("says what to do with each thing that is wrong", async () => {
    const path = folder();
    chmodSync(path, 0o755);
    writeFileSync(join(path, "token"), "x".repeat(43), { mode: 0o644 });
    writeFileSync(
      join(path, "coordination.db"),
      "this is no database, but it is long enough to look like one".repeat(99),
    );
    writeFileSync(join(path, "endpoint.json"), '{"pid":999999999}');
    writeFileSync(join(path, "token.new"), "");
    const { code, of, findings, ok } = await doctor(path);
    expect(code).toBe(1);
    expect(ok).toBe(false);
    expect(of("data folder")).toMatchObject({ status: "warn", hint: `chmod 700 ${path}` });
    expect(of("token")).toMatchObject({ status: "fail", hint: `chmod 600 ${join(path, "token")}` });
    expect(of("journal")).toMatchObject({ status: "fail", message: expect.stringMatching(/not a database/) });
    expect(findings.filter(({ check }) => check === "leftovers").map(({ message }) => message)).toEqual([
      "process 999999999 was killed and left its address behind",
      "half-written: token.new",
    ]);
    for (const { status, hint } of findings) if (status !== "ok") expect(hint).not.toBe("");
  });

  it("notices a port that is taken and a folder that is a file", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as { port: number };
    const path = join(folder(), "file");
    writeFileSync(path, "");
    try {
      const { of, code } = await doctor(path, { RINGRIFT_PORT: String(port) });
      expect(code).toBe(1);
      expect(of("port")).toMatchObject({ status: "fail", message: `${port} is used by another program` });
      expect(of("data folder")).toMatchObject({ status: "fail", message: `${path} is not a folder` });
    } finally {
      taken.close();
    }
  });

  it("tells wrong settings, and makes all other checks with what is sound", async () => {
    const { of, code } = await doctor(folder(), { RINGRIFT_PORT: "many" });
    expect(code).toBe(1);
    expect(of("settings")).toMatchObject({ status: "fail", message: expect.stringMatching(/RINGRIFT_PORT/) });
    expect(of("node")).toMatchObject({ status: "ok" });
  });

  it("checks a journal that was left in order, and one in use not at all", async () => {
    const dataDir = folder();
    const main = await bootstrapCoordination({
      settings: readSettings({}, "/", { dataDir, port: 0 }),
      log: silentLog(),
    });
    const during = await doctor(dataDir);
    expect(during).toMatchObject({ code: 0, running: true });
    expect(during.of("journal")?.message).toMatch(/in use/);
    expect(during.of("socket")).toMatchObject({ status: "ok" });
    expect(holdsLock(process.pid, dataDir)).toBe(true);
    await main.shutdown();
    const after = await doctor(dataDir);
    expect(after).toMatchObject({ code: 0, running: false });
    expect(after.of("journal")?.message).toMatch(/sound/);
    expect(after.of("artifacts")?.message).toBe("no files; 0 B were deleted in the last day");
    expect(after.of("leftovers")).toMatchObject({ status: "ok" });
  });
});

describe("ringrift doctor --repair", () => {
  const MOST = BigInt(Number.MAX_SAFE_INTEGER);
  const CONFIG = "hex8_2p";

  /** A folder as older processes left it: two results that claim more games than there can be, and one that is true. */
  async function poisoned() {
    const dataDir = folder();
    const settings = readSettings({}, "/", { dataDir, port: 0 });
    await (await bootstrapCoordination({ settings, log: silentLog() })).shutdown();
    using db = new DatabaseSync(join(dataDir, "coordination.db"));
    for (const [seq, games] of [
      [1, MOST],
      [2, MOST],
      [3, 20n],
    ] as const) {
      const work_id = `w${seq}`;
      db.prepare("INSERT INTO work_inputs (seq, payload) VALUES (?, ?)").run(seq, '{"parameters":{"games":20}}');
      db.prepare("INSERT INTO sync_produced VALUES (?, ?, 'evil', ?, 0)").run(work_id, CONFIG, games);
      db.prepare(
        `INSERT INTO sync_artifacts (sha256, kind, bytes, rows, games, counted, config_key, producer, work_id, state,
           created_at, idle_since) VALUES (?, 'games', 1, ?2, ?2, ?2, ?, 'evil', ?, ?, 0, 0)`,
      ).run(work_id.padEnd(64, "0"), games, CONFIG, work_id, seq === 3 ? "durable" : "in_flight");
    }
    const book = db.prepare("INSERT INTO sync_books VALUES (?, 'evil', ?, '', ?)");
    for (const [account, games] of [
      ["produced", 2n * MOST + 20n],
      ["in_flight", 2n * MOST],
      ["durable", 20n],
    ] as const)
      book.run(CONFIG, account, games);
    const segments = ["w1", "w3"].map((work_id) => ({ work_id, games: work_id === "w1" ? Number(MOST) : 20 }));
    const rows = {
      pipeline_selfplay: { own: { segments }, evidence: { games: 2 ** 60 } },
      pipeline_totals: { games: 2 ** 60 },
    };
    for (const [table, row] of Object.entries(rows))
      db.prepare("INSERT INTO state_rows (table_name, key, value, version) VALUES (?, ?, ?, 1)").run(
        table,
        CONFIG,
        JSON.stringify(row),
      );
    return dataDir;
  }

  const booksIn = (dataDir: string) => {
    using db = new DatabaseSync(join(dataDir, "coordination.db"), { readOnly: true });
    const books = readBooks({ read: (sql, ...params) => db.prepare(sql).all(...params) as never });
    const rows = db.prepare("SELECT table_name, value FROM state_rows WHERE key = ? ORDER BY 1").all(CONFIG);
    return { books, rows: rows.map(({ value }) => JSON.parse(String(value)) as unknown) };
  };

  it("says what it would do and does nothing, until it is meant; then the books are true and the files rejected", async () => {
    const dataDir = await poisoned();
    const before = booksIn(dataDir);
    const { of, code } = await doctor(dataDir);
    expect(code).toBe(1);
    expect(of("results")).toMatchObject({
      status: "fail",
      message: expect.stringMatching(
        /^2 results cannot be true; w1 of hex8_2p: evil counted .* games, 20 were asked for/,
      ),
      hint: expect.stringContaining("ringrift doctor --repair"),
    });

    const dry = await run(["--repair", "--data-dir", dataDir]);
    expect(dry.out).toMatch(/would reject 2 results[\s\S]*w1[\s\S]*w2[\s\S]*Nothing is changed yet/);
    expect(booksIn(dataDir)).toEqual(before);

    const meant = await run(["--repair", "--yes", "--data-dir", dataDir]);
    expect(meant).toMatchObject({ code: 0, out: expect.stringMatching(/^rejected 2 results/) });
    const after = booksIn(dataDir);
    expect(after.books).toMatchObject([
      { produced: 60, durable: 20, in_flight: 0, rejected_by_reason: { implausible: 40 }, balanced: true },
    ]);
    expect(after.rows).toEqual([
      {
        own: {
          segments: [
            { work_id: "w1", games: 20 },
            { work_id: "w3", games: 20 },
          ],
        },
        evidence: { games: 0 },
      },
      { games: 20 },
    ]);
    expect((await doctor(dataDir)).of("results")).toMatchObject({ status: "ok" });
    expect((await run(["--repair", "--yes", "--data-dir", dataDir])).out).toMatch(/nothing to repair/);
  });

  it("is refused while a main process has the folder", async () => {
    const dataDir = await poisoned();
    const settings = readSettings({}, "/", { dataDir, port: 0 });
    const main = await bootstrapCoordination({ settings, log: silentLog() });
    const { code, err } = await run(["--repair", "--yes", "--data-dir", dataDir]);
    expect(code).not.toBe(0);
    expect(err).toMatch(/is in use/);
    await main.shutdown();
  });
});

describe("whose process it is", () => {
  it("is known by the lock that it holds, and not by its number", () => {
    const path = folder();
    expect(holdsLock(process.pid, path)).toBe(false);
    expect(holdsLock(999_999_999, path)).toBe(false);
    expect(findHolder(path)).toBeUndefined();
    expect(findHolder(join(path, "nowhere"))).toBeUndefined();
    expect(isGone(999_999_999)).toBe(true);
    expect(isGone(process.pid)).toBe(false);
  });
});
