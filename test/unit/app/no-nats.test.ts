/** One coordinator by itself loads nothing of what several need. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const SRC = new URL("../../../src/", import.meta.url).href;

/** Every module that a process has loaded after it brought a coordination up and down, on its main thread. */
async function loadedBy(environment: Readonly<Record<string, string>>): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-no-nats-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const program = `
    import { registerHooks } from "node:module";
    const seen = new Set();
    registerHooks({ load(url, context, next) { seen.add(url); return next(url, context); } });
    const { bootstrapCoordination } = await import("${SRC}app/bootstrap.ts");
    const { readSettings } = await import("${SRC}app/settings.ts");
    await import("${SRC}app/commands/up.command.ts");
    const settings = readSettings(${JSON.stringify(environment)}, "/", { dataDir: ${JSON.stringify(folder)}, port: 0, logLevel: "ERROR" });
    const outcome = await bootstrapCoordination({ settings }).then((it) => it.shutdown(), (error) => seen.add(error.code));
    console.log(JSON.stringify([...seen]));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  return JSON.parse(stdout) as string[];
}

test("without the setting no module of NATS, of the member or of the replica's store is loaded", async () => {
  const loaded = await loadedBy({});
  expect(loaded.length).toBeGreaterThan(100);
  expect(loaded.filter((url) => /nats|app\/cluster\/|sqlite\/replica\//.test(url))).toEqual([]);
});
