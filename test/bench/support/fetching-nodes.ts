/**
 * Some nodes in a process of their own: each has its thread of transfers and serves what it has and what comes to it. A line of JSON asks
 * for a fetch, and a line tells what came of it.
 */
import { createPublicKey } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { startTransfers } from "../../../src/adapters/transports/transfers.ts";
import { silentLog } from "../../../src/kernel/index.ts";
import { createArtifactStore, type FetchRequest } from "../../../src/sync/index.ts";
import { nodeKey } from "../../support/node-keys.ts";

export interface NodesWanted {
  readonly folder: string;
  readonly nodes: number;
  /** The coordinator's public key. */
  readonly coordinator: string;
  readonly bytesPerSecond: number;
}

export interface FetchAsked extends Pick<FetchRequest, "wanted" | "sources"> {
  readonly node: number;
}

export interface FetchTold {
  readonly node: number;
  readonly arrived: number;
  readonly seconds: number;
  readonly bytesFrom: Readonly<Record<string, number>>;
  readonly errors: readonly string[];
}

const { folder, nodes, coordinator, bytesPerSecond } = JSON.parse(process.argv[2] ?? "{}") as NodesWanted;
const say = (told: unknown) => void process.stdout.write(`${JSON.stringify(told)}\n`);

const started = await Promise.all(
  Array.from({ length: nodes }, async (_, i) => {
    const own = join(folder, String(i));
    mkdirSync(own, { recursive: true });
    const key = nodeKey();
    const store = createArtifactStore({ folder: own });
    const transfers = await startTransfers({
      ...key,
      folder: own,
      store,
      scratch: `${own}.scratch`,
      maxBytesPerSecond: bytesPerSecond,
      stallMs: 20_000,
      programs: { rsync: "rsync", ssh: "ssh" },
      serve: { host: "127.0.0.1", port: 0, coordinatorKey: createPublicKey(coordinator) },
      log: silentLog(),
      onRefused: ({ code, message }) => process.stderr.write(`${code} ${message}\n`),
    });
    return { transfers, nodeId: key.nodeId };
  }),
);
say(started.map(({ transfers, nodeId }) => ({ nodeId, port: transfers.port })));

for await (const line of createInterface({ input: process.stdin })) {
  const { node, wanted, sources } = JSON.parse(line) as FetchAsked;
  const begun = performance.now();
  void started[node]!.transfers.fetch({ wanted, sources }).then(({ arrived, tries, failed }) => {
    const bytesFrom = Object.fromEntries(tries.map(({ place, bytes }) => [place, bytes]));
    const errors = [...failed.map(({ message }) => message), ...tries.flatMap(({ error }) => error?.message ?? [])];
    say({ node, arrived: arrived.length, seconds: (performance.now() - begun) / 1_000, bytesFrom, errors });
  });
}
await Promise.all(started.map(({ transfers }) => transfers.close()));
process.exit(0);
