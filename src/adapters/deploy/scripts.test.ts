/** What runs on a host that has systemd, without one: the real script, folders of the test, and a systemctl that writes down what it is told. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { hasProgram } from "../../../test/support/debian-programs.ts";
import { PATIENT } from "../../../test/support/patience.ts";
import { ACTIVATE, PROBE, STOP_NODE, SUPERVISE } from "./scripts.ts";

function hostWithSystemd() {
  const root = mkdtempSync(join(tmpdir(), "ringrift-systemd-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [folder, run, units, bin] = ["node", "run", "units", "bin"].map((name) => join(root, name)) as [
    ...[string, string, string, string],
  ];
  for (const path of [run, units, bin, join(folder, "releases/r1/bin"), join(folder, "releases/r2/bin")])
    mkdirSync(path, { recursive: true });
  for (const id of ["r1", "r2"]) {
    writeFileSync(join(folder, "releases", id, "node"), "#!/bin/sh\n");
    chmodSync(join(folder, "releases", id, "node"), 0o755);
    writeFileSync(join(folder, "releases", id, "bin/ringrift.js"), "");
  }
  const calls = join(root, "calls");
  writeFileSync(calls, "");
  const program = (name: string, text: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  program("systemctl", `echo "$@" >> "${calls}"`);
  program("id", "echo 0");
  return {
    folder,
    units,
    calls: () => readFileSync(calls, "utf8").trim().split("\n"),
    run(script: string, ...lines: readonly string[]) {
      const here = script.replaceAll("/run/systemd/system", run).replaceAll("/etc/systemd/system", units);
      const input = `${[folder, ...lines].join("\n")}\n`;
      return spawnSync("sh", ["-c", here], { input, encoding: "utf8", env: { PATH: `${bin}:${process.env.PATH}` } });
    },
  };
}

test("where there is systemd a release becomes a service that is enabled and started, once for each change", () => {
  const host = hostWithSystemd();
  expect(host.run(ACTIVATE, "r1")).toMatchObject({ status: 0, stderr: "" });
  const [file] = readdirSync(host.units) as [string];
  const unit = file.replace(".service", "");
  expect(unit).toMatch(/^ringrift-node-\d+$/);
  expect(host.calls()).toEqual([
    `stop ${unit}`,
    "daemon-reload",
    `enable --quiet ${unit}`,
    `restart ${unit}`,
    `is-active --quiet ${unit}`,
  ]);
  expect(readlinkSync(join(host.folder, "current"))).toBe("releases/r1");
  const text = readFileSync(join(host.units, file), "utf8");
  expect(text).toContain(`\nExecStart=${host.folder}/current/node ${host.folder}/current/bin/ringrift.js worker\n`);
  expect(text).toContain("\nRestart=on-failure\n");

  // The next release is the same service, and the one before is the way back.
  expect(host.run(ACTIVATE, "r2").status).toBe(0);
  expect(readdirSync(host.units)).toEqual([file]);
  expect(readFileSync(join(host.folder, "previous"), "utf8").trim()).toBe("r1");
  expect(host.run(PROBE).stdout).toMatch(/current r2\nprevious r1\nrunning yes/);
  expect(host.run(STOP_NODE).status).toBe(0);
  expect(host.calls().at(-1)).toBe(`stop ${unit}`);
});

/** A worker that does nothing until it is ended, and says who it is as ours does. */
const IDLE = `#!/bin/sh
mkdir -p "$RINGRIFT_DATA_DIR/worker"
echo $$ > "$RINGRIFT_DATA_DIR/worker/pid"
while :; do sleep 0.1; done
`;

test("a worker that outlived its supervisor is ended before the next one starts", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-supervised-"));
  const run = (script: string, ...lines: readonly string[]) =>
    // Nobody speaks to a systemd that the machine of the test may have.
    spawnSync("sh", ["-c", script.replaceAll("/run/systemd/system", join(folder, "none"))], {
      input: `${[folder, ...lines].join("\n")}\n`,
      encoding: "utf8",
    });
  onTestFinished(() => {
    run(STOP_NODE);
    rmSync(folder, { recursive: true, force: true });
  });
  mkdirSync(join(folder, "releases/r1/bin"), { recursive: true });
  mkdirSync(join(folder, "data"));
  writeFileSync(join(folder, "releases/r1/node"), IDLE, { mode: 0o755 });
  writeFileSync(join(folder, "releases/r1/supervise.sh"), SUPERVISE);
  const pidIn = (name: string) => Number(readFileSync(join(folder, name), "utf8"));
  const worker = (other = 0) =>
    vi.waitFor(() => {
      const pid = pidIn("data/worker/pid");
      expect([0, other]).not.toContain(pid);
      return pid;
    }, PATIENT);
  expect(run(ACTIVATE, "r1")).toMatchObject({ status: 0, stderr: "" });
  const first = await worker();
  process.kill(pidIn("node.pid"), "SIGKILL");
  expect(() => process.kill(first, 0)).not.toThrow();
  expect(run(ACTIVATE, "r1")).toMatchObject({ status: 0, stderr: "" });
  expect(() => process.kill(first, 0)).toThrow(/ESRCH/);
  const second = await worker(first);
  expect(run(STOP_NODE).status).toBe(0);
  expect(() => process.kill(second, 0)).toThrow(/ESRCH/);
});

test.skipIf(!hasProgram("systemd-analyze"))("systemd itself finds nothing wrong with that service", () => {
  const host = hostWithSystemd();
  host.run(ACTIVATE, "r1");
  const [file] = readdirSync(host.units) as [string];
  const done = spawnSync("systemd-analyze", ["verify", join(host.units, file)], { encoding: "utf8" });
  expect(`${done.stdout}${done.stderr}`).not.toContain("ringrift-node");
});
