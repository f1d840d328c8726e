/** The files of a coordinator while another leads: fetched from there, told to it, and given to whoever asks. */
import { openReader } from "../../adapters/sqlite/writer.ts";
import type { ClusterView } from "../../cluster/index.ts";
import { type Clock, defined, type Log, OperatingError } from "../../kernel/index.ts";
import { openLink, tellFiles } from "../../surfaces/index.ts";
import { createMemberFiles, type MemberFileNews } from "../../sync/index.ts";
import { artifactStoreOf } from "../between-rooms/artifact-files.ts";
import type { Settings } from "../settings.ts";
import { clusterTokenIn } from "./cluster-token.ts";
import { keepFiles } from "./keep-files.ts";
import { createMemberTransfers } from "./member-transfers.ts";
import type { MemberAddress } from "./messages.ts";

const TELL_MS = 10_000;

export interface StandbyFilesOptions {
  readonly settings: Settings;
  readonly databasePath: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly view: () => ClusterView | undefined;
}

export function openStandbyFiles({ settings, databasePath, clock, log, view }: StandbyFilesOptions) {
  const { dataDir, nodeId } = settings;
  const files = artifactStoreOf(settings, clock);
  const token = () => clusterTokenIn(dataDir);
  const transfers = createMemberTransfers({ settings, files, token, log });
  const db = openReader(databasePath);
  let line: { readonly key: string; readonly link: ReturnType<typeof openLink> } | undefined;

  const leaderNow = (): MemberAddress => {
    const leader = view()?.leader;
    if (leader == null || leader.name === nodeId)
      throw OperatingError.unavailable("NO_LEADER", "no other coordinator leads at the moment");
    return { url: leader.url, fingerprint: leader.fingerprint };
  };
  const linkTo = (leader: MemberAddress) => {
    const key = JSON.stringify([leader, token()]);
    if (line?.key !== key) {
      line?.link.close();
      const trust = defined({ fingerprint: leader.fingerprint ?? undefined });
      line = { key, link: openLink({ target: { url: new URL(leader.url), trust }, clock, token: token() }) };
    }
    return line.link;
  };

  const tell = async ({ held, gone, isConfirmed, lacking }: MemberFileNews, signal: AbortSignal): Promise<void> => {
    const body = { name: nodeId, held: [...held], gone: [...gone], confirmed: isConfirmed, lacking };
    await linkTo(leaderNow()).send(tellFiles.method, tellFiles.path, body, { signal, timeoutMs: TELL_MS });
  };

  const kept = keepFiles(
    createMemberFiles({
      ...{ clock, log, nodeId, files, tell, wantsDamaged: false },
      store: { read: (sql, ...params) => db.prepare(sql).all(...params) as never },
      fetch: (wanted, signal) => transfers.fetch([leaderNow()], wanted, signal),
      audience: () => JSON.stringify([leaderNow(), view()?.term]),
    }),
    clock,
    log,
  );
  return {
    files,
    async close(): Promise<void> {
      await kept.stop();
      await transfers.close();
      line?.link.close();
      await files.close();
      db.close();
    },
  };
}

export type StandbyFiles = ReturnType<typeof openStandbyFiles>;
