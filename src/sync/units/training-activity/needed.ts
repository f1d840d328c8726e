import type { Store } from "../../../router/index.ts";
import type { NeededFile } from "./decide.ts";

const WINDOW = "window:";

/** The files that the next run of each config sees are pinned as its window. */
const NEEDED = `SELECT substr(p.owner, ${WINDOW.length + 1}) AS config_key, a.seq, a.bytes, a.created_at, a.producer,
    (SELECT json_group_array(h.node_id) FROM sync_held h WHERE h.seq = a.seq AND h.state = 'held') AS holders
  FROM sync_pins p JOIN sync_artifacts a ON a.sha256 = p.sha256
  WHERE p.owner >= '${WINDOW}' AND p.owner < 'window;' AND a.freed_at IS NULL LIMIT 100000`;

/** By config. It goes through all windows, and so does it on the thread of the readers. */
export async function neededFiles(
  store: Pick<Store, "scan">,
): Promise<ReadonlyMap<string, readonly (NeededFile & { readonly bytes: number })[]>> {
  const found = await store.scan<{
    config_key: string;
    seq: number;
    bytes: number;
    created_at: number;
    producer: string;
    holders: string;
  }>(NEEDED, []);
  return Map.groupBy(
    // Who made a file has it, also before it has said so.
    found.map(({ producer, holders, ...row }) => ({
      ...row,
      holders: [...(JSON.parse(holders) as string[]), producer],
    })),
    ({ config_key }) => config_key,
  );
}
