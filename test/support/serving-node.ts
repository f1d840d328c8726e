/** A node that serves the artifacts of a folder, in a process of its own: it says where it listens, and ends with its parent. */
import { createPublicKey } from "node:crypto";
import { startTransfers } from "../../src/adapters/transports/transfers.ts";
import { silentLog } from "../../src/kernel/index.ts";
import { createArtifactStore } from "../../src/sync/index.ts";
import { nodeKey, readBearer } from "./node-keys.ts";

export interface ServingNode {
  readonly folder: string;
  /** The coordinator's public key. */
  readonly coordinator: string;
  readonly host?: string;
  /** The private key that it had before. */
  readonly pem?: string;
  readonly relayUrl?: string;
}

const { folder, coordinator, host = "127.0.0.1", pem, relayUrl } = JSON.parse(process.argv[2] ?? "{}") as ServingNode;
const key = pem === undefined ? nodeKey() : readBearer(pem);
const store = createArtifactStore({ folder });
const transfers = await startTransfers({
  ...key,
  folder,
  store,
  scratch: `${folder}.scratch`,
  maxBytesPerSecond: null,
  stallMs: 60_000,
  programs: { rsync: "rsync", ssh: "ssh" },
  serve: {
    host,
    port: 0,
    coordinatorKey: createPublicKey(coordinator),
    ...(relayUrl === undefined ? {} : { relay: { url: relayUrl } }),
  },
  log: silentLog(),
  onRefused: ({ code, message }) => process.stderr.write(`${code} ${message}\n`),
});
process.stdout.write(`${JSON.stringify({ port: transfers.port, nodeId: key.nodeId })}\n`);
process.stdin.once("end", () => void transfers.close().then(() => process.exit(0)));
process.stdin.resume();
