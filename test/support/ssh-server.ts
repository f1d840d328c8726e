/**
 * A real sshd with rsync behind it, on loopback, with keys and a configuration of its own. Programs that the machine lacks are fetched
 * into a private folder. Root needs a user `sshd` and a folder in /run, which it gets in a mount namespace that nobody else sees.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { hasProgram, unpackedPackages } from "./debian-programs.ts";

export interface SshPrograms {
  readonly rsync: string;
  readonly ssh: string;
  readonly sshd: string;
  readonly env: Readonly<Record<string, string>>;
}

const skip = (why: string): undefined => {
  if (process.env.CI === "true") throw new Error(`rsync over ssh cannot be tried: ${why}`);
  console.warn(`SKIPPED: rsync over ssh was not tried: ${why}`);
  return undefined;
};

/** rsync alone, wherever it is. */
export function findRsync(): { readonly rsync: string; readonly env: Readonly<Record<string, string>> } | undefined {
  if (hasProgram("rsync")) return { rsync: "rsync", env: {} };
  const folder = unpackedPackages("ssh", ["rsync", "openssh-server", "libpopt0", "libwrap0"], "usr/sbin/sshd");
  if (folder === undefined) return undefined;
  const machine = process.arch === "arm64" ? "aarch64" : "x86_64";
  const libraries = ["usr/lib", "lib"].map((lib) => join(folder, lib, `${machine}-linux-gnu`)).join(":");
  return { rsync: join(folder, "usr/bin/rsync"), env: { LD_LIBRARY_PATH: libraries } };
}

function findPrograms(): SshPrograms | undefined {
  if (!hasProgram("ssh", ["-V"])) return skip("there is no ssh");
  const found = findRsync();
  if (found === undefined) return skip("there is no rsync, and no package of it");
  const { rsync, env } = found;
  const installed = "/usr/sbin/sshd";
  const sshd = existsSync(installed) ? installed : join(rsync, "../../sbin/sshd");
  if (!existsSync(sshd)) return skip("there is no sshd, and no package of it");
  if (!hasProgram("ssh-keygen", ["-?"]) && spawnSync("ssh-keygen", ["-?"]).error !== undefined)
    return skip("there is no ssh-keygen");
  return { rsync, ssh: "ssh", sshd, env };
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
};

/** Its own list of users, a /run of its own, and then the program in place of the shell. */
const AS_ROOT =
  'mount --bind "$1" /etc/passwd && mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec "$2" -D -e -f "$3"';

export interface SshServer {
  readonly port: number;
  readonly user: string;
  readonly identityFile: string;
  readonly knownHostsFile: string;
  readonly programs: SshPrograms;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Undefined, loudly, where it cannot be had. `folder` is for its keys; `enter` stands before the program that is to run on a host. */
export async function sshServer(
  folder: string,
  { address = "127.0.0.1", enter = [] as readonly string[] } = {},
): Promise<SshServer | undefined> {
  const programs = findPrograms();
  if (programs === undefined) return undefined;
  const isRoot = process.getuid?.() === 0;
  if (isRoot && spawnSync("unshare", ["--mount", "true"]).status !== 0)
    return skip("root may make no mount namespace here");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const at = (name: string) => join(folder, name);
  for (const name of ["host", "client", "stranger"])
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", at(name)]);
  const port = await freePort();
  const path = [join(programs.rsync, ".."), "/usr/bin", "/bin"].join(":");
  const environment = Object.entries({ ...programs.env, PATH: path }).map(([name, value]) => `${name}=${value}`);
  writeFileSync(
    at("sshd_config"),
    [
      `Port ${port}`,
      `ListenAddress ${address}`,
      `HostKey ${at("host")}`,
      `AuthorizedKeysFile ${at("client.pub")}`,
      `PidFile ${at("sshd.pid")}`,
      "PasswordAuthentication no",
      "KbdInteractiveAuthentication no",
      "PermitRootLogin prohibit-password",
      "UsePAM no",
      "StrictModes no",
      "MaxStartups 100",
      `SetEnv ${environment.join(" ")}`,
      "",
    ].join("\n"),
  );
  const key = readFileSync(at("host.pub"), "utf8").split(" ").slice(0, 2).join(" ");
  writeFileSync(at("known_hosts"), `${address} ${key}\n`);
  writeFileSync(
    at("passwd"),
    `${readFileSync("/etc/passwd", "utf8").trimEnd()}\nsshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n`,
  );

  let server: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const command = isRoot
      ? [
          "unshare",
          "--mount",
          "--propagation",
          "private",
          "sh",
          "-c",
          AS_ROOT,
          "sh",
          at("passwd"),
          programs.sshd,
          at("sshd_config"),
        ]
      : [programs.sshd, "-D", "-e", "-f", at("sshd_config")];
    const [program = "", ...args] = [...enter, ...command];
    server = spawn(program, args, { env: { ...process.env, ...programs.env }, stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    server.stderr?.on("data", (text: Buffer) => {
      said = `${said}${text}`.slice(-2_000);
    });
    // It says so itself; who looks from here may not see a port on another host.
    while (!said.includes("Server listening on")) {
      if (server.exitCode !== null) throw new Error(`sshd ended: ${said}`);
      await Promise.race([once(server.stderr!, "data"), once(server, "exit")]);
    }
  };
  const stop = async (): Promise<void> => {
    if (server === undefined || server.exitCode !== null) return;
    const ended = once(server, "exit");
    server.kill("SIGKILL");
    await ended;
  };
  await start();
  return {
    port,
    user: userInfo().username,
    identityFile: at("client"),
    knownHostsFile: at("known_hosts"),
    programs,
    start,
    stop,
  };
}
