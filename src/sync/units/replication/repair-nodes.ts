import type { CopyNode } from "../../copies/decide.ts";
import type { NodeDesk } from "../../copies/node-desk.ts";
import type { RepairNode } from "./decide.ts";

/** All nodes with the room on their disks, as they said. */
export const repairNodes = (
  nodes: ReadonlyMap<string, CopyNode>,
  homeId: string,
  desk: Pick<NodeDesk, "storageOf">,
): ReadonlyMap<string, RepairNode> =>
  new Map(
    [...nodes].map(([id, node]) => [
      id,
      { ...node, isHome: id === homeId, freeBytes: desk.storageOf(id)?.free_bytes ?? null },
    ]),
  );
