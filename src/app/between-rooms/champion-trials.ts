/** What the distribution of champions needs to know of the loop, of the queue and of who works. */
import { defined, isOperatingError } from "../../kernel/index.ts";
import { type Champion, champions, configs, seedFor } from "../../pipeline/index.ts";
import type { StateTable, Store } from "../../router/index.ts";
import type { SpreadPorts, TrialPort } from "../../sync/index.ts";
import type { JobSpecInput, WorkQueue } from "../../work/index.ts";

const BY = "model_distribution_daemon";

const rowsOf = <T>(store: Pick<Store, "read">, { table }: StateTable): [key: string, row: T][] =>
  store
    .read<{ key: string; value: string }>("SELECT key, value FROM state_rows WHERE table_name = ? ORDER BY key", table)
    .map(({ key, value }) => [key, JSON.parse(value) as T]);

type Plan = { readonly plan: { readonly selfplay: Readonly<Record<string, never>>; readonly seed: number } };

/** Games of one node with a champion, as the loop itself would have them played. Nobody learns from them: they only show that it plays. */
const trialsOver = (store: Pick<Store, "read">, queue: Pick<WorkQueue, "add" | "show" | "cancel">): TrialPort => ({
  async put({ configKey, model, nodeId, games, name, cause }) {
    const [plan] = rowsOf<Plan>(store, configs).flatMap(([key, row]) => (key === configKey ? [row.plan] : []));
    const job: JobSpecInput = {
      work_type: "selfplay",
      config_key: configKey as never,
      urgency: "high",
      payload: {
        parameters: { ...plan?.selfplay, games, first_game: 0 },
        seed: seedFor(plan?.seed ?? 0, "trial", model),
        inputs: [{ name: "model", sha256: model }],
      },
      target_nodes: [nodeId as never],
      dedup_key: `trial:${model.slice(0, 32)}:${nodeId}:${name}`,
      max_attempts: 2,
      requested_by: BY,
    };
    const { work_id } = await queue.add(job, cause);
    return work_id;
  },
  look(workId) {
    const job = queue.show(workId);
    if (job?.state === "completed") return { state: "played", games: job.evidence?.counts.games ?? 0 };
    if (job?.state === "failed" || job === undefined)
      return { state: "failed", error: job?.failure?.error ?? "its job is forgotten" };
    // Somebody took it back: that says nothing of the model, and its time runs out.
    return { state: "open" };
  },
  async takeBack(workId) {
    try {
      await queue.cancel(workId, { reason: "nobody waits for this trial any more", requested_by: BY });
    } catch (thrown) {
      // It has ended, or is forgotten: nothing is left to take back.
      if (!isOperatingError(thrown)) throw thrown;
    }
  },
});

export const spreadPorts = ({
  store,
  queue,
  workersFor,
}: {
  readonly store: Pick<Store, "read">;
  readonly queue: Pick<WorkQueue, "add" | "show" | "cancel">;
  readonly workersFor: (kind: string) => readonly string[];
}): SpreadPorts => ({
  champions: () =>
    rowsOf<Pick<Champion, "model" | "since" | "event">>(store, champions).map(
      ([configKey, { model, since, event: cause }]) => ({ configKey, model, since, ...defined({ cause }) }),
    ),
  players: () => workersFor("selfplay"),
  trainers() {
    const players = new Set(workersFor("selfplay"));
    return workersFor("training").filter((nodeId) => !players.has(nodeId));
  },
  trials: trialsOver(store, queue),
});
