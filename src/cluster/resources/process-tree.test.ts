import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { processTree } from "./process-tree.ts";

function machine() {
  const root = mkdtempSync(join(tmpdir(), "ringrift-proc-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const add = (pid: number, parent: number, words: readonly string[], fds = 3) => {
    const folder = join(root, "proc", String(pid));
    mkdirSync(join(folder, "fd"), { recursive: true });
    const fields = ["S", parent, ...Array(9).fill(0), 150, 50, ...Array(8).fill(0), 100, 0];
    writeFileSync(join(folder, "stat"), `${pid} (a) strange) name) ${fields.join(" ")}\n`);
    writeFileSync(join(folder, "cmdline"), `${words.join("\0")}\0`);
    for (let fd = 0; fd < fds; fd += 1) writeFileSync(join(folder, "fd", String(fd)), "");
  };
  return { root, add };
}

test("shows a process with all that came of it, and nobody else", async () => {
  const { root, add } = machine();
  add(10, 1, ["/usr/bin/node", "/opt/ringrift.js", "up"], 7);
  add(20, 10, ["/usr/bin/node", "--max-old-space-size=32", "/opt/cli.js", "--data-dir", "/a/b", "worker"]);
  add(30, 20, ["python3", "/home/me/trainer.py", "--seed", "1"]);
  add(40, 1, ["sshd"]);
  expect(await processTree([10], root)).toEqual([
    { pid: 10, parent: 1, name: "node ringrift.js up", rssBytes: 409_600, fds: 7, cpuSeconds: 2, children: 1 },
    { pid: 20, parent: 10, name: "node cli.js worker", rssBytes: 409_600, fds: 3, cpuSeconds: 2, children: 1 },
    { pid: 30, parent: 20, name: "python3 trainer.py --seed 1", rssBytes: 409_600, fds: 3, cpuSeconds: 2, children: 0 },
  ]);
});

test("shows a worker that somebody started beside it, and one that it started itself once", async () => {
  const { root, add } = machine();
  add(10, 1, ["node", "ringrift.js", "up"]);
  add(20, 10, ["node", "cli.js", "worker"]);
  add(30, 1, ["node", "cli.js", "worker"]);
  add(31, 30, ["python3", "trainer.py"]);
  const pidsOf = async (...roots: number[]) => (await processTree(roots, root)).map(({ pid }) => pid);
  expect(await pidsOf(10, 30)).toEqual([10, 20, 30, 31]);
  expect(await pidsOf(10, 20)).toEqual([10, 20]);
  expect(await pidsOf(10, 99), "it has ended").toEqual([10, 20]);
});

test("a system that does not tell gives nothing", async () => {
  expect(await processTree([10], "/nowhere")).toEqual([]);
});
