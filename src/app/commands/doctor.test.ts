import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import { seededRandom, silentLog, systemClock } from "../../kernel/index.ts";
import { bootstrapCoordination } from "../bootstrap.ts";
import { readSettings } from "../settings.ts";
import type { Finding } from "./doctor/finding.ts";
import { findHolder, holdsLock, isGone } from "./own-process.ts";
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

async function doctor(dataDir: string, env: Record<string, string> = {}) {
  const said = { out: "", err: "" };
  const io = {
    out: (text: string) => {
      said.out += text;
    },
    err: (text: string) => {
      said.err += text;
    },
    env: { RINGRIFT_PORT: "0", ...env },
    cwd: root,
    stdin: Readable.from([]),
    isTerminal: false,
    columns: 100,
    signal: new AbortController().signal,
  };
  const ports = { clock: systemClock(), random: seededRandom(1), actor: "tester" };
  const code = await runCli(["doctor", "--json", "--data-dir", dataDir], io, ports);
  const { findings, ...rest } = JSON.parse(said.out) as { findings: Finding[]; ok: boolean; running: boolean };
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
      expect(of("port")).toMatchObject({ status: "fail", message: `${port} is taken by another program` });
      expect(of("data folder")).toMatchObject({ status: "fail", message: `${path} is no folder` });
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
    expect(after.of("leftovers")).toMatchObject({ status: "ok" });
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
