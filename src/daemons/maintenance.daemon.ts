import { type LogFile, messageOf } from "../kernel/index.ts";
import { defineTable, type Store } from "../router/index.ts";
import { KEPT_ACTIONS } from "./daemon-manager/ledger.ts";
import type { DatabaseCare } from "./database-care.port.ts";
import type { UnitHealth } from "./health.ts";
import { freePages, optimize, shrinkStore, type TrimRules, trimGrowing, type VacuumRules } from "./store-chores.ts";
import { defineDaemon, type UnitContext } from "./unit.ts";

export interface MaintenancePorts {
  readonly store: Store;
  readonly nodeId: string;
  /** The database file, where the store is one. */
  readonly database?: DatabaseCare | undefined;
  /** The log file of this process, where it has one. */
  readonly logFile?: Pick<LogFile, "tidy" | "lost"> | undefined;
  /** What the rooms above have to be tidied. */
  readonly chores?: readonly MoreChore[];
  readonly settings?: Partial<MaintenanceSettings>;
}

/** A chore of another room. */
export interface MoreChore {
  readonly name: string;
  readonly everyMs: number;
  /** Resolves to what is worth a line in the log; rejects if it could not be done. */
  run(signal: AbortSignal): Promise<Readonly<Record<string, unknown>> | undefined>;
}

export interface MaintenanceSettings {
  readonly everyMs: number;
  readonly trimEveryMs: number;
  readonly shrinkEveryMs: number;
  readonly optimizeEveryMs: number;
  readonly integrityEveryMs: number;
  readonly walEveryMs: number;
  /** A write-ahead log that is longer is cut. */
  readonly walBytes: number;
  /** A chore that failed is tried again after this, or at its next time if that is sooner. */
  readonly retryMs: number;
  readonly vacuum: VacuumRules;
  readonly trim: TrimRules;
}

const HOUR = 3_600_000;

export const maintenanceDefaults: MaintenanceSettings = {
  everyMs: 60_000,
  trimEveryMs: HOUR,
  shrinkEveryMs: HOUR,
  optimizeEveryMs: 24 * HOUR,
  integrityEveryMs: 24 * HOUR,
  walEveryMs: 5 * 60_000,
  walBytes: 64_000_000,
  retryMs: 10 * 60_000,
  vacuum: { leastBytes: 16_000_000, share: 0.25, pages: 64, mostCommits: 1_000 },
  trim: { letterActions: 10_000, tables: [{ table: "daemon_actions", keep: KEPT_ACTIONS }], chunk: 500 },
};

/** When each chore was done last, so that a process that is often restarted neither repeats nor misses them. */
const chores = defineTable<{ at: number; problem: string | null }>("maintenance_chores");

type Context = UnitContext<"ERROR">;

interface Chore {
  readonly name: string;
  readonly everyMs: number;
  /** Resolves to what is worth a line in the log; rejects if it could not be done. */
  run(context: Context): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** The database was looked through and is damaged. */
class Damage extends Error {}

/**
 * Keeps the house clean: gives free pages back, keeps the write-ahead log and the log files short, trims what only grows,
 * and looks through the database once a day. Journal retention is not its business: that is event_router's.
 */
export const maintenanceDaemon = ({
  store,
  nodeId,
  database,
  logFile,
  chores: more = [],
  settings: given = {},
}: MaintenancePorts) => {
  const settings = { ...maintenanceDefaults, ...given };

  const all: readonly Chore[] = [
    {
      name: "trim",
      everyMs: settings.trimEveryMs,
      async run() {
        const deleted = await trimGrowing(store, settings.trim);
        return deleted === 0 ? undefined : { deleted };
      },
    },
    {
      name: "shrink",
      everyMs: settings.shrinkEveryMs,
      async run({ signal }) {
        const pages = await shrinkStore(store, settings.vacuum, signal);
        return pages === 0 ? undefined : { pages };
      },
    },
    {
      name: "optimize",
      everyMs: settings.optimizeEveryMs,
      async run() {
        await optimize(store);
        return undefined;
      },
    },
    ...(database === undefined ? [] : choresOf(database)),
    ...more.map(({ name, everyMs, run }): Chore => ({ name, everyMs, run: ({ signal }) => run(signal) })),
  ];

  function choresOf(care: DatabaseCare): Chore[] {
    return [
      {
        name: "wal",
        everyMs: settings.walEveryMs,
        async run() {
          const bytes = care.walBytes();
          if (bytes <= settings.walBytes) return undefined;
          return { bytes, cut: await care.truncateWal() };
        },
      },
      {
        name: "integrity",
        everyMs: settings.integrityEveryMs,
        async run({ signal }) {
          const problems = await care.check(signal);
          if (problems.length > 0) throw new Damage(problems.join("; ").slice(0, 1_000));
          return { sound: true };
        },
      },
    ];
  }

  const due = ({ name, everyMs }: Chore, { rows, now }: Context): boolean => {
    const last = rows.get(chores, name);
    if (last === undefined) return true;
    const waitMs = last.problem === null ? everyMs : Math.min(everyMs, settings.retryMs);
    // A clock that was set back must not put a chore off for ever.
    return now - last.at >= waitMs || last.at > now;
  };

  const failed = (name: string, thrown: unknown, { emit, log }: Context): string => {
    const isDamage = thrown instanceof Damage;
    const problem = messageOf(thrown).slice(0, 1_500);
    log.error("a chore failed", { chore: name, error: problem });
    emit.ERROR({
      component: "maintenance",
      error: isDamage ? `the database is damaged: ${problem}` : `chore '${name}' failed: ${problem}`,
      error_code: isDamage ? "STORE_CORRUPT" : "CHORE_FAILED",
      severity: isDamage ? "critical" : "warning",
      node_id: nodeId,
      details: { chore: name },
    });
    return problem;
  };

  return defineDaemon({
    name: "maintenance",
    layer: 2,
    placement: "leader",
    alsoKnownAs: ["MAINTENANCE", "MaintenanceDaemon"],
    dependsOn: ["event_router"],
    emits: ["ERROR"],
    state: { tables: { chores } },
    loop: {
      everyMs: settings.everyMs,
      async tick(context) {
        const { rows, now, signal, log } = context;
        if (logFile?.tidy()) log.info("a new log file was begun");
        for (const chore of all) {
          if (signal.aborted) return;
          if (!due(chore, context)) continue;
          // One that fails is told and does not keep the others from their turn.
          const problem = await chore.run(context).then(
            (done) => {
              if (done !== undefined) log.info("a chore was done", { chore: chore.name, ...done });
              return null;
            },
            (thrown: unknown) => (signal.aborted ? null : failed(chore.name, thrown, context)),
          );
          // Told to end in the middle of it: it was not done, and the next run does it.
          if (signal.aborted) return;
          rows.put(chores, chore.name, { at: now, problem });
        }
      },
    },
    health: ({ rows }): UnitHealth => {
      const done = rows.list(chores);
      const { free, all: pages, pageBytes, canShrink } = freePages(store);
      const details = {
        chores: Object.fromEntries(done.map(([name, { at, problem }]) => [name, { at: at / 1_000, problem }])),
        database_bytes: pages * pageBytes,
        free_bytes: free * pageBytes,
        can_shrink: canShrink,
        ...(database === undefined ? {} : { wal_bytes: database.walBytes() }),
        ...(logFile === undefined ? {} : { lost_log_lines: logFile.lost }),
      };
      const bad = done.filter(([, { problem }]) => problem !== null);
      return bad.length === 0
        ? { status: "running", message: "", details }
        : {
            status: "degraded",
            message: bad.map(([name, { problem }]) => `chore '${name}': ${problem}`).join("; "),
            details,
          };
    },
  });
};
