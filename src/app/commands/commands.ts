/**
 * Every command: how it is typed and what it does, for help and for guesses at what was meant. Its options and all that it
 * needs are loaded when somebody names it, so that no command pays for the others.
 */
import type { Command } from "commander";
import type { Clock, Random } from "../../kernel/index.ts";
import type { ConfigReport, Shell } from "../../surfaces/commands/index.ts";
import type { SettingOverrides, Settings, soundPlaces } from "../settings.ts";

/** What the program needs of the world beyond its terminal. */
export interface CliPorts {
  readonly clock: Clock;
  readonly random: Random;
  /** Who runs it; kept on record with what is changed. */
  readonly actor: string;
}

/** What commands are made with. */
export interface Given {
  readonly shell: Shell;
  readonly ports: CliPorts;
  /** The settings that hold for this command line and what the command says itself. */
  readonly settings: (given: SettingOverrides) => Settings;
  readonly inspect: () => ConfigReport;
  readonly where: () => ReturnType<typeof soundPlaces>;
  /** The program with all that every command has. */
  readonly whole: () => Promise<Command>;
}

type Fill = (command: Command, given: Given) => Promise<void>;

export const loadCatalog = async () => {
  const { builtinRows, createCatalog } = await import("../../events/index.ts");
  return createCatalog(builtinRows);
};
const steering = () => import("../../surfaces/pipeline/steer.command.ts");

export const commandRows: readonly (readonly [usage: string, about: string, fill: Fill])[] = [
  [
    "up [options]",
    "run the main process until SIGTERM or Ctrl-C; a second Ctrl-C stops it by force, with exit code 130",
    async (command, { shell, settings, inspect }) => {
      const isSet = (key: string) =>
        inspect().settings.some((setting) => setting.key === key && setting.origin.kind !== "default");
      const guestFor = async (found: Settings, isHeadless: boolean) =>
        (await import("./pipeline-guest.ts")).pipelineGuest(found, shell, isHeadless);
      (await import("./up.command.ts")).registerUp(command, shell, settings, { isSet, guestFor });
    },
  ],
  [
    "train [options] [configs...]",
    "train models by self-play on this machine, and show how strong they get; run it again to continue in the same data folder",
    async (command, { shell, settings }) =>
      (await import("./train.command.ts")).registerTrain(command, shell, settings),
  ],
  [
    "experiment [options] <names...>",
    "compare plans over several seeds with the real loop, and say what to believe of the difference; run it again to continue",
    async (command, { shell, ports, settings }) =>
      (await import("./experiment.command.ts")).registerExperiment(command, shell, ports.random, settings),
  ],
  [
    "down [options]",
    "stop the main process and wait until it has ended; exit code 1 if it still runs, 0 if nothing was running",
    async (command, { shell }) => (await import("./down.command.ts")).registerDown(command, shell),
  ],
  [
    "worker [options]",
    "do jobs until SIGTERM or Ctrl-C; running jobs then get some time to end, and unfinished jobs go back to the queue",
    async (command, { shell, ports, settings }) =>
      (await import("./worker.command.ts")).registerWorker(command, shell, ports.random, settings),
  ],
  [
    "join [options] <url> [token]",
    "make this machine a node of a main process on another machine, and do jobs for it; it needs no open port",
    async (command, { shell, ports, settings }) =>
      (await import("./join.command.ts")).registerJoin(command, shell, ports.random, settings),
  ],
  [
    "deploy [options] <inventory>",
    "make the hosts of an inventory nodes of this main process over ssh, and upgrade them; exit code 1 if one failed",
    async (command, { shell }) => (await import("./deploy.command.ts")).registerDeploy(command, shell),
  ],
  [
    "status [options]",
    "show whether all is well, what is wrong and what to do; exit code 1 if something needs you, 4 if nothing is running",
    async (command, { shell }) => {
      const { registerStatus } = await import("../../surfaces/status/command.ts");
      registerStatus(command, shell, async () => (await import("./node-status.ts")).nodeStatusOf(shell));
    },
  ],
  [
    "handover [options]",
    "show what happened while you were away, what was done without you, and what needs you; exit code 1 if something does",
    async (command, { shell }) => (await import("../../surfaces/handover/command.ts")).registerHandover(command, shell),
  ],
  [
    "daemons",
    "list, show, start, stop, restart, reset, pause and resume the daemons of the main process",
    async (command, { shell }) => {
      const { registerDaemons } = await import("../../surfaces/daemons/command.ts");
      registerDaemons(command, shell, async (dataDir) => (await import("./folder-books.ts")).readFolderBooks(dataDir));
    },
  ],
  [
    "health",
    "show the health of each part, and whether the system takes new work; exit code 1 if it is not healthy",
    async (command, { shell }) => (await import("../../surfaces/health/command.ts")).registerHealth(command, shell),
  ],
  [
    "alerts",
    "list, show, acknowledge and close alerts: problems that need a person; mute them for some time",
    async (command, { shell }) => (await import("../../surfaces/alerts/command.ts")).registerAlerts(command, shell),
  ],
  [
    "nodes",
    "list, show, check, drain, cordon and forget the machines of the cluster",
    async (command, { shell }) => (await import("../../surfaces/nodes/command.ts")).registerNodes(command, shell),
  ],
  [
    "recovery",
    "show what is done for nodes that are ill, have it done now, and see what was done",
    async (command, { shell }) => (await import("../../surfaces/recovery/command.ts")).registerRecovery(command, shell),
  ],
  [
    "locks",
    "list the locks that somebody holds, and take one away",
    async (command, { shell }) => (await import("../../surfaces/locks/command.ts")).registerLocks(command, shell),
  ],
  [
    "fleet",
    "rent machines within a budget, return them, and show what they cost",
    async (command, { shell }) => (await import("../../surfaces/fleet/command.ts")).registerFleet(command, shell),
  ],
  [
    "cluster",
    "make one coordinator three, and look after them: init, join, status, members, step-down, verify, dissolve",
    async (command, { shell, settings }) => {
      (await import("../../surfaces/cluster/command.ts")).registerCluster(command, shell);
      (await import("./cluster.command.ts")).registerClusterSetup(command, shell, settings);
    },
  ],
  [
    "queue",
    "list, show, add, cancel and retry jobs, and count the waiting ones",
    async (command, { shell }) => (await import("../../surfaces/queue/command.ts")).registerQueue(command, shell),
  ],
  [
    "pipeline [options] [config]",
    "show the stage of every config, or the details of one",
    async (command, { shell }) => (await import("../../surfaces/pipeline/command.ts")).registerPipeline(command, shell),
  ],
  [
    "models",
    "list, show and export the models that were trained",
    async (command, { shell }) => {
      (await import("../../surfaces/models/command.ts")).registerModels(command, shell);
      // The rules and the network of a model are the arena's to tell; it is loaded when one is exported.
      const aboutModel = async (path: string) => {
        const { createArenaConsole } = await import("../../workloads/arena/index.ts");
        return createArenaConsole().aboutModel(path);
      };
      (await import("./models-export.command.ts")).registerModelsExport(command, shell, { aboutModel });
    },
  ],
  [
    "artifacts",
    "list, show, verify, pin and free the files that jobs made, and see where their copies are",
    async (command, { shell }) =>
      (await import("../../surfaces/artifacts/command.ts")).registerArtifacts(command, shell),
  ],
  [
    "sync",
    "bring games, models and samples to nodes now, and follow or cancel that",
    async (command, { shell }) => (await import("../../surfaces/sync/command.ts")).registerSync(command, shell),
  ],
  [
    "backup",
    "keep what was trained, and get it back: run, list, verify, restore, drill, prune, status",
    async (command, { shell, settings }) => {
      const { backupReader } = await import("./backup-reader.ts");
      const { registerBackup } = await import("../../surfaces/backup/command.ts");
      registerBackup(
        command,
        shell,
        backupReader(shell.io.cwd, () => settings({})),
      );
    },
  ],
  [
    "elo [options] <config>",
    "draw the ladder of a config: champions and named opponents, with their intervals",
    async (command, { shell }) => (await import("../../surfaces/pipeline/elo.command.ts")).registerElo(command, shell),
  ],
  [
    "ledger",
    "show the books: games produced = durable + in flight + rejected; exit code 1 if they do not balance",
    async (command, { shell }) =>
      (await import("../../surfaces/pipeline/ledger.command.ts")).registerLedger(command, shell),
  ],
  [
    "promote [options] <model>",
    "make a model the champion of its config by hand; if it turns out to be worse, it is rolled back",
    async (command, { shell }) => (await steering()).registerPromote(command, shell),
  ],
  [
    "rollback [options] <config>",
    "bring back the last good champion of a config",
    async (command, { shell }) => (await steering()).registerRollback(command, shell),
  ],
  [
    "pause [options] <config>",
    "pause a config: running jobs end, and nothing new starts until 'resume'",
    async (command, { shell }) => (await steering()).registerPause(command, shell),
  ],
  [
    "resume [options] <config>",
    "continue a config that was paused",
    async (command, { shell }) => (await steering()).registerResume(command, shell),
  ],
  [
    "retry [options] <config>",
    "try a failed stage again now, after you have fixed the cause; for jobs use 'queue retry'",
    async (command, { shell }) => (await steering()).registerRetry(command, shell),
  ],
  [
    "steering",
    "show what steers each config and why, and hold a knob by hand",
    async (command, { shell }) => (await import("../../surfaces/steering/command.ts")).registerSteering(command, shell),
  ],
  [
    "trace <id>",
    "show where a game, a file, a model or a job comes from, and what was made from it; for events use 'events trace'",
    async (command, { shell }) =>
      (await import("../../surfaces/pipeline/trace.command.ts")).registerTrace(command, shell),
  ],
  [
    "why [subject]",
    "explain why something runs or does not: each gate with its actual and required value; exit code 1 if a gate is closed",
    async (command, { shell }) => (await import("../../surfaces/why/command.ts")).registerWhy(command, shell),
  ],
  [
    "find <text>",
    "find anything by its name or id, or a part of it, with the command that shows it; exit code 1 if nothing has it",
    async (command, { shell }) => (await import("../../surfaces/search/command.ts")).registerFind(command, shell),
  ],
  [
    "resources",
    "show what every process uses: memory, open files, processor time, children, transfers; and how late the loops of the main process and its workers are",
    async (command, { shell }) =>
      (await import("../../surfaces/resources/command.ts")).registerResources(command, shell),
  ],
  [
    "logs [options]",
    "show the log of the main process, oldest line first, also after it has ended",
    async (command, { shell }) => (await import("../../surfaces/logs/command.ts")).registerLogs(command, shell),
  ],
  [
    "open [options]",
    "open the page in a browser, logged in: it prints an address that is good once",
    async (command, { shell }) => (await import("../../surfaces/session/command.ts")).registerOpen(command, shell),
  ],
  [
    "share",
    "create, list and revoke links that show a part of the page to people who shall only look",
    async (command, { shell }) => (await import("../../surfaces/shares/command.ts")).registerShare(command, shell),
  ],
  [
    "token",
    "create, list and revoke tokens for the API over the network",
    async (command, { shell }) => (await import("../../surfaces/tokens/command.ts")).registerToken(command, shell),
  ],
  [
    "events",
    "list, show, publish, follow, trace and replay events",
    async (command, { shell, ports, settings }) => {
      const { nodeOutboxes } = await import("./node-outboxes.ts");
      const { registerEvents } = await import("../../surfaces/events/command.ts");
      registerEvents(
        command,
        shell,
        await loadCatalog(),
        nodeOutboxes(() => settings({}), ports),
      );
    },
  ],
  [
    "dlq [options]",
    "show, retry and discard dead letters: deliveries that have failed too often. Without options: counts, health and causes",
    async (command, { shell }) =>
      (await import("../../surfaces/dead-letters/command.ts")).registerDlq(command, shell, await loadCatalog()),
  ],
  [
    "config",
    "show the settings and where each value comes from, and check them",
    async (command, { shell, inspect }) =>
      (await import("../../surfaces/config/command.ts")).registerConfig(command, shell, { inspect }),
  ],
  [
    "doctor [options]",
    "check Node, settings, data folder, disk, journal, port, clock, memory and limits; exit code 1 if something fails",
    async (command, given) => (await import("./doctor.command.ts")).registerDoctor(command, given.shell, given),
  ],
  [
    "stats",
    "calculate Elo, sequential tests and ladders, and simulate gates",
    async (command, { shell }) => (await import("../../surfaces/stats/command.ts")).registerStats(command, shell),
  ],
  [
    "audit [options]",
    "check the wiring: units, subscriptions, orphans, dead and unbridged events; exit code 1 if it fails",
    async (command, { shell }) => {
      const { auditDeclarations } = await import("./declarations.ts");
      (await import("../../surfaces/audit/command.ts")).registerAudit(command, shell, async (facts) =>
        auditDeclarations(facts),
      );
    },
  ],
  [
    "games",
    "list and show the built-in games",
    async (command, { shell }) => {
      const { createArenaConsole } = await import("../../workloads/arena/index.ts");
      (await import("./games.command.ts")).registerGames(command, shell, createArenaConsole());
    },
  ],
  [
    "records",
    "list and export played games, or show one with its moves and board",
    async (command, { shell }) => {
      const { createArenaConsole } = await import("../../workloads/arena/index.ts");
      (await import("./records.command.ts")).registerRecords(command, shell, createArenaConsole());
    },
  ],
  [
    "import [options] <folder>",
    "take games (.jsonl, .arena) and rows (.npz) that were made elsewhere into the books; exit code 1 if a file was refused",
    async (command, { shell }) => {
      const { createStructureReader } = await import("../../workloads/arena/index.ts");
      (await import("./import.command.ts")).registerImport(command, shell, createStructureReader);
    },
  ],
  [
    "play [options] [config_key]",
    "play a game in the terminal, built-in or your own, against the champion, a fixed opponent or a model file",
    async (command, { shell, ports, settings }) => {
      const { createArenaConsole } = await import("../../workloads/arena/index.ts");
      const { workloadList } = await import("../worker/workload-list.ts");
      const { championsOfFolder } = await import("./folder-champion.ts");
      const { createTables } = await import("./play/tables.ts");
      const workloads = () => {
        const { configFile, worker } = settings({});
        return workloadList(configFile, worker.graceMs / 1_000);
      };
      const { env, signal } = shell.io;
      const tables = createTables(createArenaConsole(), workloads, { ...ports, env, signal });
      const champions = championsOfFolder(shell.main);
      (await import("./play.command.ts")).registerPlay(command, shell.io, tables, champions);
    },
  ],
  [
    "workload",
    "check your own program as a workload, or read the protocol",
    async (command, { shell, ports }) => {
      const { createWorkloadConsole } = await import("../../workloads/process/index.ts");
      const { env, cwd } = shell.io;
      (await import("./workload.command.ts")).registerWorkload(
        command,
        shell,
        createWorkloadConsole({ ...ports, env, cwd }),
      );
    },
  ],
  [
    "completion <shell>",
    "print the script with which bash, zsh or fish completes these commands",
    async (command, { shell, whole }) =>
      (await import("./completion.command.ts")).registerCompletion(command, shell, whole),
  ],
];
