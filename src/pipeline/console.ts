/** The pipeline as people see and steer it: what surfaces show of it, and what may be decided by hand. */
import { defined, OperatingError } from "../kernel/index.ts";
import type { ArtifactCatalog } from "../sync/index.ts";
import type { WorkQueue } from "../work/index.ts";
import { lineageOf } from "./lineage.ts";
import { championHistory, type ModelEntry, modelEntries } from "./models/index.ts";
import { type ByHandPorts, decideByHand, promoteByHand, requireConfig, rollbackByHand } from "./promotion/index.ts";
import type { ConfigSnapshot, PipelineSnapshot } from "./snapshot.ts";
import { type ConfigKey, configs, iterations, type Knob, type SearchMethod, type Stage } from "./stage/index.ts";
import { holdKnob, requestSearch, steeringView } from "./steering/index.ts";
import { stageHistory } from "./tables.ts";
import { ladderOf, pipelineSnapshot, pipelineStandings, plannedBooks } from "./views.ts";

export interface PipelineConsoleParts extends ByHandPorts {
  readonly queue: WorkQueue;
  readonly catalog: ArtifactCatalog;
}

/** Who decides what, and why. */
export interface PipelineDecision {
  readonly actor: string;
  readonly reason: string;
  /** Only says what would change. */
  readonly dryRun: boolean;
}

/** What a decision changed, or would. No changes: there was nothing to do. */
export interface PipelineDecided {
  readonly config_key: string;
  readonly applied: boolean;
  readonly changes: readonly {
    readonly what: string;
    readonly before: string | number | null;
    readonly after: string | number | null;
  }[];
}

/** How far a model got beyond its own place. */
function standingLines({ state, standing }: ModelEntry) {
  const { tier, boards } = standing ?? {};
  const by = "gauntlet_feedback";
  return [
    ...(tier === undefined ? [] : [{ at: tier.at, stage: state, by, reason: `rose to ${tier.name}` }]),
    ...(boards === undefined
      ? []
      : [{ at: boards.at, stage: state, by, reason: `${boards.config_keys.slice(1).join(", ")} began with it` }]),
  ];
}

export type PipelineConsole = ReturnType<typeof createPipelineConsole>;

/** The unit that had a model made. */
const makerOf = ({ derived }: ModelEntry): string =>
  derived === null ? "training_coordinator" : derived.kind === "nas" ? "population_search" : "derived_training";

/** What a model goes on from: its teacher, or the model of the checkpoint that it began with. */
const parentOf = ({ derived, base_checkpoint }: ModelEntry, parents: ReadonlyMap<string | null, string>) =>
  derived?.teacher ?? (base_checkpoint === null ? null : (parents.get(base_checkpoint) ?? null));

export function createPipelineConsole(parts: PipelineConsoleParts) {
  const { store, clock, catalog } = parts;
  const snapshot = (only?: string) => pipelineSnapshot(parts, clock.now(), only);

  const all = () => modelEntries(store);
  /** Models by the checkpoint that was saved with them: a run that went on from it has the model as its parent. */
  const byCheckpoint = (entries: readonly ModelEntry[]): ReadonlyMap<string | null, string> =>
    new Map(entries.map(({ checkpoint, model }) => [checkpoint, model]));
  const configOf = ({ config_key }: ModelEntry, { configs: found }: PipelineSnapshot) =>
    found.find((config) => config.config_key === config_key);

  const viewOf = (entry: ModelEntry, config: ConfigSnapshot | undefined, parents: ReturnType<typeof byCheckpoint>) => {
    const rated = config?.ladder.find(({ player }) => player === entry.model);
    const crowned = config?.champions.find(({ model }) => model === entry.model);
    return {
      model_id: entry.model,
      config_key: entry.config_key,
      iteration: entry.iteration,
      stage: entry.state,
      generation: crowned?.generation ?? null,
      created_at: entry.created_at,
      bytes: entry.bytes,
      parent: parentOf(entry, parents),
      kind: entry.derived?.kind ?? "standard",
      derived: entry.derived,
      rating: rated === undefined ? null : { elo: rated.elo, low: rated.low, high: rated.high, games: rated.games },
    };
  };

  const detailsOf = (
    entry: ModelEntry,
    config: ConfigSnapshot | undefined,
    parents: ReturnType<typeof byCheckpoint>,
  ) => {
    const history = [
      {
        at: entry.created_at,
        stage: "training",
        by: makerOf(entry),
        reason: `iteration ${entry.iteration}`,
      },
      ...championHistory(store, entry.config_key)
        .filter(({ model, previous }) => model === entry.model || previous === entry.model)
        .map(({ model, cause, by, at, generation }) => ({
          at,
          stage: model === entry.model ? "production" : cause === "rollback" ? "rolled_back" : "archived",
          by,
          reason:
            model === entry.model
              ? `champion ${generation - 1}, by ${cause}`
              : `champion ${generation - 1} took its place`,
        })),
      ...standingLines(entry),
    ].sort((a, b) => a.at - b.at);
    return {
      ...viewOf(entry, config, parents),
      loss: config?.losses.find(({ iteration }) => iteration === entry.iteration) ?? null,
      gate: config?.gates.find(({ candidate, verdict }) => candidate === entry.model && verdict !== null) ?? null,
      checkpoint: entry.checkpoint,
      files: entry.inputs.map((sha256) => {
        const row = catalog.get(sha256);
        return { sha256, kind: row?.kind ?? "unknown", rows: row?.rows ?? 0 };
      }),
      history,
    };
  };

  const setPaused = (configKey: string, { actor, reason, dryRun }: PipelineDecision, hold: boolean) =>
    decideByHand(parts, dryRun, ({ rows }): PipelineDecided => {
      const row = requireConfig(rows, configKey);
      const isHeld = row.paused !== null;
      if (isHeld === hold) return { config_key: configKey, applied: false, changes: [] };
      rows.put(configs, configKey, { ...row, paused: hold ? { by: actor, at: clock.now(), reason } : null });
      const [before, after] = hold ? ["running", "paused"] : ["paused", "running"];
      return { config_key: configKey, applied: !dryRun, changes: [{ what: "state", before, after }] };
    });

  /** What has failed, or waits after a failure, is tried again at once; the orchestrator sees it at its next look. */
  const retry = (configKey: string, { actor, reason, dryRun }: PipelineDecision) =>
    decideByHand(parts, dryRun, ({ rows }): PipelineDecided => {
      const row = requireConfig(rows, configKey);
      const at = rows.get(iterations, configKey);
      if (row.paused !== null)
        throw OperatingError.conflict("CONFIG_PAUSED", `'${configKey}' is paused: ${row.paused.reason}`, {
          hint: `Resume it first: 'ringrift resume ${configKey}'.`,
        });
      if (at === undefined || (at.state !== "failed" && at.state !== "waiting"))
        return { config_key: configKey, applied: false, changes: [] };
      rows.put(configs, configKey, { ...row, retried: { by: actor, at: clock.now(), reason } });
      const changes = [{ what: at.stage, before: at.state, after: `attempt ${at.attempt + 1}` }];
      return { config_key: configKey, applied: !dryRun, changes };
    });

  const crowned = (config_key: string, dryRun: boolean, before: string | null, after: string): PipelineDecided => ({
    config_key,
    applied: !dryRun,
    changes: [{ what: "champion", before, after }],
  });

  return {
    /** Of all configs, or of one. */
    snapshot,
    ladder: (configKey: string) => ladderOf(parts, clock.now(), configKey),
    configKeys: () => pipelineStandings(parts, clock.now()).map(({ config_key }) => config_key),
    history: ({ configKey, stage, limit }: { configKey: string; stage?: Stage; limit: number }) =>
      stageHistory(store, { configKey, limit, ...defined({ stage }) }),
    models({ configKey, stage, limit }: { configKey?: string; stage?: string; limit: number }) {
      const found = snapshot(configKey);
      const entries = all();
      const parents = byCheckpoint(entries);
      return entries
        .filter(({ state, config_key }) => (stage ?? state) === state && (configKey ?? config_key) === config_key)
        .slice(0, limit)
        .map((entry) => viewOf(entry, configOf(entry, found), parents));
    },
    /** By its whole id. */
    model(id: string) {
      const entries = all();
      const entry = entries.find(({ model }) => model === id);
      return entry === undefined
        ? undefined
        : detailsOf(entry, configOf(entry, snapshot(entry.config_key)), byCheckpoint(entries));
    },
    /** Those of planned configs, and of others whose games were brought. */
    books: () => {
      const planned = plannedBooks(parts, clock.now());
      const known = new Set(planned.map(({ config_key }) => config_key));
      const others = catalog.books().filter(({ config_key }) => !known.has(config_key));
      return [
        ...planned,
        ...others.map(({ config_key, produced, durable, in_flight, rejected_by_reason: rejected, balanced }) => ({
          config_key,
          produced,
          durable,
          in_flight,
          rejected,
          balanced,
        })),
      ];
    },
    lineage: (id: string) => lineageOf({ catalog, queue: parts.queue }, id),
    segments: (filter: Parameters<ArtifactCatalog["games"]>[0]) => catalog.games(filter),
    segmentsBeginning: (hex: string) => catalog.beginning(hex, "games"),
    pause: (configKey: string, decision: PipelineDecision) => setPaused(configKey, decision, true),
    steering: () => steeringView(store),
    /** At a value, or no longer where that is null. */
    hold: (configKey: string, knob: Knob, value: number | null, decision: PipelineDecision): Promise<PipelineDecided> =>
      holdKnob(parts, configKey, knob, value, decision),
    search: (configKey: string, decision: PipelineDecision, method?: SearchMethod): Promise<PipelineDecided> =>
      requestSearch(parts, configKey, decision, method),
    retry,
    resume: (configKey: string, decision: PipelineDecision) => setPaused(configKey, decision, false),
    async promote(modelId: string, { actor, reason, dryRun }: PipelineDecision): Promise<PipelineDecided> {
      const entry = all().find(({ model }) => model === modelId);
      if (entry === undefined)
        throw OperatingError.notFound("MODEL_NOT_FOUND", `there is no model '${modelId}'`, {
          hint: "'ringrift models' lists them.",
        });
      const configKey = entry.config_key as ConfigKey;
      const { previous, model } = await promoteByHand(parts, { configKey, model: modelId, by: actor, reason, dryRun });
      return crowned(configKey, dryRun, previous, model);
    },
    /** To the last good champion. */
    async rollback(key: string, { actor, reason, dryRun }: PipelineDecision): Promise<PipelineDecided> {
      const order = { configKey: key as ConfigKey, by: actor, reason, dryRun };
      const { withdrawn, restored } = await rollbackByHand(parts, order);
      return crowned(key, dryRun, withdrawn, restored);
    },
  };
}
