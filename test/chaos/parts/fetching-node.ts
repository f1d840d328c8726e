/** A node that fetches what it is told, in a process that may be killed at any moment. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startTransfers } from "../../../src/adapters/transports/transfers.ts";
import { silentLog } from "../../../src/kernel/index.ts";
import { createArtifactStore, createReservations, type Source, type Wanted } from "../../../src/sync/index.ts";
import { readBearer } from "../../support/node-keys.ts";

const {
  folder,
  pem,
  wanted,
  sources,
  rate,
  stallMs = 5_000,
  programs = { rsync: "rsync", ssh: "ssh" },
  packs,
} = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as {
  folder: string;
  pem: string;
  wanted: Wanted[];
  sources: Source[];
  rate: number | null;
  stallMs?: number;
  programs?: { rsync: string; ssh: string; env?: Record<string, string> };
  /** As a node that has joined: its files lie side by side, and small ones that came together here. */
  packs?: { folder: string; quarantine: string };
};
const files = createArtifactStore({ folder });
const pathOf = (sha256: string) => join(folder, sha256);
const store =
  packs === undefined
    ? files
    : {
        pathOf,
        ...createReservations({
          maxBytes: 1e12,
          landingOf: (sha256) => ({ path: pathOf(sha256), part: `${pathOf(sha256)}.part` }),
          isLeaving: () => false,
        }),
      };
const transfers = await startTransfers({
  ...readBearer(pem),
  folder,
  isFlat: packs !== undefined,
  packs,
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
await files.close();
