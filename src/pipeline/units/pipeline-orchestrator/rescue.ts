/** Games that no manifest knew: brought home, looked at, and entered in the books, or refused with a reason. */
import type { UnitContext } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import type { Store } from "../../../router/index.ts";
import {
  type ArtifactCatalog,
  type Brought,
  broughtPin,
  foundAs,
  orderHome,
  type Rescue,
  rescueLimits,
  rescues,
} from "../../../sync/index.ts";

export interface RescuePorts {
  readonly store: Pick<Store, "read">;
  readonly catalog: ArtifactCatalog;
  readonly nodeId: string;
  readonly brought: Brought;
  /** Has a node ask for its orders soon. */
  readonly desk: { readonly wake: (nodeId: string) => void };
}

type Context = UnitContext<"ORPHAN_GAMES_REGISTERED">;
type Registered = PayloadFor<"ORPHAN_GAMES_REGISTERED">;

const keyOf = ({ node_id, sha256 }: Pick<Rescue, "node_id" | "sha256">) => `${node_id}/${sha256}`;

/** Writes down what a node has told of. What it tells again changes nothing while it is being dealt with. */
export function noteOrphans(
  { rows, now }: Pick<Context, "rows" | "now">,
  told: PayloadFor<"ORPHAN_GAMES_DETECTED">,
): void {
  const known = rows.list(rescues).length;
  for (const orphan of (told.orphans ?? []).slice(0, Math.max(0, rescueLimits.maxKept - known))) {
    const { artifact_hash: sha256, artifact_bytes: bytes, config_key, games, place, rule, reason } = orphan;
    const about = { node_id: told.node_id as string, sha256: sha256 as string, place, bytes, config_key, games, rule };
    const before = rows.get(rescues, keyOf(about));
    if (before?.state === "waiting") continue;
    const isAdopted = rule === "adopt" && config_key !== null && games > 0;
    const state = isAdopted ? "waiting" : "told";
    rows.put(rescues, keyOf(about), { ...about, state, why: reason, since: now, ended_at: null });
  }
}

/** One step for each that waits, a few at a time. The rows are the truth: whatever is asked twice is done once. */
export async function rescueOrphans(ports: RescuePorts, context: Context): Promise<void> {
  const { rows, now } = context;
  const all = rows.list(rescues);
  for (const [key, { ended_at, state, since }] of all) {
    const isOver = now - (ended_at ?? since) >= rescueLimits.keepMs && state !== "waiting";
    if (isOver) rows.delete(rescues, key);
  }
  const waiting = all.filter(([, { state }]) => state === "waiting").slice(0, rescueLimits.maxAtOnce);
  for (const [key, rescue] of waiting) {
    const next = await step(ports, context, rescue);
    if (next !== undefined) rows.put(rescues, key, { ...rescue, ...next, ended_at: now });
  }
}

type End = Pick<Rescue, "state" | "why">;

async function step(ports: RescuePorts, context: Context, rescue: Rescue): Promise<End | undefined> {
  const { catalog, brought } = ports;
  const { sha256, node_id, config_key, games, since } = rescue;
  const work_id = foundAs(sha256);
  const row = catalog.get(sha256);
  if (row !== undefined && row.work_id !== work_id) return { state: "registered", why: "a job has brought it since" };
  const artifacts = catalog.join(context);
  if (row === undefined) {
    const { bytes } = rescue;
    const about = { kind: "games", config_key: config_key as never, producer: node_id, work_id };
    artifacts.record([{ sha256, bytes, rows: games, games, ...about }]);
    artifacts.produced(config_key!, node_id, work_id, games);
    return undefined;
  }
  if (row.state !== "in_flight") return { state: row.state === "durable" ? "registered" : "refused", why: row.state };
  const found = await brought.look(sha256, context.signal);
  if (found.state === "sound" && found.kind === "games" && found.config_key === config_key && found.games === games) {
    artifacts.accept([sha256]);
    artifacts.pin(broughtPin(sha256), [sha256]);
    context.emit.ORPHAN_GAMES_REGISTERED({
      node_id: node_id as Registered["node_id"],
      games,
      artifact_hashes: [sha256] as unknown as Registered["artifact_hashes"],
      config_keys: [config_key] as unknown as NonNullable<Registered["config_keys"]>,
    });
    return { state: "registered", why: `${games} games are in the books, under ${node_id}` };
  }
  if (found.state === "away" && context.now - since < rescueLimits.patienceMs) {
    askFor(ports, context, rescue, row.seq);
    return undefined;
  }
  const why =
    found.state === "away"
      ? "its node did not send it"
      : found.state === "bad"
        ? found.why
        : `it holds ${found.games} games of ${found.config_key}, not ${games} of ${config_key}`;
  artifacts.reject([sha256], "orphan refused");
  return { state: "refused", why };
}

/** Where the file lies on another node, that one sends it. */
function askFor(ports: RescuePorts, { rows, now, afterCommit }: Context, rescue: Rescue, seq: number): void {
  const { node_id, bytes } = rescue;
  if (node_id === ports.nodeId) return;
  const order = orderHome(ports.store, { node_id, seq, bytes, at: now, againMs: rescueLimits.askMs });
  if (order === undefined) return;
  rows.apply(order);
  afterCommit(() => ports.desk.wake(node_id));
}
