import { join } from "node:path";
import type { Clock } from "../../kernel/index.ts";
import { createArtifactStore } from "../../sync/index.ts";
import type { Settings } from "../settings.ts";

/** Where artifacts of a data folder lie. What its own worker has made it need not be sent. */
export const artifactStoreOf = (
  { dataDir, artifacts, resources }: Pick<Settings, "dataDir" | "artifacts" | "resources">,
  clock: Clock,
  faultOf?: (path: string) => Promise<string | null>,
) =>
  createArtifactStore({
    folder: join(dataDir, "artifacts"),
    maxBytes: artifacts.maxBytes,
    leaveFree: 1 - resources.disk.critical,
    adoptFrom: join(dataDir, "worker", "jobs"),
    clock,
    ...(faultOf === undefined ? {} : { faultOf }),
  });
