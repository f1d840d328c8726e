import { defineDaemon, onEach } from "../../daemons/index.ts";
import { type ConfigPlan, type ConfigRow, configs } from "../config-plan.ts";
import { type Iteration, isTurnOf, iterations } from "../iteration.ts";
import { putChanged, waiting } from "../stage-rows.ts";
import { beginWork, exportWork, isFor, syncWork } from "../stage-work.ts";
import {
  type ExportContext as Context,
  createExportSteps,
  type ExportPorts,
  type ExportTurn as Turn,
  type ExportWork as Work,
} from "./export-steps.ts";
import { type ExportBase, exportBases, filesOfShard } from "./shards.ts";
import { windowOf } from "./window.ts";

export interface AutoExportPorts extends ExportPorts {
  readonly settings?: { readonly everyMs?: number };
}

type ConfigKey = ConfigPlan["config_key"];

/**
 * Turns the accepted games of an iteration into a training file, chooses the files that training sees, and makes one of the
 * oldest when they become many. A combination that fails is no failure of the stage: the plain files hold the same rows.
 */
export const autoExport = ({ queue, catalog, settings = {} }: AutoExportPorts) => {
  const { exportNow, combineNow } = createExportSteps({ queue, catalog });

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
    catalog.join(context).pin(
      `window:${plan.config_key}`,
      window.flatMap(filesOfShard).map(({ sha256 }) => sha256),
    );
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
    ],
    state: { tables: { exportWork, exportBases } },
    on: {
      PIPELINE_STAGE_ENTERED: ({ payload }, context: Context) => {
        if (payload.pipeline_stage === "npz_export") reconcile(context, payload.config_key);
      },
      ...onEach(["EXPORT_TRIGGERED", "NEW_GAMES_AVAILABLE"], ({ payload: { config_key } }, context: Context) =>
        reconcile(context, config_key),
      ),
      ...onEach(["WORK_COMPLETED", "WORK_FAILED", "WORK_CANCELLED"], ({ payload }, context: Context) => {
        if (payload.work_type === "export" && payload.config_key !== undefined) reconcile(context, payload.config_key);
      }),
    },
    loop: {
      everyMs: settings.everyMs ?? 2_000,
      tick(context) {
        for (const [key] of context.rows.list(configs)) reconcile(context, key);
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
