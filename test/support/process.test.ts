import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { freePort, owned } from "./process.ts";

const program = (folder: string, source: string): string => {
  const file = join(folder, "program.ts");
  writeFileSync(file, source);
  return file;
};

/** Whether a process runs; one that has ended but was not yet reaped by its parent does not. */
const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = `/proc/${pid}/stat`;
  try {
    return !existsSync(stat) || !/\) [ZX] /.test(readFileSync(stat, "utf8"));
  } catch {
    return false;
  }
};

const WAITS = `const name: string = "reader"; console.log(name, "ready"); setInterval(() => {}, 1000);`;

test("a line is found whether it was printed before or after one waits for it", async () => {
  const own = owned(onTestFinished);
  const child = own.startNode(
    program(own.folder(), `console.log("one"); process.stdin.once("data", (text) => console.error("two " + text));`),
  );
  const one = await child.waitForLine(/one/);
  child.write("more\n");
  const two = await child.waitForLine(/two (\w+)/, { after: one.index });
  expect(two.match[1]).toBe("more");
  await expect(child.waitForLine(/one/)).resolves.toMatchObject({ index: one.index });
  child.endInput();
  expect(await child.exited).toEqual({ code: 0, signal: null });
  expect([child.stdout(), child.stderr().trim()]).toEqual(["one\n", "two more"]);
});

test("waiting for a line fails with what was printed when the process ends without it", async () => {
  const own = owned(onTestFinished);
  const child = own.startNode(program(own.folder(), `console.log("the reason"); process.exitCode = 3;`));
  await expect(child.waitForLine(/ready/)).rejects.toThrow(/ended without.*\n.*the reason/);
  expect(await child.exited).toEqual({ code: 3, signal: null });
});

test("kill -9 ends a process at once, and SIGTERM asks it to end", async () => {
  const own = owned(onTestFinished);
  const file = program(own.folder(), WAITS);
  const [first, second] = [own.startNode(file), own.startNode(file)];
  await Promise.all([first.waitForLine(/ready/), second.waitForLine(/ready/)]);
  expect(await first.killNow()).toEqual({ code: null, signal: "SIGKILL" });
  expect(await second.stop()).toEqual({ code: null, signal: "SIGTERM" });
});

test("a process that ignores SIGTERM is reported and does not outlive its owner, nor do its children and folders", async () => {
  const own = owned(onTestFinished);
  const folder = own.folder();
  const file = program(
    folder,
    `import { spawn } from "node:child_process";
     process.on("SIGTERM", () => {});
     const child = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]);
     console.log("ready", child.pid);
     setInterval(() => {}, 1000);`,
  );
  const child = own.startNode(file);
  const grandchild = Number((await child.waitForLine(/ready (\d+)/)).match[1]);
  await expect(child.stop(50)).rejects.toThrow(/did not end on SIGTERM/);
  expect([runs(child.pid), runs(grandchild), existsSync(folder)]).toEqual([true, true, true]);
  await own.end();
  await own.end();
  expect([runs(child.pid), existsSync(folder)]).toEqual([false, false]);
  await expect.poll(() => runs(grandchild)).toBe(false);
});

test("a free port can be listened on", async () => {
  const port = await freePort();
  const server = createServer().listen(port, "127.0.0.1");
  onTestFinished(() => void server.close());
  await expect.poll(() => server.listening).toBe(true);
});
