/** Text of strangers wherever the API takes text, and the views on which it is seen. */
import { CAPABILITIES, joinNode } from "./node-client.ts";
import { ask, type Where } from "./surface.ts";

/** What a stranger may write wherever text is taken. */
export const HOSTILE = `<script>window.hacked=1</script><img src=x onerror="window.hacked=1">`;
/** The part of it by which it is found again. */
export const HOSTILE_START = "<script>window.hacked";

export interface Planted {
  /** Views on which it must be read as text. */
  readonly shownOn: readonly string[];
  /** Keeps a game on the board while somebody looks. */
  showBoard(): Promise<void>;
}

/** Plants it in labels, versions, reasons, errors, logs, locks, boards, events and names of tokens. */
export async function plantHostile(where: Where, token: string, config: string): Promise<Planted> {
  const post = async (path: string, body: unknown): Promise<Record<string, unknown>> => {
    const { status, json, text } = await ask(where, path, { method: "POST", token, body });
    if (status >= 300) throw new Error(`${path} answered ${status}: ${text}`);
    return json;
  };
  const data = { config_key: config, new_games: 1, total_games: 1, [HOSTILE]: HOSTILE, node_id: HOSTILE };
  const event = { specversion: "1.0", id: crypto.randomUUID(), type: "NEW_GAMES_AVAILABLE", source: HOSTILE, data };
  // What is no source of CloudEvents is refused: then the payload alone is planted.
  const published = await post("/v1/events", event).catch(() => post("/v1/events", { ...event, source: "stranger" }));
  const [{ event_id: eventId }] = published.events as [{ event_id: string }];
  await post("/v1/tokens", { label: HOSTILE, scope: "read" });
  await post("/v1/shares", { path: "/journal", label: HOSTILE });
  await post("/v1/locks/acquire", { name: HOSTILE, holder: HOSTILE, ttl_seconds: 3_600 });
  const join = await post("/v1/tokens", { label: `join ${HOSTILE}`, scope: "worker", join_uses: 1 });
  const capabilities = { ...CAPABILITIES, tags: [HOSTILE], hostname: HOSTILE, platform: HOSTILE, kinds: [HOSTILE] };
  const node = await joinNode(where, String(join.token), HOSTILE, { version: HOSTILE, capabilities }).catch(() =>
    joinNode(where, String(join.token), HOSTILE),
  );
  await post(`/v1/nodes/${node.nodeId}/policy`, { reason: HOSTILE, max_jobs: 5 });
  const spec = {
    work_type: "selfplay",
    config_key: config,
    payload: { [HOSTILE]: HOSTILE },
    target_nodes: [node.nodeId],
  };
  /** Adds a job for this node alone, and takes it. */
  const take = async (more: object) => {
    await post("/v1/work/jobs", { jobs: [{ ...spec, ...more }] });
    const claim = {
      node_id: node.nodeId,
      most: 1,
      offer: CAPABILITIES,
      kinds: ["selfplay"],
      wait_seconds: 10,
      start: true,
    };
    const claimed = await node.send("POST", "/v1/work/claim", claim);
    const [lease] = claimed.json.leases as { work_id: string; fence: number }[];
    if (lease === undefined) throw new Error(`the stranger got no job: ${claimed.text}`);
    return { work_id: lease.work_id, node_id: node.nodeId, fence: lease.fence };
  };
  const ref = await take({ max_attempts: 1, requested_by: HOSTILE });
  const failure = { class: "bad_input", error: HOSTILE, error_code: HOSTILE, stderr_tail: `${HOSTILE}\n${HOSTILE}` };
  await node.send("POST", "/v1/work/fail", { failures: [{ ref, failure }] });
  await post(`/v1/nodes/${node.nodeId}/cordon`, { reason: HOSTILE });
  let running: typeof ref | undefined;
  return {
    shownOn: [
      "/journal",
      `/journal/${eventId}`,
      "/work",
      `/work/${ref.work_id}`,
      "/nodes",
      `/nodes/${node.nodeId}`,
      "/writes",
      "/cluster",
      "/games",
    ],
    async showBoard() {
      // Taken when it is shown: a lease that nobody beats for lapses, and with it the board.
      if (running === undefined) {
        await post(`/v1/nodes/${node.nodeId}/uncordon`, { reason: HOSTILE });
        running = await take({});
      }
      const board = { lines: [HOSTILE, HOSTILE], note: HOSTILE };
      const told = await node.send("POST", "/v1/work/boards", {
        node_id: node.nodeId,
        boards: [{ ref: running, board }],
      });
      if (told.status !== 200) throw new Error(`the board was refused: ${told.text}`);
    },
  };
}

/**
 * Puts it behind every text of an answer. Ids and words that a view goes by are texts too: a view may find nothing behind them, but
 * it must run nothing and not break.
 */
export const withHostile = (value: unknown): unknown =>
  typeof value === "string"
    ? `${value}${HOSTILE}`
    : Array.isArray(value)
      ? value.map(withHostile)
      : value !== null && typeof value === "object"
        ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withHostile(each)]))
        : value;
