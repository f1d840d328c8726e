/** Who this node is, on disk: its key, where it joined, and how often it has started. */
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { defined, makeFolders, OperatingError, systemCode } from "../../kernel/index.ts";
import { JOINED_FILE, makeNodeKey, type NodeKey, readNodeKey, type TlsTrust } from "../../surfaces/index.ts";
import { writeWhole } from "../data-folder/token.ts";
import type { CoordinatorPlace } from "./node-beats.ts";

const KEY_FILE = "node.key";
const INCARNATION_FILE = "incarnation";

const nodeFile = z.object({
  node_id: z.string().min(1),
  label: z.string().min(1),
  url: z.url(),
  ca: z.string().optional(),
  fingerprint: z.string().optional(),
  /** All coordinators, where there are several: another one may lead by the time that this node starts again. */
  coordinators: z
    .array(z.object({ url: z.url(), fingerprint: z.string().nullable() }))
    .max(16)
    .optional(),
  joined_at: z.number(),
});
export type NodeFile = z.output<typeof nodeFile>;

/** The node's own files within the data folder; for its owner alone. */
export const nodeFolderOf = (dataDir: string): string => join(dataDir, "node");

const readIfThere = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8");
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
};

/** The key of this folder, made at the first time. */
export function nodeKeyIn(dataDir: string): NodeKey {
  const folder = nodeFolderOf(dataDir);
  makeFolders(folder);
  const path = join(folder, KEY_FILE);
  const kept = readIfThere(path);
  if (kept !== undefined) {
    chmodSync(path, 0o600);
    return readNodeKey(kept);
  }
  const key = makeNodeKey();
  writeWhole(path, key.toPem());
  return key;
}

/** Where this folder's node has joined; undefined if it has not. */
export function joinedNode(dataDir: string): NodeFile | undefined {
  const path = join(dataDir, JOINED_FILE);
  const text = readIfThere(path);
  if (text === undefined) return undefined;
  try {
    return nodeFile.parse(JSON.parse(text));
  } catch (cause) {
    throw OperatingError.internal("NODE_FILE_INVALID", `${path} cannot be read`, {
      cause,
      hint: "Join again with a token: the node keeps its identity.",
    });
  }
}

export const keepJoined = (dataDir: string, node: NodeFile): void =>
  writeWhole(join(dataDir, JOINED_FILE), `${JSON.stringify(node, null, 2)}\n`);

const incarnationFile = (dataDir: string): string => join(nodeFolderOf(dataDir), INCARNATION_FILE);

/** That of the start before; 0 if there was none. */
export function lastIncarnation(dataDir: string): number {
  const last = Number(readIfThere(incarnationFile(dataDir)) ?? "0");
  return Number.isSafeInteger(last) && last >= 0 ? last : 0;
}

/** One more than at the start before this one. */
export function nextIncarnation(dataDir: string): number {
  const next = lastIncarnation(dataDir) + 1;
  writeWhole(incarnationFile(dataDir), `${next}\n`);
  return next;
}

/** Where a coordinator is reached, and what is trusted there: the authority that the node was given, or the certificate that it was told of. */
export const placesOf = (
  { ca }: Pick<NodeFile, "ca">,
  all: readonly CoordinatorPlace[],
): { readonly url: URL; readonly trust: TlsTrust }[] =>
  all.map(({ url, fingerprint }) => ({
    url: new URL(url),
    trust: ca === undefined ? defined({ fingerprint: fingerprint ?? undefined }) : { ca },
  }));

export const trustOf = ({ ca, fingerprint }: Partial<NodeFile>): TlsTrust => defined({ ca, fingerprint });
