/**
 * What the main process serves to joined nodes beside its API: files of its store against tickets, and the relay for nodes that others
 * cannot reach. Both on a thread of their own, which begins when the first node that knows of it is heard.
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type RunningTransfers, startTransfers } from "../../adapters/transports/transfers.ts";
import { type Log, messageOf } from "../../kernel/index.ts";
import type { ArtifactStore } from "../../sync/index.ts";
import { fingerprintIn } from "../data-folder/fingerprint.ts";
import type { Settings } from "../settings.ts";

export interface HomeTransfersOptions {
  readonly settings: Pick<Settings, "api" | "transfers" | "dataDir" | "nodeId">;
  readonly ticketKey: KeyObject;
  readonly files: ArtifactStore;
  readonly log: Log;
  readonly onRefused: (refusal: { readonly code: string; readonly nodeId?: string; readonly from: string }) => void;
}

export function createHomeTransfers({ settings, ticketKey, files, log, onRefused }: HomeTransfersOptions) {
  const { api, transfers: limits, dataDir, nodeId } = settings;
  const { tlsCertFile, tlsKeyFile } = api;
  const known = new Set<string>();
  let starting: Promise<RunningTransfers | undefined> | undefined;
  let running: RunningTransfers | undefined;
  let fingerprint: string | null = null;

  const start = async (): Promise<RunningTransfers | undefined> => {
    try {
      const tls =
        tlsCertFile === undefined || tlsKeyFile === undefined
          ? undefined
          : { cert: readFileSync(tlsCertFile, "utf8"), key: readFileSync(tlsKeyFile, "utf8") };
      const publicKey = createPublicKey(ticketKey);
      running = await startTransfers({
        nodeId,
        privateKey: ticketKey,
        publicKey: Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url").toString("base64"),
        folder: join(dataDir, "artifacts"),
        store: files,
        scratch: join(dataDir, "transfers"),
        maxBytesPerSecond: limits.maxRate === 0 ? null : limits.maxRate,
        stallMs: limits.stallMs,
        programs: { rsync: "rsync", ssh: "ssh" },
        serve: {
          host: api.host,
          port: limits.servePort,
          coordinatorKey: publicKey,
          isRelay: true,
          ...(tls === undefined ? {} : { tls }),
        },
        log,
        onRefused,
      });
      fingerprint = tls === undefined ? null : fingerprintIn(tls.cert);
      for (const node of known) running.letPark(node);
      log.info("files are served to nodes", { host: api.host, port: running.port });
      return running;
    } catch (thrown) {
      // Nodes fetch over the API then, as all did before.
      log.error("files cannot be served to nodes beside the API", { error: messageOf(thrown) });
      return undefined;
    }
  };

  return {
    /** A node that knows tickets was heard. */
    heard(node: string): void {
      starting ??= start();
      if (known.has(node)) return;
      known.add(node);
      running?.letPark(node);
    },
    /** Where it listens; undefined while it does not. */
    home: () => (running?.port == null ? undefined : { port: running.port, tls: fingerprint !== null, fingerprint }),
    async close(): Promise<void> {
      await (await starting)?.close();
    },
  };
}
