/** What has come is used only if it can be read: its hash is right, and its structure is looked at before anybody is told of it. */
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemCode } from "../../kernel/index.ts";
import { makeFolder, nodeIn, type TransferNews, type TransferReport } from "../../sync/index.ts";

export interface ArrivalPorts {
  readonly pathOf: (sha256: string) => string;
  readonly quarantine: string;
  readonly news: Pick<TransferNews, "noteWrong">;
  readonly clock: Clock;
  readonly faultOf?: ((path: string) => Promise<string | null>) | undefined;
}

/** The report without what cannot be read: that lies in quarantine, and whoever gave it is named. */
export async function judgeArrivals(report: TransferReport, ports: ArrivalPorts): Promise<TransferReport> {
  const { pathOf, quarantine, news, clock, faultOf } = ports;
  if (faultOf === undefined || report.arrived.length === 0) return report;
  const givers = report.tries.filter(({ files }) => files > 0);
  const [giver] = givers;
  const failed = [...report.failed];
  const arrived: string[] = [];
  for (const sha256 of report.arrived) {
    const fault = await faultOf(pathOf(sha256)).catch((thrown: unknown) => {
      // Somebody has used and removed it meanwhile: it says nothing of the file.
      if (systemCode(thrown) === "ENOENT") return null;
      throw thrown;
    });
    if (fault === null) {
      arrived.push(sha256);
      continue;
    }
    await makeFolder(quarantine);
    await rename(pathOf(sha256), join(quarantine, `${sha256}.${clock.now()}`));
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
