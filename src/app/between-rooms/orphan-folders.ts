import type { OrphanFolder } from "../../sync/index.ts";
import type { Settings } from "../settings.ts";

/** Where a node looks for games that no manifest knows: its own store, and the folder that it watches. */
export const orphanFolders = (
  { artifacts: { watchedFolder } }: Pick<Settings, "artifacts">,
  own: OrphanFolder,
): OrphanFolder[] => [own, ...(watchedFolder === undefined ? [] : [{ path: watchedFolder, layout: "any" as const }])];
