/** `ringrift deploy`: makes hosts of an inventory nodes of the main process here, and brings them a new program. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { deploy, type HostReport } from "../../adapters/deploy/deploy.ts";
import { readInventory } from "../../adapters/deploy/inventory.ts";
import { makeRelease } from "../../adapters/deploy/release.ts";
import { openSshSession } from "../../adapters/deploy/ssh-session.ts";
import { OperatingError, sleep } from "../../kernel/index.ts";
import {
  answer,
  lengthOfTime,
  type MainProcess,
  negative,
  printable,
  type Shell,
  wholeNumber,
} from "../../surfaces/commands/index.ts";
import { createToken, listNodes } from "../../surfaces/index.ts";
import { packedProgram } from "../packed-program.ts";

interface DeployCommandOptions {
  readonly dryRun?: boolean;
  readonly program?: string;
  readonly watch: number;
  readonly atOnce: number;
  readonly ssh: string;
  readonly rsync: string;
}

const JOIN_SECONDS = 900;

async function invite(main: MainProcess, label: string) {
  const body = { label: `deploy ${label}`, scope: "worker", expires_in_seconds: JOIN_SECONDS, join_uses: 1 } as const;
  const { token, join: address } = await main.call(createToken, { body });
  if (address == null || address.loopback)
    throw OperatingError.invalid("COORDINATOR_NOT_REACHABLE", "other machines cannot reach this main process", {
      hint: "Set RINGRIFT_HOST and a certificate: docs/42-nodes.md shows how.",
    });
  return { url: address.url, fingerprint: address.fingerprint, token };
}

const WORDS: Readonly<Record<HostReport["outcome"], string>> = {
  unchanged: "unchanged",
  installed: "installed",
  upgraded: "upgraded",
  rolled_back: "rolled back",
  failed: "failed",
  skipped: "skipped",
};

const BAD: ReadonlySet<HostReport["outcome"]> = new Set(["failed", "rolled_back", "skipped"]);

async function run(path: string, options: DeployCommandOptions, shell: Shell): Promise<void> {
  const inventory = readInventory(path);
  const scratch = mkdtempSync(join(tmpdir(), "ringrift-deploy-"));
  using main = await shell.main.need();
  try {
    const release = await makeRelease(packedProgram(options.program), join(scratch, "release"));
    const { ssh, rsync } = options;
    const hosts = await deploy(
      inventory,
      release,
      {
        open: (host) => openSshSession(host, { ssh, rsync }, join(scratch, "ssh")),
        invite: (label) => invite(main, label),
        async heard(nodeId) {
          const { nodes } = await main.call(listNodes);
          const node = nodes.find(({ node_id }) => node_id === nodeId);
          return node && { incarnation: node.incarnation, online: node.state === "online" };
        },
        pause: (ms, signal) => sleep(shell.clock, ms, signal),
        now: () => shell.clock.now(),
        progress: ({ label }, what) => shell.note(`${label}: ${printable(what)}`),
      },
      {
        dryRun: options.dryRun === true,
        watchMs: options.watch,
        atOnce: options.atOnce,
        signal: new AbortController().signal,
      },
    );
    answer(shell, { release: release.id, version: release.version, dry_run: options.dryRun === true, hosts }, () =>
      hosts.map(({ label, outcome, node_id, error }) =>
        [label, WORDS[outcome], node_id ?? "", printable(error ?? "")].filter((text) => text !== "").join("  "),
      ),
    );
    if (hosts.some(({ outcome }) => BAD.has(outcome))) throw negative();
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

export function registerDeploy(command: Command, shell: Shell): void {
  command
    .argument("<inventory>", "JSON file with the hosts; docs/46-ssh.md shows one")
    .option("--dry-run", "only look at the hosts and show what would change")
    .option("--program <folder>", "packed program to deploy; default: the one that runs this command")
    .addOption(
      new Option("--watch <time>", "time in which a node must be heard after its start")
        .argParser(lengthOfTime("--watch"))
        .default(60_000, "60s"),
    )
    .option("--ssh <program>", "the ssh to use", "ssh")
    .option("--rsync <program>", "the rsync to use", "rsync")
    .option("--at-once <n>", "hosts at once, after the canaries", wholeNumber("--at-once", 1, 50), 4)
    .action((path: string, options: DeployCommandOptions) => run(path, options, shell));
}
