import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { aborted, createLog, defined, messageOf, OperatingError } from "../../kernel/index.ts";
import { answer, printable, type Shell } from "../../surfaces/commands/index.ts";
import type { Made } from "../cluster/setup.ts";
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

interface AnewOptions {
  readonly confirm?: string;
  readonly replaceLog?: boolean;
  readonly dryRun?: boolean;
}

const rescue = () => import("../cluster/rescue.ts");

/** `ringrift cluster snapshot`, `restore`, `recover` and `leave`: the ways back. */
function registerRescue(cluster: Command, shell: Shell, readSettings: (given: SettingOverrides) => Settings): void {
  const { clock } = shell;
  const anewOf = ({ confirm, replaceLog = false }: AnewOptions) => ({ confirm, replaceLog });
  const anew = (command: Command): Command =>
    command
      .option("--confirm <cluster>", "name of the cluster, to say that you mean it")
      .option("--replace-log", "delete the shared log that is there; entries that only it has are lost")
      .option("--dry-run", "only check that it could be done");
  cluster
    .command("snapshot")
    .description("fetch a copy of the leader's database into a file, to begin the cluster anew from it one day")
    .argument("<file>", "where it goes; <file>.json beside it belongs to it. Keep both private: they hold a token")
    .option("--dry-run", "only ask the leader")
    .action(async (file: string, { dryRun = false }: { dryRun?: boolean }) => {
      const { findLeader, saveSnapshot } = await rescue();
      const made = await saveSnapshot(await findLeader(readSettings({}), clock), file, clock, dryRun);
      answer(shell, { status: "saved", ...made }, () =>
        dryRun
          ? `the leader is at entry ${made.seq}, and takes the token; ${DRY}`
          : `entry ${made.seq} of ${made.cluster} is in ${printable(made.file)}`,
      );
    });
  anew(
    cluster
      .command("restore")
      .description("begin the cluster anew from a snapshot, in an empty data folder; all coordinators must be stopped")
      .argument("<file>", "of 'ringrift cluster snapshot'"),
  ).action(async (file: string, options: AnewOptions) => {
    const { dryRun = false } = options;
    const made = await (await rescue()).restoreCluster(readSettings({}), file, anewOf(options), clock, dryRun);
    answer(shell, { status: "restored", ...made }, () => anewLine(made, dryRun));
  });
  anew(
    cluster
      .command("recover")
      .description("begin the cluster anew from this data folder, when the others or the log are lost for good")
      .requiredOption("--from-this-replica", "what this folder has is all that is left"),
  ).action(async (options: AnewOptions) => {
    const { dryRun = false } = options;
    const made = await (await rescue()).recoverCluster(readSettings({}), anewOf(options), clock, dryRun);
    answer(shell, { status: "recovered", ...made }, () => anewLine(made, dryRun));
  });
  cluster
    .command("leave")
    .description("take this coordinator out of the cluster; its main process must be stopped")
    .requiredOption("--reason <text>", "the reason; it is recorded")
    .option("--member <name>", "take this one out instead, whose machine is gone; run it on another coordinator")
    .option("--dry-run", "only check that it could be done")
    .action(async ({ reason, member, dryRun = false }: { reason: string; member?: string; dryRun?: boolean }) => {
      const { findLeader, leaveTheCluster, takeOut } = await rescue();
      const settings = readSettings({});
      const leader = await findLeader(settings, clock);
      const made =
        member === undefined
          ? await leaveTheCluster(settings, leader, reason, clock, dryRun)
          : { ...(await takeOut(leader, member, reason, clock, dryRun)), set_aside: null };
      const stay = made.members.map(printable).join(", ");
      const place = made.set_aside === null ? "" : ` Its database is in ${printable(made.set_aside)}.`;
      answer(shell, { status: "left", ...made }, () =>
        dryRun
          ? `${printable(made.left)} could leave; ${stay} would stay; ${DRY}`
          : `${printable(made.left)} has left; ${stay} stay.${place}`,
      );
    });
}

/** `ringrift cluster fetch-engine` and `engine`: the nats-server that runs beside a coordinator. */
function registerEngine(cluster: Command, shell: Shell, readSettings: (given: SettingOverrides) => Settings): void {
  cluster
    .command("fetch-engine")
    .description("check that a nats-server is here and new enough, or say how to get one; nothing is downloaded")
    .option("--dry-run", "the same: it only looks")
    .action(async () => {
      const { findEngine } = await import("../cluster/engine/find-engine.ts");
      const found = findEngine(readSettings({}).coordinators.engine);
      answer(
        shell,
        { status: "found", ...found },
        () => `${printable(found.program)} is version ${found.version}: good`,
      );
    });
  const engine = cluster.command("engine").description("the nats-server that ringrift runs on each of three machines");
  engine
    .command("init")
    .description("make the secret and the certificates of three servers, once, on one of the machines")
    .requiredOption(
      "--peers <list>",
      "names and addresses: a=10.0.0.1,b=10.0.0.2,c=10.0.0.3. Ports of clients, routes and monitor may follow: a=10.0.0.1:4222:6222:8222",
    )
    .option("--dry-run", "only check what was given")
    .action(async ({ peers, dryRun = false }: { peers: string; dryRun?: boolean }) => {
      const [{ makeEngine }, { readPeers }] = await Promise.all([
        import("../cluster/engine/make-engine.ts"),
        import("../cluster/engine/engine-file.ts"),
      ]);
      const { dataDir, nodeId } = readSettings({});
      const made = makeEngine(dataDir, nodeId, readPeers(peers), dryRun);
      answer(shell, { status: "made", ...made }, () =>
        dryRun
          ? `${made.peers.join(", ")} could be servers; ${DRY}`
          : [
              ...Object.entries(made.files).map(
                ([name, file]) =>
                  `copy ${printable(file)} to ${name} as engine/engine.json of its data folder, and delete it here`,
              ),
              "Then run 'ringrift cluster engine run' on all three.",
            ].join("\n"),
      );
    });
  engine
    .command("run")
    .description("run the nats-server of this machine until it is told to stop; it is started again when it ends")
    .option("--dry-run", "only check the program and the files")
    .action(async ({ dryRun = false }: { dryRun?: boolean }) => {
      const { dataDir, coordinators } = readSettings({});
      const [{ runEngine }, { needEngine }, { findEngine }] = await Promise.all([
        import("../cluster/engine/run-engine.ts"),
        import("../cluster/engine/engine-file.ts"),
        import("../cluster/engine/find-engine.ts"),
      ]);
      const { name } = needEngine(dataDir);
      const found = findEngine(coordinators.engine);
      const line = `${printable(found.program)} ${found.version} ${dryRun ? "could run" : "runs"} as ${name}`;
      const log = createLog("INFO", {});
      const running = dryRun
        ? undefined
        : runEngine({ dataDir, program: coordinators.engine, clock: shell.clock, log });
      answer(shell, { status: dryRun ? "checked" : "ready", name, ...found, applied: !dryRun }, () =>
        dryRun ? `${line}; ${DRY}` : `ready: ${line}`,
      );
      if (running === undefined) return;
      await aborted(shell.io.signal);
      await running.stop();
      answer(shell, { status: "stopped" }, () => "stopped");
    });
}

const anewLine = ({ cluster, generation, seq }: Made, isDry: boolean): string =>
  isDry
    ? `${cluster} would begin generation ${generation} with what entry ${seq} came to; ${DRY}`
    : `${cluster} begins generation ${generation} here. ${NEXT} Then join the others again: their folders may stay.`;

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
  registerRescue(cluster, shell, readSettings);
  registerEngine(cluster, shell, readSettings);
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
