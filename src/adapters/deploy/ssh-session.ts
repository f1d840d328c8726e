/** One host, spoken to by the system's own ssh and rsync, with arguments and constant scripts, and only under the key that we know. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OperatingError } from "../../kernel/index.ts";
import { programEnvironment, type RsyncPrograms, runRsync } from "../transports/rsync/run-rsync.ts";
import { HOST_ALIAS, sshConfig } from "../transports/rsync/ssh-config.ts";
import type { DeployHost } from "./inventory.ts";

export interface SshSession {
  /** Runs a constant script there; what it works on are lines of its input. Gives what it printed. */
  run(script: string, lines: readonly string[], signal: AbortSignal): Promise<string>;
  /** Copies a folder of ours, links followed, to a folder there. */
  copy(from: string, to: string, signal: AbortSignal): Promise<void>;
}

const MAX_OUT = 100_000;

function failureOf(host: string, code: number | null, said: string): OperatingError {
  const about = `${host}: ${said.trim().split("\n").slice(-3).join("; ").slice(0, 500) || `ssh ended with ${code}`}`;
  if (/host key verification failed|IDENTIFICATION HAS CHANGED|no .* host key is known/i.test(said))
    return OperatingError.denied("HOST_UNTRUSTED", about, {
      hint: "Its key is not the known one. Check that it is the right machine, then put its key into the known hosts file.",
    });
  if (/permission denied \(/i.test(said))
    return OperatingError.denied("HOST_REFUSED", about, { hint: "Put the public key into its authorized_keys." });
  if (code === 255) return OperatingError.unavailable("HOST_UNREACHABLE", about);
  return OperatingError.unavailable("DEPLOY_STEP_FAILED", about);
}

const noLines = (lines: readonly string[]): void => {
  for (const line of lines)
    if (/[\n\0]/.test(line)) throw OperatingError.invalid("INVENTORY_INVALID", "a value has more than one line");
};

/** `scratch` is a folder of ours for the configuration of ssh. */
export function openSshSession(host: DeployHost, programs: RsyncPrograms, scratch: string): SshSession {
  mkdirSync(scratch, { recursive: true, mode: 0o700 });
  const config = join(scratch, `${host.label}.ssh`);
  writeFileSync(config, sshConfig({ ...host, path: host.folder, disk: "" }), { mode: 0o600 });
  const env = programEnvironment(programs);
  return {
    async run(script, lines, signal) {
      noLines(lines.slice(0, -1));
      signal.throwIfAborted();
      const child = spawn(programs.ssh, ["-F", config, HOST_ALIAS, script], { env, stdio: ["pipe", "pipe", "pipe"] });
      let [out, said] = ["", ""];
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        out = `${out}${text}`.slice(-MAX_OUT);
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        said = `${said}${text}`.slice(-MAX_OUT);
      });
      // One that ends before it has read all says why on its other side.
      child.stdin.on("error", () => undefined).end(`${lines.join("\n")}\n`);
      const stop = () => child.kill("SIGKILL");
      signal.addEventListener("abort", stop, { once: true });
      try {
        const [code] = (await once(child, "close").catch((cause: unknown) => {
          throw OperatingError.unavailable("SSH_MISSING", `ssh cannot be started: ${String(cause)}`, {
            cause,
            hint: "Install ssh on this machine.",
          });
        })) as [number | null];
        signal.throwIfAborted();
        if (code !== 0) throw failureOf(host.host, code, said);
        return out;
      } finally {
        signal.removeEventListener("abort", stop);
      }
    },
    async copy(from, to, signal) {
      const always = ["--protect-args", "--timeout=60", "--rsh", `${programs.ssh} -F ${config}`];
      const args = [...always, "-rLpt", "--delete", `${from}/`, `${HOST_ALIAS}:${to}/`];
      await runRsync(host.host, programs, args, signal);
    },
  };
}
