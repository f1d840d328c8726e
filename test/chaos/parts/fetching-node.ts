/** A node that fetches what it is told, in a process that may be killed at any moment. */
import { readFileSync } from "node:fs";
import { startTransfers } from "../../../src/adapters/transports/transfers.ts";
import { silentLog } from "../../../src/kernel/index.ts";
import { createArtifactStore, type Source, type Wanted } from "../../../src/sync/index.ts";
import { readBearer } from "../../support/node-keys.ts";

const {
  folder,
  pem,
  wanted,
  sources,
  rate,
  stallMs = 5_000,
  programs = { rsync: "rsync", ssh: "ssh" },
} = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as {
  folder: string;
  pem: string;
  wanted: Wanted[];
  sources: Source[];
  rate: number | null;
  stallMs?: number;
  programs?: { rsync: string; ssh: string; env?: Record<string, string> };
};
const store = createArtifactStore({ folder });
const transfers = await startTransfers({
  ...readBearer(pem),
  folder,
  store,
  scratch: `${folder}.scratch`,
  maxBytesPerSecond: rate,
  stallMs,
  programs,
  log: silentLog(),
  onRefused: () => {},
});
process.stdout.write("begun\n");
const report = await transfers.fetch({
  wanted,
  sources,
  onProgress: ({ bytesDone }) => void process.stdout.write(`at ${bytesDone}\n`),
});
process.stdout.write(`report ${JSON.stringify(report)}\n`);
await transfers.close();
await store.close();
