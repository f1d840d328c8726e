/** What has come is used only if it can be read: its hash is right, and its structure is looked at before anybody is told of it. */
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemCode } from "../../kernel/index.ts";
import { makeFolder, nodeIn, type PackedFiles, type TransferNews, type TransferReport } from "../../sync/index.ts";
import type { FilePlace } from "../../workloads/arena/index.ts";

export interface ArrivalPorts {
  readonly pathOf: (sha256: string) => string;
  readonly quarantine: string;
  readonly news: Pick<TransferNews, "noteWrong">;
  readonly clock: Clock;
  /** Files that lie together. */
  readonly packed?: PackedFiles | undefined;
  /** What is wrong with each; null if nothing is, undefined if there is none. */
  readonly faultsOf?: ((places: readonly FilePlace[]) => Promise<readonly (string | null | undefined)[]>) | undefined;
}

/** Faults of these, wherever they lie. One that somebody has used and removed meanwhile has none. */
async function faultsIn(sha256s: readonly string[], { pathOf, packed, faultsOf }: ArrivalPorts) {
  const inPacks = (await packed?.find(sha256s)) ?? [];
  const ownPlaces = sha256s.map((sha256) => ({ path: pathOf(sha256) }));
  const faults = [...(await faultsOf!(ownPlaces.map((own, i) => inPacks[i] ?? own)))];
  // What was in a pack may have become a file of its own since.
  const moved = [...faults.keys()].filter((i) => faults[i] === undefined && inPacks[i] != null);
  for (const [n, fault] of (await faultsOf!(moved.map((i) => ownPlaces[i]!))).entries()) faults[moved[n]!] = fault;
  return new Map(sha256s.map((sha256, i) => [sha256, faults[i] ?? null]));
}

/** The report without what cannot be read: that lies in quarantine, and whoever gave it is named. */
export async function judgeArrivals(report: TransferReport, ports: ArrivalPorts): Promise<TransferReport> {
  const { pathOf, packed, quarantine, news, clock, faultsOf } = ports;
  if (faultsOf === undefined || report.arrived.length === 0) return report;
  const givers = report.tries.filter(({ files }) => files > 0);
  const [giver] = givers;
  const failed = [...report.failed];
  const arrived: string[] = [];
  for (const [sha256, fault] of await faultsIn(report.arrived, ports)) {
    if (fault === null) {
      arrived.push(sha256);
      continue;
    }
    await packed?.setAside(sha256);
    await makeFolder(quarantine);
    await rename(pathOf(sha256), join(quarantine, `${sha256}.${clock.now()}`)).catch((thrown: unknown) => {
      if (systemCode(thrown) !== "ENOENT") throw thrown;
    });
    news.noteWrong({
      sha256,
      actual: sha256,
      transport: giver?.transport ?? "coordinator",
      nodeId: givers.length === 1 ? nodeIn(giver!.place) : null,
      fault,
    });
    failed.push({ sha256, code: "ARTIFACT_STRUCTURE", message: `it cannot be read: ${fault}` });
  }
  return { ...report, arrived, failed };
}
