import { type ContextOf, defineDaemon, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { type ArtifactRow, isUsable } from "../../artifact.ts";
import type { CopyNode } from "../../copies/decide.ts";
import { distributionLimits } from "../../limits.ts";
import type { NewOrder } from "../../orders/order.ts";
import { placeOrders } from "../../orders/order-operations.ts";
import type { SyncUnitServices } from "../../services.ts";
import { type ChampionFacts, spreads, standsOf } from "../../spread.ts";
import { beginSpread, nextStep, type Player, type Spread, type SpreadNews, troubleOf } from "./decide.ts";

const wiring = {
  name: "model_distribution_daemon",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["MODEL_DISTRIBUTION", "NPZ_DISTRIBUTION", "MODEL_SYNC"],
  alsoKnownAs: ["UnifiedDistributionDaemon", "ModelDistribution", "DeliveryLedger", "DeliveryRetryQueue"],
  pattern: "IMPORT",
  dependsOn: ["sync_router", "replication_daemon"],
  emits: [
    "MODEL_DISTRIBUTION_STARTED",
    "MODEL_DISTRIBUTION_COMPLETE",
    "MODEL_DISTRIBUTION_FAILED",
    "DISTRIBUTION_INCOMPLETE",
    "P2P_MODEL_SYNCED",
  ],
} as const satisfies Wiring;

type Context = ContextOf<typeof wiring>;
type Payload = PayloadFor<"P2P_MODEL_SYNCED">;
type NodeId = Payload["node_id"];

/** What it orders is done under this name. */
const DISTRIBUTION = "distribution";
const HOLDERS = "SELECT node_id FROM sync_held WHERE seq = ? AND state = 'held'";
const SPENT = `SELECT error FROM sync_orders WHERE sync_id = '${DISTRIBUTION}' AND node_id = ? AND seq = ? AND state = 'failed'
  AND created_at >= ? ORDER BY order_id DESC LIMIT 1`;

const WORDS: Readonly<Record<Spread["state"], string>> = {
  canary: "one node tries it first",
  spreading: "the other nodes get it",
  complete: "all nodes that play have it",
  held: "held back, no node that tried it could play with it",
};

/**
 * Brings every new champion to the nodes that play, and training files to those that only train, and follows each delivery: one node
 * tries a champion first, with games that it plays as a job, then the others get it, each at a moment of its own. All of it is
 * rows and is decided anew at each look. It keeps no job from anybody: whoever is given one with a model that it lacks fetches it.
 */
export const modelDistributionDaemon = (services: SyncUnitServices, limits = distributionLimits) => {
  const { store, copies, desk, nodeId, champions, players, trials, get } = services;
  const nameOf = (id: string) => copies.nodes().get(id)?.name ?? id;

  /** It is there, and may get a model. */
  const isOpen = (node: CopyNode | undefined): boolean => node?.isThere === true && node.barred === undefined;

  /** Nodes that take self-play and are there, home aside: its store has every model. */
  const playersOf = ({ seq, bytes }: ArtifactRow): Player[] => {
    const known = copies.nodes();
    const holders = new Set(store.read<{ node_id: string }>(HOLDERS, seq).map(({ node_id }) => node_id));
    return players()
      .filter((id) => id !== nodeId && isOpen(known.get(id)))
      .slice(0, limits.maxNodes)
      .map((node_id) => {
        const free = desk.storageOf(node_id)?.free_bytes ?? null;
        const isAble = known.get(node_id)!.isConfirmed && (free === null || free > 2 * bytes);
        return { node_id, isAble, holds: holders.has(node_id) };
      });
  };

  const order = (
    context: Pick<Context, "rows" | "now">,
    file: ArtifactRow,
    nodes: readonly string[],
    urgency: number,
  ) => {
    if (nodes.length === 0) return;
    const { seq, bytes } = file;
    const orders = nodes.map(
      (node_id): NewOrder => ({ node_id, seq, action: "fetch", urgency, bytes, max_rate: null, reason: DISTRIBUTION }),
    );
    context.rows.apply(placeOrders({ sync_id: DISTRIBUTION, orders, at: context.now }));
  };

  const tell = (
    { emit }: Context,
    { configKey, model, cause }: ChampionFacts,
    { bytes }: ArtifactRow,
    news: SpreadNews,
  ): void => {
    const about = { model_id: model, config_key: configKey as NonNullable<Payload["config_key"]> };
    const file = { ...about, artifact_hash: model as Payload["artifact_hash"] };
    const ids = (nodes: readonly string[]) => nodes as readonly NodeId[] as NodeId[];
    if (news.kind === "started")
      emit.MODEL_DISTRIBUTION_STARTED({ ...file, node_ids: ids(news.nodes), artifact_bytes: bytes }, cause);
    else if (news.kind === "received")
      emit.P2P_MODEL_SYNCED(
        { ...file, node_id: news.node_id as NodeId, bytes_transferred: bytes, duration_seconds: news.tookMs / 1_000 },
        cause,
      );
    else if (news.kind === "complete")
      emit.MODEL_DISTRIBUTION_COMPLETE(
        { ...file, node_ids: ids(news.nodes), duration_seconds: news.tookMs / 1_000 },
        cause,
      );
    else if (news.kind === "held")
      emit.MODEL_DISTRIBUTION_FAILED(
        {
          ...about,
          error: `no node that tried it could play with it: ${news.error}`.slice(0, 2_000),
          retryable: true,
          missing_node_ids: ids(news.missing),
          attempts: news.attempts,
        },
        cause,
      );
    else
      emit.DISTRIBUTION_INCOMPLETE(
        {
          model_id: model,
          holding_nodes: news.holding,
          required_nodes: news.holding + news.missing.length,
          missing_node_ids: ids(news.missing),
        },
        cause,
      );
  };

  const lookAt = async (context: Context, champion: ChampionFacts): Promise<void> => {
    const { rows, now, log } = context;
    const file = get(champion.model);
    // What is damaged is made again or brought back first, by others.
    if (file === undefined || !isUsable(file)) return;
    const known = rows.get(spreads, champion.configKey);
    const row = known?.model === champion.model ? known : beginSpread(champion.model, champion.since, now);
    if (known !== undefined && known !== row && known.canary?.work_id != null)
      await trials.takeBack(known.canary.work_id);
    const { canary } = row;
    const playing = playersOf(file);
    const step = nextStep(
      row,
      {
        now,
        players: playing,
        trial: canary?.work_id == null ? undefined : trials.look(canary.work_id),
        notFetched:
          canary === null
            ? undefined
            : store
                .read<{ error: string | null }>(SPENT, canary.node_id, file.seq, canary.since)
                .map(({ error }) => `the file did not get there: ${error ?? "no reason given"}`)[0],
      },
      limits,
    );
    let next: Spread = step.row;
    if (step.trial !== null) {
      const work_id = await trials.put({ ...champion, nodeId: step.trial, games: limits.games, name: `${row.since}` });
      next = { ...next, canary: { node_id: step.trial, since: now, work_id } };
    }
    if (step.takeBack !== null) await trials.takeBack(step.takeBack);
    order(context, file, step.fetch, next.state === "canary" ? 3 : 2);
    for (const news of step.news) tell(context, champion, file, news);
    if (JSON.stringify(next) === JSON.stringify(known)) return;
    rows.put(spreads, champion.configKey, next);
    // On a machine by itself there is nobody to send it to, and nothing to say.
    if (playing.length > 0 && (next.state !== known?.state || next.model !== known.model))
      log.info(`the champion of ${champion.configKey}: ${WORDS[next.state]}`, { model: champion.model });
  };

  const look = async (context: Context): Promise<void> => {
    const all = champions();
    for (const champion of all) await lookAt(context, champion);
    for (const [configKey] of context.rows.list(spreads))
      if (!all.some((one) => one.configKey === configKey)) context.rows.delete(spreads, configKey);
  };
  const wake = (_: unknown, context: Context): Promise<void> => look(context);

  /** Brings a file to nodes that lack it, without a trial: somebody waits for it there. */
  const bring = (context: Context, sha256: string, to: readonly string[]): void => {
    const file = get(sha256);
    if (file === undefined || !isUsable(file)) return;
    const holders = new Set(store.read<{ node_id: string }>(HOLDERS, file.seq).map(({ node_id }) => node_id));
    const known = copies.nodes();
    order(
      context,
      file,
      to.filter((id) => id !== nodeId && isOpen(known.get(id)) && !holders.has(id)),
      2,
    );
  };

  return defineDaemon({
    ...wiring,
    state: { tables: { spreads } },
    on: {
      MODEL_PROMOTED: wake,
      PROMOTION_ROLLED_BACK: wake,
      TRAINING_COMPLETED: wake,
      REGISTRY_UPDATED: wake,
      MODEL_UPDATED: wake,
      MODEL_EVALUATION_BLOCKED: ({ payload: { model_id } }, context) => bring(context, model_id, players()),
      MODEL_SYNC_REQUESTED: ({ payload: { model_id, node_id } }, context) => bring(context, model_id, [node_id]),
      // Whoever does all kinds of work is given its file with its job; who only trains waits for nothing else.
      NPZ_EXPORT_COMPLETE: ({ payload: { artifact_hash } }, context) =>
        bring(context, artifact_hash, services.trainers()),
    },
    loop: { everyMs: limits.everyMs, tick: look },
    health: ({ rows }) => {
      const all = rows.list(spreads);
      const troubles = all.flatMap(([configKey, row]) => {
        const trouble = troubleOf(row, nameOf);
        return trouble === null ? [] : [`the champion ${row.model.slice(0, 12)} of ${configKey}: ${trouble}`];
      });
      const details = Object.fromEntries(all.map(([configKey, row]) => [configKey, standsOf(row)]));
      return { status: troubles.length === 0 ? "running" : "degraded", message: troubles.join("; "), details };
    },
  });
};
