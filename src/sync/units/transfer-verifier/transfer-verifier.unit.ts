import { type ContextOf, defineDaemon, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { transferNewsLimits } from "../../limits.ts";
import type { TransferNews } from "../../transfer/index.ts";

const wiring = {
  name: "transfer_verifier",
  layer: 4,
  placement: "each-node",
  profiles: ["coordinator", "training_node"],
  pattern: "WIRE",
  alsoKnownAs: ["TransferVerifier", "AutoSyncDaemon (checksums)"],
  dependsOn: ["auto_sync"],
  emits: ["SYNC_CHECKSUM_FAILED"],
} as const satisfies Wiring;

interface Cache {
  wrong: number;
  /** When each sender last sent something wrong. */
  readonly senders: Map<string, number>;
}
type Context = ContextOf<typeof wiring, Cache>;
type Failed = PayloadFor<"SYNC_CHECKSUM_FAILED">;

/**
 * Names who sent what is not what it should be: bytes that are not what their name says, or a file that is right by its hash and
 * cannot be read (cut, lying about its size, a bomb). That nobody uses it needs nobody: a file gets its name only when its hash
 * and its structure are right, and what is wrong is set aside where it arrives.
 */
export const transferVerifier = (
  { nodeId, news }: { readonly nodeId: string; readonly news: Pick<TransferNews, "wrong"> },
  limits = transferNewsLimits,
) => {
  const tell = ({ emit, cache, now, afterCommit }: Context): void => {
    const { all, forget } = news.wrong.next(limits.maxEvents);
    for (const { sha256, actual, transport, nodeId: from, fault } of all)
      emit.SYNC_CHECKSUM_FAILED({
        node_id: nodeId as Failed["node_id"],
        artifact_hash: sha256 as Failed["artifact_hash"],
        actual_hash: actual as Failed["actual_hash"],
        transport,
        error: fault ?? `its bytes are ${actual}`,
        ...(from === null ? {} : { source_node_id: from as NonNullable<Failed["source_node_id"]> }),
      });
    afterCommit(() => {
      forget();
      cache.wrong += all.length;
      for (const { nodeId: from, transport } of all) cache.senders.set(from ?? transport, now);
      for (const [from, at] of cache.senders) if (now - at >= limits.blamedMs) cache.senders.delete(from);
    });
  };

  return defineDaemon({
    ...wiring,
    state: { cache: (): Cache => ({ wrong: 0, senders: new Map() }) },
    // What came wrong with a batch is told with its end, and not at the next look.
    on: { DATA_SYNC_COMPLETED: (_, context) => tell(context) },
    loop: { everyMs: limits.everyMs, tick: tell },
    health: ({ cache: { wrong, senders } }) => ({
      status: senders.size === 0 ? "running" : "degraded",
      message: senders.size === 0 ? "" : `files arrived damaged from ${[...senders.keys()].join(", ")}; none was used`,
      details: { wrong, senders: [...senders.keys()] },
    }),
  });
};
