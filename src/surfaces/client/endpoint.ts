import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { messageOf, OperatingError, systemCode, translateDiskFault } from "../../kernel/index.ts";

/** What a main process writes into its data folder so that others find it. */
export const endpointFile = z.object({
  pid: z.int().min(1),
  socket_path: z.string().min(1),
  port: z.int().min(0).max(65_535),
  /** Where the port is open, and whether over TLS; an older process does not say. */
  host: z.string().optional(),
  secure: z.boolean().optional(),
  node_id: z.string(),
  version: z.string(),
  started_at: z.number(),
  /** `standby` where another coordinator leads. */
  role: z.enum(["leader", "standby"]).optional(),
});
export type EndpointFile = z.output<typeof endpointFile>;

export const ENDPOINT_FILE = "endpoint.json";
export const TOKEN_FILE = "token";
/** The token with which this machine asks whichever coordinator leads: it is good at all, since tokens are rows of their database. */
export const CLUSTER_TOKEN_FILE = "cluster-token";

/** Undefined where this machine was given none. */
export function clusterTokenIn(dataDir: string): string | undefined {
  try {
    return readFileSync(join(dataDir, CLUSTER_TOKEN_FILE), "utf8").trim() || undefined;
  } catch (thrown) {
    if (systemCode(thrown) === "EACCES") throw translateDiskFault(thrown);
    return undefined;
  }
}

/** Undefined where there is none. A folder that may not be looked into is no folder on which nothing runs. */
function readEndpoint(dataDir: string): string | undefined {
  try {
    return readFileSync(join(dataDir, ENDPOINT_FILE), "utf8");
  } catch (thrown) {
    if (systemCode(thrown) === "EACCES") throw translateDiskFault(thrown);
    return undefined;
  }
}

/** The running main process of a data folder; undefined when there is none. */
export function findEndpoint(dataDir: string): EndpointFile | undefined {
  const text = readEndpoint(dataDir);
  if (text === undefined) return undefined;
  try {
    const found = endpointFile.parse(JSON.parse(text), { jitless: true });
    process.kill(found.pid, 0);
    return found;
  } catch (thrown) {
    // A file of a process that was killed, or half of one: nothing runs.
    if ((thrown as { code?: string }).code === "EPERM")
      throw OperatingError.denied("FORBIDDEN", `the main process belongs to another user (${messageOf(thrown)})`);
    return undefined;
  }
}

/** Where a folder that has joined a main process elsewhere keeps what it joined as. */
export const JOINED_FILE = join("node", "node.json");

export function requireEndpoint(dataDir: string): EndpointFile {
  const found = findEndpoint(dataDir);
  if (found === undefined)
    throw OperatingError.unavailable("NOT_RUNNING", `no main process is running on the data folder ${dataDir}`, {
      hint: existsSync(join(dataDir, JOINED_FILE))
        ? "This folder is a node of a main process elsewhere: ask there. Here 'ringrift status' shows the node."
        : "Start it with 'ringrift up', or choose another folder with --data-dir or RINGRIFT_DATA_DIR.",
    });
  return found;
}
