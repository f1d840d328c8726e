/**
 * What the leader of several coordinators does beside everything that one alone does too: it writes down who belongs to the cluster, gets
 * the bytes that it lacks from the others, and lets the log forget what all have.
 */
import {
  type ClusterPort,
  commonSeq,
  type ForgetLimits,
  forgettable,
  type Mark,
  noteCoordinators,
  PRESENT_MS,
  storedCoordinators,
} from "../../cluster/index.ts";
import { type Clock, type Log, messageOf, sleep } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import { type ArtifactStore, createMemberFiles, type Fetched, type MemberDesk, type Wanted } from "../../sync/index.ts";
import type { Settings } from "../settings.ts";
import { clusterTokenIn } from "./cluster-token.ts";
import { keepFiles } from "./keep-files.ts";
import { createMemberTransfers } from "./member-transfers.ts";

const LOOK_EVERY_MS = 1_000;
/** How far a member is is written down this often, and at once when it is new or has moved. */
const NOTE_EVERY_MS = 60_000;
const FORGET: Omit<ForgetLimits, "keepMs"> = {
  awayMs: 24 * 3_600_000,
  maxBytes: 4 * 1_024 ** 3,
  presentMs: PRESENT_MS,
};

export interface TermDutiesOptions {
  readonly settings: Settings;
  readonly cluster: ClusterPort;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly files: ArtifactStore;
  readonly desk: MemberDesk;
  /** Looks at the bytes of files again, and keeps their rows right. */
  readonly verify: (sha256s: readonly string[]) => void;
}

/** Writes down who is heard, as far as it is news. */
function createRoll({ cluster, store, clock }: TermDutiesOptions) {
  let notedAt = Number.NEGATIVE_INFINITY;
  return async (): Promise<void> => {
    const { members } = cluster.view();
    const known = new Map(storedCoordinators(store).map((row) => [row.name, row]));
    const isDue = clock.monotonic() - notedAt >= NOTE_EVERY_MS;
    const news = members.filter(({ name, url, fingerprint, seq, heardMsAgo }) => {
      const row = known.get(name);
      if (heardMsAgo > PRESENT_MS) return false;
      return row === undefined || row.url !== url || row.fingerprint !== fingerprint || (isDue && row.seq !== seq);
    });
    if (isDue) notedAt = clock.monotonic();
    if (news.length === 0) return;
    const rows = news.map(({ name, url, fingerprint, seq }) => ({ name, url, fingerprint, seq }));
    await store.commit([noteCoordinators({ members: rows, at: clock.now() })]);
  };
}

/** Lets the log forget what all have had for long enough. */
function createForgetting({ cluster, store, clock, settings, log }: TermDutiesOptions) {
  const limits = { ...FORGET, keepMs: settings.coordinators.logKeepMs };
  let marks: readonly Mark[] = [];
  let forgotten = 0;
  return async (): Promise<void> => {
    const { name: own, seq, members, engine } = cluster.view();
    if (engine === null) return;
    const heard = new Map(members.map((one) => [one.name, one]));
    const others = storedCoordinators(store)
      .filter(({ name }) => name !== own)
      .map(({ name, seq: noted, seen_at }) => {
        const one = heard.get(name);
        return one === undefined
          ? { seq: noted, silentMs: Math.max(0, clock.now() - seen_at) }
          : { seq: Math.max(noted, one.seq), silentMs: one.heardMsAgo };
      });
    const common = commonSeq(seq, others, engine.bytes, limits);
    const next = forgettable(marks, { at: clock.monotonic(), seq: common }, limits);
    marks = next.marks;
    if (next.upTo <= forgotten || next.upTo < engine.first) return;
    await cluster.forget(next.upTo);
    forgotten = next.upTo;
    log.debug("the shared log forgot entries that all coordinators have", { up_to: next.upTo });
  };
}

export function startTermDuties(options: TermDutiesOptions): { stop(): Promise<void> } {
  const { settings, cluster, store, clock, log, files, desk, verify } = options;
  const { nodeId, dataDir } = settings;
  const stopping = new AbortController();
  const { signal } = stopping;
  const duties = [createRoll(options), createForgetting(options)];
  /** The same trouble is logged once while it lasts. */
  let said = "";
  const looking = (async () => {
    while (!signal.aborted) {
      try {
        for (const duty of duties) await duty();
        said = "";
      } catch (thrown) {
        const why = messageOf(thrown);
        if (!signal.aborted && why !== said) log.warn("a duty of the leader failed; it is tried again", { error: why });
        said = why;
      }
      await sleep(clock, LOOK_EVERY_MS, signal).catch(() => {});
    }
  })();

  const transfers = createMemberTransfers({ settings, files, token: () => clusterTokenIn(dataDir), log });
  const others = () =>
    cluster.view().members.filter(({ name, heardMsAgo }) => name !== nodeId && heardMsAgo <= PRESENT_MS);
  const fetch = async (wanted: readonly Wanted[], until: AbortSignal): Promise<Fetched> => {
    const asked = others();
    const found = await transfers.fetch(
      asked.map(({ url, fingerprint }) => ({ url, fingerprint })),
      wanted,
      until,
    );
    // One that is away may have it.
    const isEverybody = desk.waitedFor().every((name) => asked.some((one) => one.name === name));
    return isEverybody ? found : { ...found, nowhere: [] };
  };
  const kept = keepFiles(
    createMemberFiles({
      ...{ store, clock, log, nodeId, files, wantsDamaged: true },
      ...{ fetch, sought: desk.sought },
      audience: () => nodeId,
      async tell(news) {
        await desk.tell(nodeId, news);
        // What was set aside as damaged is itself again.
        if (news.held.length > 0) verify(news.held);
      },
    }),
    clock,
    log,
  );
  return {
    async stop() {
      stopping.abort();
      await kept.stop();
      await transfers.close();
      await looking;
    },
  };
}
