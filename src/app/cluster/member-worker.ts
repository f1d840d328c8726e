/**
 * The worker beside a coordinator that is one of several: a node of its own, with a folder and a key of its own. It joins whoever leads,
 * and works for whoever leads after that, also while the coordinator beside it stands by or starts again.
 */
import { join } from "node:path";
import type { ClusterView } from "../../cluster/index.ts";
import { defined, type Edges, type Environment, makeFolders, messageOf, sleep } from "../../kernel/index.ts";
import { joinOver, openLink } from "../../surfaces/index.ts";
import type { Settings } from "../settings.ts";
import { readVersion } from "../version.ts";
import { type LocalWorker, startLocalWorker } from "../worker/local-worker.ts";
import { keepJoined, nodeKeyIn } from "../worker/node-identity.ts";
import { aboutNode, gpusOf } from "../worker/run-worker.ts";
import { clusterTokenIn } from "./cluster-token.ts";
import type { MemberAddress } from "./messages.ts";

const FOLDER = "worker-node";
const AGAIN_MS = 1_000;

export interface MemberWorkerOptions extends Edges {
  readonly settings: Settings;
  readonly env: Environment;
  readonly view: () => Pick<ClusterView, "leader" | "members">;
}

/** Joins whoever leads. One that has joined before keeps its name: then the leader only learns what it can do now. */
async function joinLeader(
  { settings, env, clock }: MemberWorkerOptions,
  folder: string,
  leader: MemberAddress,
  others: readonly MemberAddress[],
): Promise<void> {
  const { publicKey } = nodeKeyIn(folder);
  const trust = defined({ fingerprint: leader.fingerprint ?? undefined });
  const link = openLink({
    target: { url: new URL(leader.url), trust },
    clock,
    token: clusterTokenIn(settings.dataDir),
  });
  try {
    const { node_id, label } = await joinOver(link, {
      ...{ public_key: publicKey, label: `${settings.nodeId}-worker`, version: readVersion() },
      capabilities: aboutNode(settings.worker, await gpusOf(settings.worker, env)),
    });
    keepJoined(folder, {
      ...{ node_id, label, url: new URL(leader.url).origin, ...trust, joined_at: clock.now() / 1_000 },
      coordinators: others.map(({ url, fingerprint }) => ({ url, fingerprint })),
    });
  } finally {
    link.close();
  }
}

export function startMemberWorker(options: MemberWorkerOptions): LocalWorker {
  const { settings, env, clock, random, log, view } = options;
  const folder = join(settings.dataDir, FOLDER);
  makeFolders(folder);
  const { nodeId } = nodeKeyIn(folder);
  const stopping = new AbortController();
  const { signal } = stopping;
  let worker: LocalWorker | undefined;
  const beginning = (async () => {
    /** The same trouble is logged once while it lasts. */
    let said = "";
    for (let isJoined = false; !isJoined && !signal.aborted; ) {
      const { leader, members } = view();
      try {
        if (leader !== null) {
          await joinLeader(options, folder, leader, members);
          isJoined = true;
        }
      } catch (thrown) {
        const why = messageOf(thrown);
        if (why !== said) log.warn("the local worker has not joined the leader yet; it tries again", { error: why });
        said = why;
      }
      if (!isJoined) await sleep(clock, AGAIN_MS, signal).catch(() => {});
    }
    if (signal.aborted) return;
    worker = startLocalWorker({
      ...{ slots: settings.localWorkers, dataDir: folder, configFile: settings.configFile },
      ...{ env, clock, random, log },
    });
  })();
  return {
    nodeId,
    get pid() {
      return worker?.pid;
    },
    async stop() {
      stopping.abort();
      await beginning;
      await worker?.stop();
    },
    kill() {
      stopping.abort();
      worker?.kill();
    },
  };
}
