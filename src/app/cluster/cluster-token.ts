import { readFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf, OperatingError } from "../../kernel/index.ts";
import { CLUSTER_TOKEN_FILE } from "../../surfaces/index.ts";

/** What members show each other; made by `cluster init`, or given to `cluster join`. */
export function clusterTokenIn(dataDir: string): string {
  try {
    return readFileSync(join(dataDir, CLUSTER_TOKEN_FILE), "utf8").trim();
  } catch (thrown) {
    throw OperatingError.conflict("NO_CLUSTER_TOKEN", `the token of the cluster cannot be read: ${messageOf(thrown)}`, {
      hint: `Put a token of the scope operator into ${CLUSTER_TOKEN_FILE} of the data folder.`,
    });
  }
}
