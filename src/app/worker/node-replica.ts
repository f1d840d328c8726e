/**
 * What a joined node knows of the registry and of the ratings: a copy of what the main process answered last, in its folder, so that
 * 'models', 'elo' and 'status' answer there too, also while the main process is away, and say how old the answer is.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { backoffMs, type Edges, messageOf, PEER_BACKOFF, sleep } from "../../kernel/index.ts";
import type { ReplicaPort } from "../../surfaces/index.ts";
import { writeWhole } from "../data-folder/token.ts";
import { nodeFolderOf } from "./node-identity.ts";

const REPLICA_FILE = "replica.json";
const EVERY_MS = 60_000;
/** A folder shall not grow by what somebody else answers. */
const MAX_CHARS = 8_000_000;

const replica = z.object({
  version: z.literal(1),
  /** Milliseconds since the epoch, by the clock of this node. */
  at: z.number(),
  url: z.string(),
  models: z.looseObject({ models: z.array(z.looseObject({ config_key: z.string(), stage: z.string() })) }),
  pipeline: z.looseObject({ configs: z.array(z.looseObject({ config_key: z.string() })) }),
});
export type Replica = z.output<typeof replica>;

const pathIn = (dataDir: string): string => join(nodeFolderOf(dataDir), REPLICA_FILE);

/** What the node of a folder heard last; undefined if it never heard anything, or if nobody can read it any more. */
export function readReplica(dataDir: string): Replica | undefined {
  try {
    return replica.parse(JSON.parse(readFileSync(pathIn(dataDir), "utf8")));
  } catch {
    return undefined;
  }
}

export interface ReplicaOptions extends Edges {
  readonly dataDir: string;
  readonly url: string;
  readonly port: ReplicaPort;
  readonly everyMs?: number;
}

/** Asks again and again, seldom, and keeps the last whole answer. */
export function keepReplica({ dataDir, url, port, clock, random, log, everyMs = EVERY_MS }: ReplicaOptions) {
  const stopping = new AbortController();
  const { signal } = stopping;
  const ask = async (): Promise<void> => {
    const at = clock.now();
    const text = JSON.stringify(replica.parse({ version: 1, at, url, ...(await port.ask(signal)) }));
    if (text.length > MAX_CHARS) throw new Error(`the answer has ${text.length} characters; ${MAX_CHARS} are kept`);
    writeWhole(pathIn(dataDir), text);
  };
  const loop = async (): Promise<void> => {
    for (let failures = 0; !signal.aborted; ) {
      let pauseMs = everyMs * (0.9 + 0.2 * random.next());
      try {
        await ask();
        failures = 0;
      } catch (thrown) {
        if (signal.aborted) return;
        failures += 1;
        if (failures === 3) log.info("models and ratings were not copied here", { error: messageOf(thrown) });
        pauseMs = Math.max(Math.min(pauseMs, EVERY_MS), backoffMs(PEER_BACKOFF, failures, random));
      }
      await sleep(clock, pauseMs, signal).catch(() => undefined);
    }
  };
  const running = loop();
  return {
    async stop(): Promise<void> {
      stopping.abort(new Error("the worker stops"));
      await running;
    },
  };
}
