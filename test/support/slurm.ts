/**
 * A real SLURM with one host, in a folder of its own: Debian's programs are fetched into a private folder, and munged, slurmctld and slurmd
 * run as children of the test. The machine stays as it was.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { hasProgram } from "./debian-programs.ts";
import { freePort } from "./process.ts";

const skip = (why: string): undefined => {
  if (process.env.CI === "true") throw new Error(`SLURM cannot be tried: ${why}`);
  console.warn(`SKIPPED: SLURM was not tried: ${why}`);
  return undefined;
};

const FETCH_MS = 120_000;
const PACKAGES = ["slurmd", "slurmctld", "slurm-client", "munge"];

/** With everything that they need and this machine lacks; once for all runs of this user. */
function unpacked(): string | undefined {
  const folder = join(tmpdir(), `ringrift-slurm-${process.getuid?.() ?? 0}`);
  if (existsSync(join(folder, "usr/sbin/slurmd-wlm"))) return folder;
  if (!hasProgram("apt-get") || !hasProgram("dpkg")) return undefined;
  const work = mkdtempSync(join(tmpdir(), "ringrift-slurm-"));
  try {
    mkdirSync(join(work, "debs", "partial"), { recursive: true });
    const options = ["-o", `Dir::Cache::archives=${join(work, "debs")}`, "-o", "Debug::NoLocking=1"];
    const get = ["--download-only", "--no-install-recommends", "--reinstall", "-y", "install", ...PACKAGES];
    spawnSync("apt-get", ["-qq", ...options, ...get], { timeout: FETCH_MS });
    for (const deb of readdirSync(join(work, "debs")).filter((file) => file.endsWith(".deb")))
      spawnSync("dpkg", ["-x", join(work, "debs", deb), join(work, "unpacked")], { timeout: FETCH_MS });
    if (!existsSync(join(work, "unpacked/usr/sbin/slurmd-wlm"))) return undefined;
    try {
      renameSync(join(work, "unpacked"), folder);
    } catch {
      // Somebody else was first.
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return existsSync(join(folder, "usr/sbin/slurmd-wlm")) ? folder : undefined;
}

/** Undefined, loudly, where it cannot be had. */
export async function slurmCluster(folder: string, atEnd: (undo: () => Promise<void>) => void) {
  if (process.getuid?.() !== 0) return skip("only root may run it here");
  const root = unpacked();
  if (root === undefined) return skip("its packages are not to be had");
  const lib = join(root, "usr/lib", `${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu`);
  const at = (name: string) => join(folder, name);
  for (const name of ["state", "spool"]) mkdirSync(at(name), { recursive: true });
  writeFileSync(at("munge.key"), randomBytes(1_024), { mode: 0o400 });
  const host = hostname().split(".")[0]!;
  const [controller, daemon] = [await freePort(), await freePort()];
  writeFileSync(
    at("slurm.conf"),
    [
      "ClusterName=rr",
      `SlurmctldHost=${host}(127.0.0.1)`,
      "SlurmUser=root",
      "SlurmdUser=root",
      "AuthType=auth/munge",
      `AuthInfo=socket=${at("munge.socket")}`,
      `SlurmctldPort=${controller}`,
      `SlurmdPort=${daemon}`,
      `StateSaveLocation=${at("state")}`,
      `SlurmdSpoolDir=${at("spool")}`,
      `SlurmctldPidFile=${at("slurmctld.pid")}`,
      `SlurmdPidFile=${at("slurmd.pid")}`,
      `PluginDir=${join(lib, "slurm-wlm")}`,
      "ProctrackType=proctrack/linuxproc",
      "TaskPlugin=task/none",
      "SelectType=select/cons_tres",
      "SelectTypeParameters=CR_CPU",
      "AccountingStorageType=accounting_storage/none",
      "JobAcctGatherType=jobacct_gather/none",
      "MpiDefault=none",
      "SlurmdParameters=config_overrides",
      "ReturnToService=2",
      "KillWait=30",
      "SlurmdTimeout=10",
      `NodeName=${host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=4000 State=UNKNOWN`,
      `PartitionName=main Nodes=${host} Default=YES MaxTime=INFINITE State=UP`,
      "",
    ].join("\n"),
  );
  const env = {
    ...process.env,
    PATH: `${join(root, "usr/bin")}:${process.env.PATH}`,
    LD_LIBRARY_PATH: `${lib}:${join(lib, "slurm-wlm")}`,
    SLURM_CONF: at("slurm.conf"),
  };
  const children: ChildProcess[] = [];
  const start = (program: string, args: readonly string[]): ChildProcess => {
    const child = spawn(join(root, "usr/sbin", program), args, { env, stdio: "ignore" });
    children.push(child);
    return child;
  };
  const end = async (child: ChildProcess): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  };
  const ask = (program: string, ...args: readonly string[]): string =>
    execFileSync(program, args, { env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  atEnd(async () => {
    try {
      ask("scancel", "--user=root", "--signal=KILL");
    } catch {
      // The controller is gone already.
    }
    for (const child of children.toReversed()) await end(child);
  });
  const files = ["key", "socket", "pid", "log", "seed"].map((kind) => [kind, at(`munge.${kind}`)] as const);
  start("munged", ["-F", "-f", ...files.map(([kind, path]) => `--${kind}${kind === "socket" ? "" : "-file"}=${path}`)]);
  start("slurmctld-wlm", ["-D", "-f", at("slurm.conf"), "-L", at("slurmctld.log")]);
  const slurmd = () =>
    start("slurmd-wlm", [
      "-D",
      "-f",
      at("slurm.conf"),
      "-N",
      host,
      "-d",
      join(root, "usr/sbin/slurmstepd-wlm"),
      "-L",
      at("slurmd.log"),
    ]);
  let host1 = slurmd();
  const isIdle = () => {
    try {
      return ask("sinfo", "--noheader", "--format", "%t").trim() === "idle";
    } catch {
      return false;
    }
  };
  for (let tries = 0; !isIdle(); tries += 1) {
    if (tries > 300) throw new Error(`SLURM did not start: ${readFileSync(at("slurmctld.log"), "utf8").slice(-2_000)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    env,
    ask,
    /** The host is lost, and comes back. */
    hostDown: () => end(host1),
    hostUp: () => {
      host1 = slurmd();
    },
  };
}
