import type { Wiring } from "../../../../daemons/index.ts";
import { sumOf } from "../../../../kernel/index.ts";
import {
  type ConfigLook,
  defineStage,
  done,
  doneIn,
  everyMs,
  exportWork,
  JOB_ENDS,
  type LookOf,
  lostFiles,
  NO_INPUT,
  pausedWait,
  rebuildRows,
  type Shard,
  type StageServices,
  syncWork,
  type TurnOf,
  waiting,
  windowWith,
} from "../../../stage/index.ts";
import { createArtifactRebuilder } from "../../rebuild/rebuilder.ts";
import { broughtExports, type ExportBase, exportBases } from "../../tables.ts";
import { combineNow } from "./combine.ts";
import { windowOf, withoutLost } from "./decide.ts";
import { exportNow, type Work } from "./export-jobs.ts";
import { filesOfShard } from "./shards.ts";

const wiring = {
  name: "auto_export_daemon",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "export",
  daemonTypes: ["AUTO_EXPORT", "NPZ_COMBINATION"],
  alsoKnownAs: ["AutoExportDaemon", "NPZCombinationDaemon", "ExportScheduler"],
  pattern: "GET",
  dependsOn: ["pipeline_orchestrator"],
  emits: [
    "WORK_QUEUED",
    "NPZ_EXPORT_STARTED",
    "NPZ_EXPORT_COMPLETE",
    "NPZ_COMBINATION_STARTED",
    "NPZ_COMBINATION_COMPLETE",
    "NPZ_COMBINATION_FAILED",
    "REPAIR_COMPLETED",
    "REPAIR_FAILED",
  ],
} as const satisfies Wiring;

type Look = LookOf<typeof wiring>;
type Turn = TurnOf<typeof wiring>;

/**
 * Turns the accepted games of an iteration into a training file, chooses the files that training sees, and makes one of the
 * oldest when they become many. A combination that fails is no failure of the stage: the plain files hold the same rows.
 * Besides, it has files that are lost made again; a training file that nobody can make is left out of the window.
 */
export const autoExport = (services: StageServices) => {
  const rebuilder = createArtifactRebuilder(services);
  return defineStage({
    ...wiring,
    stage: "npz_export",
    work: exportWork,
    state: { tables: { exportBases, rebuildRows, broughtExports } },
    wakes: [
      "EXPORT_TRIGGERED",
      "NEW_GAMES_AVAILABLE",
      "CONSOLIDATION_COMPLETE",
      "MODEL_CORRUPTED",
      "DATA_SYNC_FAILED",
      ...JOB_ENDS,
    ],
    // A job of any stage that lacks an input may wait for a file to be made again.
    jobs: ({ work_type, error_code }) => work_type === "export" || error_code === NO_INPUT,
    everyMs: everyMs(services),
    begin: (turn) => {
      const { window, total_rows } = baseOf(turn);
      return { window, total_rows, new_rows: 0 };
    },
    follow: (turn, work) => step(services, turn, work),
    besides: async (look) => {
      await rebuilder.look(look);
      leaveOut(services, look);
    },
    details: (rows) => ({
      window_files: Object.fromEntries(rows.list(exportWork).map(([key, { own }]) => [key, own.window.length])),
    }),
  });
};

/** Where this iteration begins: what stood after the last one, however often it is exported. */
function baseOf({ row, put, at: { iteration } }: Turn): ExportBase {
  const known = row(exportBases);
  if (known?.iteration === iteration) return known;
  const last = row(exportWork);
  const { window, total_rows } = last?.state === "done" ? last.own : (known ?? { window: [], total_rows: 0 });
  const base = { iteration, window, total_rows };
  put(exportBases, base);
  return base;
}

function step(services: StageServices, turn: Turn, work: Work): Work {
  const { row, at, now, plan, paused } = turn;
  const base = baseOf(turn);
  if (paused !== null) return waiting(work, now, pausedWait(paused));
  const sync = row(syncWork);
  const segments = doneIn(sync, at)?.own.accepted;
  if (segments === undefined)
    return waiting(work, now, {
      for: "accepted_games",
      actual: sync?.state ?? null,
      required: "a batch that is accepted",
    });
  const exported = exportNow(services, turn, work, segments);
  if (!("shards" in exported)) return exported;
  const { shards } = exported;
  const new_rows = rowsIn(shards);
  const total_rows = base.total_rows + new_rows;
  const plain = windowOf([...base.window, ...shards], total_rows, windowWith(plan.window, at.knobs));
  const begun: Work = { ...exported.work, own: { window: plain, total_rows, new_rows } };
  const combined = combineNow(services, turn, begun, plain);
  if (!("combination" in combined)) return combined;
  const { window, combination } = combined;
  pinWindow(services, turn, window);
  return done(begun, now, {
    outputs: shards.flatMap(filesOfShard),
    own: { window, total_rows, new_rows },
    evidence: {
      ...begun.evidence,
      rows: new_rows,
      holdout_rows: sumOf(shards, ({ holdout }) => holdout?.rows ?? 0),
      total_rows,
      window_rows: rowsIn(window),
      window_files: window.length,
      combination,
      ...(plan.kinds.includes("export") ? {} : { exported_by: "nobody: the plan has no kind 'export'" }),
    },
  });
}

const rowsIn = (shards: readonly Shard[]): number => sumOf(shards, ({ rows }) => rows);

const pinWindow = ({ catalog }: StageServices, look: ConfigLook, window: readonly Shard[]) =>
  catalog.join(look).pin(
    `window:${look.configKey}`,
    window.flatMap(filesOfShard).map(({ sha256 }) => sha256),
  );

/** Training sees no file that nobody can make again. */
function leaveOut(services: StageServices, look: Look): void {
  const { row, put, log, configKey } = look;
  const lost = lostFiles(row(rebuildRows));
  if (lost.size === 0) return;
  const base = row(exportBases);
  if (base !== undefined) put(exportBases, { ...base, window: withoutLost(base.window, lost).window });
  const work = row(exportWork);
  if (work === undefined) return;
  const { window, left } = withoutLost(work.own.window, lost);
  if (left.length === 0) return;
  const left_out = [...((work.evidence.left_out ?? []) as string[]), ...left];
  put(exportWork, {
    ...work,
    own: { ...work.own, window },
    evidence: { ...work.evidence, left_out, window_files: window.length },
  });
  pinWindow(services, look, window);
  log.warn("lost training files are left out of the window", { config_key: configKey, files: left });
}
