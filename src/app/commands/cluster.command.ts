import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { defined, messageOf, OperatingError } from "../../kernel/index.ts";
import { answer, printable, type Shell } from "../../surfaces/commands/index.ts";
import type { SettingOverrides, Settings } from "../settings.ts";

/** The client of NATS is loaded by those who need it. */
const setup = () => import("../cluster/setup.ts");

const usage = (message: string, hint: string) => OperatingError.invalid("USAGE", message, { hint });

const read = (what: string, path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw usage(`${what} cannot be read: ${messageOf(cause)}`, "Check the path.");
  }
};

interface JoinOptions {
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly fingerprint?: string;
  readonly dryRun?: boolean;
}

const NEXT = "Set RINGRIFT_RAFT_ENABLED=true and run 'ringrift up'.";
const DRY = "nothing was changed: this was a dry run";

/** `ringrift cluster init`, `join` and `dissolve`: what is done to a folder on which nothing runs. */
export function registerClusterSetup(
  cluster: Command,
  shell: Shell,
  readSettings: (given: SettingOverrides) => Settings,
): void {
  cluster
    .command("init")
    .description("make this data folder the first coordinator of a cluster; the main process must be stopped")
    .option("--dry-run", "only check the servers and the folder")
    .action(async ({ dryRun = false }: { dryRun?: boolean }) => {
      const made = await (await setup()).initCluster(readSettings({}), shell.clock, dryRun);
      answer(shell, { status: "made", ...made }, () =>
        dryRun
          ? `the servers are safe to use, and the stream ${made.stream} could be made; ${DRY}`
          : `this is the first coordinator of ${made.cluster}. ${NEXT}`,
      );
    });
  cluster
    .command("join")
    .description("make an empty data folder the next coordinator of a cluster, with a copy of the leader's database")
    .argument("<url>", "address of the coordinator that leads, such as https://host:8770")
    .option("--token-file <file>", "file with a token of the scope operator, of 'ringrift token create'; required")
    .option("--ca <file>", "PEM file with the certificates to trust, instead of those of the system")
    .option("--fingerprint <sha256>", "SHA-256 of the only certificate to trust, if it is self-signed")
    .option("--dry-run", "only check the servers, the leader and the token")
    .action(async (address: string, { tokenFile, ca, fingerprint, dryRun = false }: JoinOptions) => {
      const settings = readSettings({});
      const url = URL.parse(address);
      if (url === null || !/^https?:$/.test(url.protocol))
        throw usage(
          `'${printable(address)}' is not the address of a coordinator`,
          "An address looks like https://host:8770.",
        );
      const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
      if (url.protocol === "http:" && !isLoopback && !settings.api.allowPlainHttp)
        throw usage(
          "over plain HTTP the token could be read on the way",
          "Use https://, or set RINGRIFT_ALLOW_PLAIN_HTTP=true.",
        );
      const trust = defined({ ca: ca === undefined ? undefined : read("--ca", ca), fingerprint });
      if (tokenFile === undefined)
        throw usage(
          "a token of the scope operator is needed to join",
          "On the leader, run 'ringrift token create members --scope operator', and give the file with --token-file.",
        );
      const token = read("--token-file", tokenFile).trim();
      const made = await (await setup()).joinCluster(settings, { url, trust, token }, shell.clock, dryRun);
      answer(shell, { status: "joined", ...made }, () =>
        dryRun
          ? `the leader answers, and takes the token; ${DRY}`
          : `joined ${made.cluster} at entry ${made.seq}. ${NEXT}`,
      );
    });
  cluster
    .command("dissolve")
    .description("make the last coordinator one by itself again, and delete the shared log; all must be stopped")
    .option("--dry-run", "only check that it could be done")
    .action(async ({ dryRun = false }: { dryRun?: boolean }) => {
      const made = await (await setup()).dissolveCluster(readSettings({}), shell.clock, dryRun);
      answer(shell, { status: "dissolved", ...made }, () =>
        dryRun
          ? `this folder has entry ${made.seq}, the last one, and no other coordinator runs; ${DRY}`
          : "this is a coordinator by itself again. Unset RINGRIFT_RAFT_ENABLED and run 'ringrift up'.",
      );
    });
}
