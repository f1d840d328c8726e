import { cpus, hostname, platform, totalmem } from "node:os";
import type { NodeCapabilities } from "./node-rows.ts";

/** What the machine of the coordinator has. */
export const ownCapabilities = (): NodeCapabilities => ({
  cpu: cpus().length,
  gpu: 0,
  memory_gb: Math.floor(totalmem() / 1e8) / 10,
  gpu_memory_gb: 0,
  tags: [],
  hostname: hostname(),
  platform: platform(),
});
