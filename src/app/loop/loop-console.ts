/** The closed loop as the commands and routes see it. */
import { type Clock, OperatingError } from "../../kernel/index.ts";
import {
  booksView,
  type ConfigRow,
  championsOf,
  configs,
  type LoopSnapshot,
  listModels,
  loopSnapshot,
  type ModelEntry,
  promoteByHand,
  rollbackByHand,
  stageHistory,
} from "../../pipeline/index.ts";
import { createWriteSet, type EventRouter, type Store } from "../../router/index.ts";
import type { Lineage, LoopDecided, LoopDecision, LoopPort, ModelDetails, ModelView } from "../../surfaces/index.ts";
import type { ArtifactCatalog, ArtifactRow } from "../../sync/index.ts";
import type { WorkQueue } from "../../work/index.ts";

export interface LoopConsoleParts {
  readonly router: EventRouter;
  readonly store: Store;
  readonly clock: Clock;
  readonly queue: WorkQueue;
  readonly catalog: ArtifactCatalog;
}

type ConfigKey = ConfigRow["plan"]["config_key"];
type Config = LoopSnapshot["configs"][number];

const seconds = (ms: number): number => ms / 1_000;
const MOST_RELATIVES = 200;
const MOST_MODELS = 100_000;

const unknownConfig = (configKey: string, known: readonly string[]) =>
  new OperatingError("CONFIG_NOT_FOUND", `there is no config '${configKey}'`, {
    hint: `Configs are: ${known.join(", ") || "none yet"}.`,
  });

export function createLoopConsole(parts: LoopConsoleParts): LoopPort {
  const { router, store, clock, queue, catalog } = parts;
  const snapshot = () => loopSnapshot({ store, queue, catalog }, clock.now());

  const all = (): ModelEntry[] => listModels(store, { limit: MOST_MODELS });
  /** Models by the checkpoint that was saved with them: a run that went on from it has the model as its parent. */
  const byCheckpoint = (entries: readonly ModelEntry[]): ReadonlyMap<string, string> =>
    new Map(entries.flatMap(({ checkpoint, model }) => (checkpoint === null ? [] : [[checkpoint, model]])));
  const configOf = ({ config_key }: ModelEntry, { configs: found }: LoopSnapshot): Config | undefined =>
    found.find((config) => config.config_key === config_key);

  const viewOf = (entry: ModelEntry, config: Config | undefined, parents: ReadonlyMap<string, string>): ModelView => {
    const rated = config?.ladder.find(({ player }) => player === entry.model);
    const crowned = config?.champions.find(({ model }) => model === entry.model);
    return {
      model_id: entry.model,
      config_key: entry.config_key,
      iteration: entry.iteration,
      stage: entry.state,
      generation: crowned?.generation ?? null,
      created_at: seconds(entry.created_at),
      bytes: entry.bytes,
      parent: entry.base_checkpoint === null ? null : (parents.get(entry.base_checkpoint) ?? null),
      rating: rated === undefined ? null : { elo: rated.elo, low: rated.low, high: rated.high, games: rated.games },
    };
  };

  const detailsOf = (
    entry: ModelEntry,
    config: Config | undefined,
    parents: ReadonlyMap<string, string>,
  ): ModelDetails => {
    const crownings = championsOf(store, entry.config_key);
    const history = [
      {
        at: seconds(entry.created_at),
        stage: "training",
        by: "training_coordinator",
        reason: `iteration ${entry.iteration}`,
      },
      ...crownings
        .filter(({ model, previous }) => model === entry.model || previous === entry.model)
        .map(({ model, cause, by, at, generation }) => ({
          at: seconds(at),
          stage: model === entry.model ? "production" : cause === "rollback" ? "rolled_back" : "archived",
          by,
          reason:
            model === entry.model
              ? `champion ${generation - 1}, by ${cause}`
              : `champion ${generation - 1} took its place`,
        })),
    ].sort((a, b) => a.at - b.at);
    return {
      ...viewOf(entry, config, parents),
      loss: config?.losses.find(({ iteration }) => iteration === entry.iteration) ?? null,
      gate: config?.gates.find(({ candidate, verdict }) => candidate === entry.model && verdict !== null) ?? null,
      files: entry.inputs.map((sha256) => {
        const row = catalog.get(sha256);
        return { sha256, kind: row?.kind ?? "unknown", rows: row?.rows ?? 0 };
      }),
      history,
    };
  };

  const aboutFile = (sha256: string, row: ArtifactRow | null) => ({
    id: sha256,
    kind: row === null ? "file" : row.kind,
    about:
      row === null
        ? "forgotten"
        : [
            row.iteration === null ? "" : `iteration ${row.iteration}`,
            row.games > 0 ? `${row.games} games` : row.rows > 0 ? `${row.rows} rows` : "",
            `by ${row.producer}`,
            row.state === "durable" ? "" : row.state,
          ]
            .filter((word) => word !== "")
            .join(", "),
    at: row === null ? null : seconds(row.created_at),
  });

  /** A file, what it came from and what came of it, with the jobs in between. */
  const fileLineage = (asked: string, sha256: string): Lineage | undefined => {
    const lineage = catalog.lineage(sha256, MOST_RELATIVES);
    if (lineage === undefined) return undefined;
    const relatives = [{ sha256, artifact: lineage.artifact }, ...lineage.ancestors, ...lineage.descendants];
    const known = new Set(relatives.map((relative) => relative.sha256));
    const jobs = new Map<string, string>();
    for (const { artifact } of relatives)
      if (artifact?.work_id != null) jobs.set(artifact.work_id, `${artifact.kind} of ${artifact.config_key}`);
    return {
      asked,
      nodes: [
        ...relatives.map(({ sha256: id, artifact }) => aboutFile(id, artifact)),
        ...[...jobs].map(([id, about]) => ({ id, kind: "job", about, at: null })),
      ],
      edges: relatives.flatMap(({ sha256: to, artifact }) => {
        const from = catalog.parentsOf(to).filter((parent) => known.has(parent));
        const job = artifact?.work_id ?? null;
        return job === null
          ? from.map((parent) => ({ from: parent, to }))
          : [...from.map((parent) => ({ from: parent, to: job })), { from: job, to }];
      }),
    };
  };

  const setPaused = async (configKey: string, decision: LoopDecision, hold: boolean): Promise<LoopDecided> => {
    const { actor, reason, dryRun } = decision;
    let changes: LoopDecided["changes"] = [];
    const decide = (
      rows: ReturnType<typeof createWriteSet> | Parameters<Parameters<EventRouter["transact"]>[1]>[0]["rows"],
    ) => {
      const row = rows.get(configs, configKey);
      if (row === undefined)
        throw unknownConfig(
          configKey,
          rows.list(configs).map(([key]) => key),
        );
      const isHeld = row.paused !== null;
      changes =
        isHeld === hold
          ? []
          : [{ what: "state", before: isHeld ? "paused" : "running", after: hold ? "paused" : "running" }];
      if (changes.length > 0)
        rows.put(configs, configKey, { ...row, paused: hold ? { by: actor, at: clock.now(), reason } : null });
    };
    if (dryRun) decide(createWriteSet(store));
    else await router.transact({ source: "loop_console" }, ({ rows }) => decide(rows));
    return { config_key: configKey, applied: !dryRun && changes.length > 0, changes };
  };

  const hands = { router, store, now: () => clock.now() };

  return {
    snapshot,
    history: ({ configKey, stage, limit }) =>
      stageHistory(store, { configKey, limit, ...(stage === undefined ? {} : { stage }) }),
    models({ configKey, stage, limit }) {
      const found = snapshot();
      const entries = all();
      const parents = byCheckpoint(entries);
      return entries
        .filter(({ state, config_key }) => (stage ?? state) === state && (configKey ?? config_key) === config_key)
        .slice(0, limit)
        .map((entry) => viewOf(entry, configOf(entry, found), parents));
    },
    model(id) {
      const entries = all();
      const entry = entries.find(({ model }) => model === id);
      return entry === undefined ? undefined : detailsOf(entry, configOf(entry, snapshot()), byCheckpoint(entries));
    },
    books: () => snapshot().configs.map(({ config_key }) => booksView(catalog, config_key)),
    lineage(id) {
      if (/^[0-9a-f]{64}$/.test(id)) return fileLineage(id, id);
      const [made] = catalog.list({ work_id: id, limit: 1 });
      return made === undefined ? undefined : fileLineage(id, made.sha256);
    },
    pause: (configKey, decision) => setPaused(configKey, decision, true),
    resume: (configKey, decision) => setPaused(configKey, decision, false),
    async promote(modelId, { actor, reason, dryRun }) {
      const entry = all().find(({ model }) => model === modelId);
      if (entry === undefined)
        throw new OperatingError("MODEL_NOT_FOUND", `there is no model '${modelId}'`, {
          hint: "'ringrift models' lists them.",
        });
      const order = { configKey: entry.config_key as ConfigKey, model: modelId, by: actor, reason, dryRun };
      const { previous, model } = await promoteByHand(hands, order);
      return {
        config_key: entry.config_key,
        applied: !dryRun,
        changes: [{ what: "champion", before: previous, after: model }],
      };
    },
    async rollback(configKey, { actor, reason, dryRun }) {
      const outcome = await rollbackByHand(hands, { configKey: configKey as ConfigKey, by: actor, reason, dryRun });
      if ("refused" in outcome)
        throw new OperatingError("ROLLBACK_REFUSED", outcome.refused, {
          hint: `There is: ${outcome.actual}. There must be: ${outcome.required}.`,
        });
      return {
        config_key: configKey,
        applied: !dryRun,
        changes: [{ what: "champion", before: outcome.withdrawn, after: outcome.restored }],
      };
    },
  };
}
