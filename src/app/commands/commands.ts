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
    "run the main process in the foreground until SIGTERM or Ctrl-C; a second one forces it to end, with exit code 130",
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
    "train models by self-play on this machine, and show how strong they get; what was begun in this data folder goes on",
    async (command, { shell, settings }) =>
      (await import("./train.command.ts")).registerTrain(command, shell, settings),
  ],
  [
    "down [options]",
    "stop the main process and wait until it is gone; exit code 1 when it still runs, 0 when nothing ran",
    async (command, { shell }) => (await import("./down.command.ts")).registerDown(command, shell),
  ],
  [
    "worker [options]",
    "do jobs in the foreground until SIGTERM or Ctrl-C; running jobs then have their grace, and what does not end is given back",
    async (command, { shell, ports, settings }) =>
      (await import("./worker.command.ts")).registerWorker(command, shell, ports.random, settings),
  ],
  [
    "join [options] <url> [token]",
    "make this machine a node of a main process elsewhere, and do jobs for it; it only dials out",
    async (command, { shell, ports, settings }) =>
      (await import("./join.command.ts")).registerJoin(command, shell, ports.random, settings),
  ],
  [
    "status [options]",
    "is it well, what is wrong, what to do; exit code 1 when something needs you, 4 when nothing runs",
    async (command, { shell }) => {
      const { registerStatus } = await import("../../surfaces/status/command.ts");
      registerStatus(command, shell, async () => (await import("./node-status.ts")).nodeStatusOf(shell));
    },
  ],
  [
    "daemons",
    "the daemons of the main process: look at them, start, stop, restart, reset, pause and resume them",
    async (command, { shell }) => {
      const { registerDaemons } = await import("../../surfaces/daemons/command.ts");
      registerDaemons(command, shell, async (dataDir) => (await import("./folder-books.ts")).readFolderBooks(dataDir));
    },
  ],
  [
    "health",
    "how well the system does, part by part, and whether it takes new work; exit code 1 unless it is healthy",
    async (command, { shell }) => (await import("../../surfaces/health/command.ts")).registerHealth(command, shell),
  ],
  [
    "alerts",
    "what needs a person: list, show, acknowledge and close alerts",
    async (command, { shell }) => (await import("../../surfaces/alerts/command.ts")).registerAlerts(command, shell),
  ],
  [
    "nodes",
    "the machines of the cluster: list, show, drain, cordon, forget",
    async (command, { shell }) => (await import("../../surfaces/nodes/command.ts")).registerNodes(command, shell),
  ],
  [
    "queue",
    "the work: list, show, add, cancel and retry jobs, and how much waits",
    async (command, { shell }) => (await import("../../surfaces/queue/command.ts")).registerQueue(command, shell),
  ],
  [
    "pipeline [options] [config]",
    "the loop: where every config stands, or all about one",
    async (command, { shell }) => (await import("../../surfaces/pipeline/command.ts")).registerPipeline(command, shell),
  ],
  [
    "models",
    "the models that the loop has made: list, show, export",
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
    "the files that jobs made and where they lie: list, show, copies, verify, pin, free",
    async (command, { shell }) =>
      (await import("../../surfaces/artifacts/command.ts")).registerArtifacts(command, shell),
  ],
  [
    "sync",
    "bring games, models and samples to nodes now: run, explain, status, cancel",
    async (command, { shell }) => (await import("../../surfaces/sync/command.ts")).registerSync(command, shell),
  ],
  [
    "elo [options] <config>",
    "the ladder of a config: champions and named opponents with their intervals, drawn on one scale",
    async (command, { shell }) => (await import("../../surfaces/pipeline/elo.command.ts")).registerElo(command, shell),
  ],
  [
    "ledger",
    "the books: games produced = durable + in flight + rejected; exit code 1 when something does not balance",
    async (command, { shell }) =>
      (await import("../../surfaces/pipeline/ledger.command.ts")).registerLedger(command, shell),
  ],
  [
    "promote [options] <model>",
    "make a model the champion of its config by hand; if it turns out worse it is rolled back",
    async (command, { shell }) => (await steering()).registerPromote(command, shell),
  ],
  [
    "rollback [options] <config>",
    "put the last good champion of a config back",
    async (command, { shell }) => (await steering()).registerRollback(command, shell),
  ],
  [
    "pause [options] <config>",
    "hold a config: what runs ends, and nothing new begins until 'resume'",
    async (command, { shell }) => (await steering()).registerPause(command, shell),
  ],
  [
    "resume [options] <config>",
    "let a config that was held go on",
    async (command, { shell }) => (await steering()).registerResume(command, shell),
  ],
  [
    "retry [options] <config>",
    "try a stage that has failed again at once, when its cause is mended; for jobs: 'queue retry'",
    async (command, { shell }) => (await steering()).registerRetry(command, shell),
  ],
  [
    "trace <id>",
    "where a game, a file, a model or a job comes from, and what came of it; for events: 'events trace'",
    async (command, { shell }) =>
      (await import("../../surfaces/pipeline/trace.command.ts")).registerTrace(command, shell),
  ],
  [
    "why <subject>",
    "why something runs or does not: each gate with what is and what must be; exit code 1 when one does not open",
    async (command, { shell }) => (await import("../../surfaces/why/command.ts")).registerWhy(command, shell),
  ],
  [
    "resources",
    "what every process takes of the machine: memory, open files, processor time, delay of the main loop, children, transfers",
    async (command, { shell }) =>
      (await import("../../surfaces/resources/command.ts")).registerResources(command, shell),
  ],
  [
    "logs [options]",
    "the log of the main process, oldest line first; also after it has ended",
    async (command, { shell }) => (await import("../../surfaces/logs/command.ts")).registerLogs(command, shell),
  ],
  [
    "token",
    "tokens for the API over the network: make, list and revoke them",
    async (command, { shell }) => (await import("../../surfaces/tokens/command.ts")).registerToken(command, shell),
  ],
  [
    "events",
    "the events there are, and what happens: list, show, tail, history, publish, outbox, trace",
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
    "dead letters: deliveries whose tries are spent. Without options: counts, health and causes",
    async (command, { shell }) =>
      (await import("../../surfaces/dead-letters/command.ts")).registerDlq(command, shell, await loadCatalog()),
  ],
  [
    "config",
    "the settings: what holds, where it came from, what is wrong",
    async (command, { shell, inspect }) =>
      (await import("../../surfaces/config/command.ts")).registerConfig(command, shell, { inspect }),
  ],
  [
    "doctor [options]",
    "look at Node, settings, data folder, disk, journal, port, clock, memory and limits; exit code 1 when something fails",
    async (command, given) => (await import("./doctor.command.ts")).registerDoctor(command, given.shell, given),
  ],
  [
    "stats",
    "a calculator: Elo, sequential tests, ladders, and what a gate would do",
    async (command, { shell }) => (await import("../../surfaces/stats/command.ts")).registerStats(command, shell),
  ],
  [
    "audit [options]",
    "judge the wiring: units, subscriptions, orphans, dead and unbridged events; exit code 1 when it fails",
    async (command, { shell }) => {
      const { auditDeclarations } = await import("./declarations.ts");
      (await import("../../surfaces/audit/command.ts")).registerAudit(command, shell, async (facts) =>
        auditDeclarations(facts),
      );
    },
  ],
  [
    "games",
    "the built-in games",
    async (command, { shell }) => {
      const { createArenaConsole } = await import("../../workloads/arena/index.ts");
      (await import("./games.command.ts")).registerGames(command, shell, createArenaConsole());
    },
  ],
  [
    "records",
    "the games that were played: list them, show one with its moves and board, export them",
    async (command, { shell }) => {
      const { createArenaConsole } = await import("../../workloads/arena/index.ts");
      (await import("./records.command.ts")).registerRecords(command, shell, createArenaConsole());
    },
  ],
  [
    "play [options] [config_key]",
    "play a game in the terminal, built-in or of your workload, against the champion, a baseline or a model file",
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
    "programs of your own as workloads: try them, read the protocol",
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
    "print what bash, zsh or fish needs to complete these commands",
    async (command, { shell, whole }) =>
      (await import("./completion.command.ts")).registerCompletion(command, shell, whole),
  ],
];
