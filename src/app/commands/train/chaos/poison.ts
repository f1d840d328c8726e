import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { iterations, suspects } from "../../../../pipeline/index.ts";
import { createWriteSet } from "../../../../router/index.ts";
import { callTo, createToken, joinOver, openLink, revokeToken } from "../../../../surfaces/index.ts";
import { poisonedArenaDeclaration } from "../../../../workloads/faulty-arena/index.ts";
import { readVersion } from "../../../version.ts";
import { startLocalWorker } from "../../../worker/local-worker.ts";
import { keepJoined, nodeKeyIn } from "../../../worker/node-identity.ts";
import type { Act, ChaosWorld } from "./act.ts";

const LABEL = "chaos";
const TOKEN_SECONDS = 600;
/** Iterations that it stays after it was found out, so that one sees it left aside. */
const STAYS = 2;

/** A folder of a node that has joined: with a key of its own, through a token that is good for this once. */
async function joinAs({ clock, socketPath, url }: ChaosWorld, folder: string): Promise<string> {
  const key = nodeKeyIn(folder);
  const inside = openLink({ target: { socketPath: () => socketPath }, clock });
  try {
    const made = await callTo(inside, createToken, {
      body: { label: LABEL, scope: "worker", expires_in_seconds: TOKEN_SECONDS },
    });
    const outside = openLink({ target: { url, trust: {} }, clock, token: made.token });
    try {
      const capabilities = {
        cpu: 1,
        gpu: 0,
        memory_gb: 1,
        gpu_memory_gb: 0,
        tags: [],
        hostname: LABEL,
        platform: `${process.platform}-${process.arch}`,
      };
      const about = { public_key: key.publicKey, label: LABEL, version: readVersion(), capabilities };
      const { node_id, label } = await joinOver(outside, about);
      keepJoined(folder, { node_id, label, url: url.origin, joined_at: clock.now() / 1_000 });
      return node_id;
    } finally {
      outside.close();
      await callTo(inside, revokeToken, { params: { id: made.id } });
    }
  } finally {
    inside.close();
  }
}

/** What the books say of a producer that is found out; undefined while it is not. */
export function foundOut(
  { store, catalog }: Pick<ChaosWorld, "store" | "catalog">,
  producer: string,
  configKeys: readonly string[],
) {
  for (const configKey of configKeys) {
    const suspect = createWriteSet(store).get(suspects, configKey)?.[producer];
    const books = catalog.books(configKey)[0]?.producers.find((one) => one.producer === producer);
    if (suspect === undefined || books === undefined || books.rejected === 0) continue;
    if (books.durable > 0 || books.in_flight > 0) continue;
    return { configKey, reasons: suspect.reasons, rejected: books.rejected };
  }
  return undefined;
}

/** One more producer, as a node of its own, whose labels are wrong. */
export async function poison(world: ChaosWorld, number: number): Promise<Act | undefined> {
  const { store, clock, dataDir, configKeys } = world;
  const folder = join(dataDir, "chaos", `poisoned-${number}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { command, args, kinds } = poisonedArenaDeclaration({ poison: "labels" });
  const configFile = join(folder, "ringrift.config.json");
  const workloads = { arena: { command, args, kinds } };
  writeFileSync(configFile, `${JSON.stringify({ workloads }, null, 2)}\n`, { mode: 0o600 });
  const nodeId = await joinAs(world, folder);
  const worker = startLocalWorker({ ...world, slots: 1, dataDir: folder, configFile });
  const at = clock.now();
  const reached = () => configKeys.map((key) => createWriteSet(store).get(iterations, key)?.iteration ?? 0);
  let seenAt: number[] | undefined;
  return {
    configKey: null,
    what: `started a producer with poisoned labels, pid ${worker.pid}, as the node ${LABEL}`,
    caught(now) {
      const found = foundOut(world, nodeId, configKeys);
      if (found === undefined) return undefined;
      seenAt ??= reached();
      const { configKey, reasons, rejected } = found;
      const after = `${((now - at) / 1_000).toFixed(1)} s`;
      return `${LABEL} is a suspect of ${configKey} after ${after} (${reasons.join(", ")}); its ${rejected} games are rejected, none was used`;
    },
    isOver: () => seenAt !== undefined && reached().some((now, i) => now >= seenAt![i]! + STAYS),
    async end() {
      await worker.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
