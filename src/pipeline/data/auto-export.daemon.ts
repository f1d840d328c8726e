import { defineDaemon, onEach } from "../../daemons/index.ts";
import { type ConfigPlan, type ConfigRow, configs } from "../config-plan.ts";
import { type Iteration, isTurnOf, iterations } from "../iteration.ts";
import { lostFiles, NO_INPUT, rebuildRows } from "../rebuild-rows.ts";
import { putChanged, waiting } from "../stage-rows.ts";
import { beginWork, exportWork, isFor, type Shard, syncWork } from "../stage-work.ts";
import { createArtifactRebuilder } from "./artifact-rebuilder.ts";
import {
  type ExportContext as Context,
  createExportSteps,
  type ExportPorts,
  type ExportTurn as Turn,
  type ExportWork as Work,
} from "./export-steps.ts";
import type { RebuildPorts } from "./rebuild-steps.ts";
import { type ExportBase, exportBases, filesOfShard } from "./shards.ts";
import { windowOf, withoutLost } from "./window.ts";

export interface AutoExportPorts extends ExportPorts {
  /** How lost files are made again; without it nobody does. */
  readonly rebuilding?: RebuildPorts;
  readonly settings?: { readonly everyMs?: number };
}

type ConfigKey = ConfigPlan["config_key"];

/**
 * Turns the accepted games of an iteration into a training file, chooses the files that training sees, and makes one of the
 * oldest when they become many. A combination that fails is no failure of the stage: the plain files hold the same rows.
 * Besides, it has files that are lost made again; a training file that nobody can make is left out of the window.
 */
export const autoExport = ({ queue, catalog, rebuilding, settings = {} }: AutoExportPorts) => {
  const { exportNow, combineNow } = createExportSteps({ queue, catalog });
  const rebuilder = rebuilding === undefined ? undefined : createArtifactRebuilder(rebuilding);

  const step = (turn: Turn, work: Work): Work => {
    const { context, plan, base } = turn;
    const exported = exportNow(turn, work);
    if (!("shards" in exported)) return exported;
    const { shards } = exported;
    const new_rows = shards.reduce((sum, { rows }) => sum + rows, 0);
    const total_rows = base.total_rows + new_rows;
    const plain = windowOf([...base.window, ...shards], total_rows, plan.window);
    const begun: Work = { ...exported.work, own: { window: plain, total_rows, new_rows } };
    const combined = combineNow(turn, begun, plain);
    if (!("combination" in combined)) return combined;
    const { window, combination } = combined;
    pinWindow(context, plan.config_key, window);
    return {
      ...begun,
      state: "done",
      ended_at: context.now,
      waits: [],
      outputs: shards.flatMap(filesOfShard),
      own: { window, total_rows, new_rows },
      evidence: {
        ...begun.evidence,
        rows: new_rows,
        holdout_rows: shards.reduce((sum, { holdout }) => sum + (holdout?.rows ?? 0), 0),
        total_rows,
        window_rows: window.reduce((sum, { rows }) => sum + rows, 0),
        window_files: window.length,
        combination,
        ...(plan.kinds.includes("export") ? {} : { exported_by: "nobody: the plan has no kind 'export'" }),
      },
    };
  };

  /** Where this iteration begins: what stood after the last one, however often it is exported. */
  const baseOf = ({ rows }: Context, key: ConfigKey, { iteration }: Iteration): ExportBase => {
    const known = rows.get(exportBases, key);
    if (known?.iteration === iteration) return known;
    const last = rows.get(exportWork, key);
    const base =
      last === undefined || last.state !== "done"
        ? { iteration, window: known?.window ?? [], total_rows: known?.total_rows ?? 0 }
        : { iteration, window: last.own.window, total_rows: last.own.total_rows };
    rows.put(exportBases, key, base);
    return base;
  };

  /** The row after one more look. */
  const look = (context: Context, { plan, paused }: ConfigRow, iteration: Iteration, known: Work | undefined): Work => {
    const { rows, now } = context;
    const base = baseOf(context, plan.config_key, iteration);
    const { window, total_rows } = base;
    const work = known ?? beginWork(iteration, now, { window, total_rows, new_rows: 0 });
    const sync = rows.get(syncWork, plan.config_key);
    if (paused !== null)
      return waiting(work, now, [{ for: "pause", actual: `${paused.by}: ${paused.reason}`, required: "resumed" }]);
    if (sync?.iteration !== iteration.iteration || sync.state !== "done")
      return waiting(work, now, [
        { for: "accepted_games", actual: sync?.state ?? null, required: "a batch that is accepted" },
      ]);
    return step({ context, plan, iteration, segments: sync.own.accepted, base }, work);
  };

  const pinWindow = (context: Context, key: ConfigKey, window: readonly Shard[]) =>
    catalog.join(context).pin(
      `window:${key}`,
      window.flatMap(filesOfShard).map(({ sha256 }) => sha256),
    );

  /** Training sees no file that nobody can make again. */
  const leaveOut = (context: Context, key: ConfigKey): void => {
    const { rows } = context;
    const lost = lostFiles(rows.get(rebuildRows, key));
    if (lost.size === 0) return;
    const base = rows.get(exportBases, key);
    if (base !== undefined)
      putChanged(rows, exportBases, key, { ...base, window: withoutLost(base.window, lost).window });
    const work = rows.get(exportWork, key);
    if (work === undefined) return;
    const { window, left } = withoutLost(work.own.window, lost);
    if (left.length === 0) return;
    const note = [...((work.evidence.left_out ?? []) as string[]), ...left];
    rows.put(exportWork, key, {
      ...work,
      own: { ...work.own, window },
      evidence: { ...work.evidence, left_out: note, window_files: window.length },
    });
    pinWindow(context, key, window);
    context.log.warn("lost training files are left out of the window", { config_key: key, files: left });
  };

  const lookForLost = async (context: Context, configKey: string): Promise<void> => {
    await rebuilder?.look(context, configKey);
    leaveOut(context, configKey as ConfigKey);
  };

  const lookForAllLost = async (context: Context): Promise<void> => {
    for (const [key] of context.rows.list(configs)) await lookForLost(context, key);
  };

  const reconcile = (context: Context, configKey: string): void => {
    const { rows } = context;
    const config = rows.get(configs, configKey);
    const iteration = rows.get(iterations, configKey);
    if (config === undefined || !isTurnOf("npz_export", iteration)) return;
    const known = rows.get(exportWork, configKey);
    const current = known !== undefined && isFor(known, iteration) ? known : undefined;
    if (current === undefined || current.state === "running")
      putChanged(rows, exportWork, configKey, look(context, config, iteration, current));
  };

  return defineDaemon({
    name: "auto_export_daemon",
    layer: 7,
    placement: "leader",
    alsoKnownAs: ["AUTO_EXPORT", "NPZ_COMBINATION", "AutoExportDaemon", "NPZCombinationDaemon", "ExportScheduler"],
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
    state: { tables: { exportWork, exportBases, rebuildRows } },
    on: {
      PIPELINE_STAGE_ENTERED: ({ payload }, context: Context) => {
        if (payload.pipeline_stage === "npz_export") reconcile(context, payload.config_key);
      },
      ...onEach(["EXPORT_TRIGGERED", "NEW_GAMES_AVAILABLE"], ({ payload: { config_key } }, context: Context) =>
        reconcile(context, config_key),
      ),
      ...onEach(["WORK_COMPLETED", "WORK_FAILED", "WORK_CANCELLED"], async ({ payload }, context: Context) => {
        const { work_id, work_type, config_key } = payload;
        if (config_key === undefined) return;
        if (work_type === "export") reconcile(context, config_key);
        const known = Object.values(context.rows.get(rebuildRows, config_key)?.rebuilds ?? {});
        const lacksInput = "error_code" in payload && payload.error_code === NO_INPUT;
        if (lacksInput || known.some(({ job }) => job === work_id)) await lookForLost(context, config_key);
      }),
      ...onEach(["MODEL_CORRUPTED", "DATA_SYNC_FAILED"], (_event, context: Context) => lookForAllLost(context)),
    },
    loop: {
      everyMs: settings.everyMs ?? 2_000,
      async tick(context) {
        for (const [key] of context.rows.list(configs)) reconcile(context, key);
        await lookForAllLost(context);
      },
    },
    health: ({ rows }) => {
      const all = rows.list(exportWork);
      const [broken] = all.filter(([, { state }]) => state === "failed");
      const details = { window_files: Object.fromEntries(all.map(([key, { own }]) => [key, own.window.length])) };
      return broken === undefined
        ? { status: "running", message: "", details }
        : { status: "degraded", message: `${broken[0]}: ${broken[1].failure?.message}`, details };
    },
  });
};
