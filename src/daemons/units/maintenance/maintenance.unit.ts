import { defined, messageOf } from "../../../kernel/index.ts";
import { defineTable } from "../../../router/index.ts";
import type { UnitHealth } from "../../health.ts";
import { maintenanceDefaults } from "../../limits.ts";
import type { DaemonsServices } from "../../services.ts";
import { type ContextOf, defineDaemon, type Wiring } from "../../unit/shape.ts";
import type { Chore } from "./chore.ts";
import type { DatabaseCare } from "./database-care.port.ts";
import { freePages, optimize, shrinkStore, trimGrowing } from "./store-chores.ts";

const wiring = {
  name: "maintenance",
  layer: 2,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["MAINTENANCE"],
  alsoKnownAs: ["MaintenanceDaemon"],
  dependsOn: ["event_router"],
  emits: ["ERROR"],
} as const satisfies Wiring;

/** When each chore was done last, so that a process that is often restarted neither repeats nor misses them. */
const chores = defineTable<{ at: number; problem: string | null }>("maintenance_chores");

type Context = ContextOf<typeof wiring>;

type MaintenanceServices = Pick<DaemonsServices, "store" | "database" | "logFile" | "chores" | "maintenance"> & {
  readonly router: Pick<DaemonsServices["router"], "nodeId">;
};

/** The database was looked through and is damaged. */
class Damage extends Error {}

/**
 * Keeps the house clean: gives free pages back, keeps the write-ahead log short, trims what only grows, and looks through the
 * database once a day. Journal retention is event_router's business, and files are disk_space_manager's.
 */
export const maintenance = ({
  router,
  store,
  database,
  logFile,
  chores: more = [],
  maintenance: given,
}: MaintenanceServices) => {
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
      async run(signal) {
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
    ...more,
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
        async run(signal) {
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
      component: wiring.name,
      error: isDamage ? `the database is damaged: ${problem}` : `chore '${name}' failed: ${problem}`,
      error_code: isDamage ? "STORE_CORRUPT" : "CHORE_FAILED",
      severity: isDamage ? "critical" : "warning",
      node_id: router.nodeId,
      details: { chore: name },
    });
    return problem;
  };

  return defineDaemon({
    ...wiring,
    state: { tables: { chores } },
    loop: {
      everyMs: settings.everyMs,
      async tick(context) {
        const { rows, now, signal, log } = context;
        for (const chore of all) {
          if (signal.aborted) return;
          if (!due(chore, context)) continue;
          // One that fails is told and does not keep the others from their turn.
          const problem = await chore.run(signal).then(
            (done) => {
              if (done !== undefined) log.info(`the chore ${chore.name} is done`, { ...done });
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
        ...defined({ wal_bytes: database?.walBytes(), lost_log_lines: logFile?.lost }),
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
