/** How a coordinator gets files from another: on the thread of transfers, by the route that everybody reads files by. */
import { createPublicKey } from "node:crypto";
import { join } from "node:path";
import { type RunningTransfers, startTransfers } from "../../adapters/transports/transfers.ts";
import { defined, type Log, messageOf } from "../../kernel/index.ts";
import type { ArtifactStore, Fetched, Wanted } from "../../sync/index.ts";
import { ticketKeyIn } from "../data-folder/ticket-key.ts";
import type { Settings } from "../settings.ts";
import type { MemberAddress } from "./messages.ts";

/** What a coordinator says that does not have a file. */
const NOT_THERE = "ARTIFACT_NOT_FOUND";

export interface MemberTransfersOptions {
  readonly settings: Pick<Settings, "dataDir" | "nodeId" | "transfers">;
  readonly files: ArtifactStore;
  /** Good at every coordinator. */
  readonly token: () => string;
  readonly log: Log;
}

export function createMemberTransfers({ settings, files, token, log }: MemberTransfersOptions) {
  const { dataDir, nodeId, transfers: limits } = settings;
  const open = new Map<string, Promise<RunningTransfers>>();

  const start = ({ url, fingerprint }: MemberAddress): Promise<RunningTransfers> => {
    const privateKey = ticketKeyIn(dataDir);
    const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" });
    return startTransfers({
      ...{ nodeId, privateKey, publicKey: Buffer.from(x, "base64url").toString("base64") },
      folder: join(dataDir, "artifacts"),
      store: files,
      scratch: join(dataDir, "transfers.members"),
      maxBytesPerSecond: limits.maxRate === 0 ? null : limits.maxRate,
      stallMs: limits.stallMs,
      programs: { rsync: "rsync", ssh: "ssh" },
      coordinator: {
        url,
        ...defined({ fingerprint: fingerprint ?? undefined }),
        prove: async () => ({ authorization: `Bearer ${token()}` }),
      },
      log,
      onRefused: () => {},
    });
  };

  const close = async (key: string): Promise<void> => {
    const running = open.get(key);
    open.delete(key);
    await running?.then(
      (transfers) => transfers.close(),
      () => {},
    );
  };

  return {
    /** Asks these one after the other for what is still missing. What all of them say that they do not have is nowhere. */
    async fetch(from: readonly MemberAddress[], wanted: readonly Wanted[], signal: AbortSignal): Promise<Fetched> {
      const keys = new Set(from.map((address) => JSON.stringify(address)));
      // A coordinator that has moved is asked by another line.
      for (const key of [...open.keys()]) if (!keys.has(key)) await close(key);
      const came = new Set<string>();
      let nowhere = from.length === 0 ? [] : wanted.map(({ sha256 }) => sha256);
      for (const address of from) {
        const missing = wanted.filter(({ sha256 }) => !came.has(sha256));
        if (missing.length === 0) break;
        const key = JSON.stringify(address);
        const running = open.get(key) ?? start(address);
        open.set(key, running);
        try {
          const report = await (await running).fetch({
            wanted: missing.map(({ sha256, bytes }) => ({ sha256, bytes })),
            sources: [{ transport: "coordinator" }],
            signal,
          });
          for (const sha256 of [...report.arrived, ...report.present]) came.add(sha256);
          const denied = new Set(report.failed.flatMap(({ sha256, code }) => (code === NOT_THERE ? [sha256] : [])));
          nowhere = nowhere.filter((sha256) => denied.has(sha256));
          // One that was started again is asked anew, and not left alone for what it could not do before.
          if (report.failed.some(({ code }) => code !== NOT_THERE)) await close(key);
        } catch (thrown) {
          signal.throwIfAborted();
          nowhere = [];
          log.warn("a coordinator gave no files", { url: address.url, error: messageOf(thrown) });
          await close(key);
        }
      }
      return { came: [...came], nowhere: nowhere.filter((sha256) => !came.has(sha256)) };
    },
    async close(): Promise<void> {
      for (const key of [...open.keys()]) await close(key);
    },
  };
}
