/**
 * One coordinator's part in leading: it follows the log, tries to lead after a silence, leads until its term is over, and follows again.
 *
 * Everything that leads lives inside `lead`: it is begun with a term and has ended before anything else happens, so that nothing of one
 * term is left in the next. What acts outside of the database asks `trustedUntil` first.
 */
import { aborted, type Clock, type Log, OperatingError, sleep } from "../../kernel/index.ts";
import {
  decodeEntry,
  isStoreTrouble,
  type LogPosition,
  type ReplicatedLog,
  type StoredEntry,
} from "../../router/index.ts";
import { campaignAt, hasLostEntries, isBeatDue, type LeaseTiming, type SeenLast, trustedUntil } from "./decide.ts";
import { type RefusedEntry, readStepDown, writeStepDown } from "./members.ts";
import type { ReplicaPort, Term, TermWriter } from "./replica.port.ts";

/** A term while it lasts. */
export interface Leading {
  readonly term: Term;
  readonly writer: TermWriter;
  /** Until when it may act outside of the database, on the clock that never goes back. */
  readonly trustedUntil: () => number;
}

export interface LeadershipOptions {
  readonly replica: ReplicaPort;
  readonly log: Pick<ReplicatedLog, "follow">;
  readonly clock: Clock;
  readonly logLines: Pick<Log, "info" | "warn">;
  readonly timing: LeaseTiming;
  /** The process and its node. */
  readonly boot: string;
  readonly node: string;
  /** Whether one that is preferred to this one is there: it may try first. Nobody by default. */
  readonly givesWay?: () => boolean;
  /** The lease of whoever leads, as its term says; undefined where it says nothing. */
  readonly leaderLeaseMs?: () => number | undefined;
  /** What the first entry of a term says of this coordinator: where it is reached. */
  readonly about?: () => Uint8Array;
  /** Whether whoever leads here still answers. One that hangs does not renew its lease, and another takes over. */
  readonly isAnswering?: () => boolean;
  /** Begins what leads; what it gives ends all of that again, and resolves when nothing of it runs any more. */
  readonly lead: (leading: Leading) => Promise<() => Promise<void>>;
}

export interface Leadership {
  readonly role: () => "leader" | "follower" | "candidate";
  /** Rejects when this replica cannot go on: it diverged, or the log holds nothing for it any more. */
  readonly running: Promise<void>;
  /** The last entry that this process sent as the leader while another led already; null where there is none. */
  refused(): RefusedEntry | null;
  /** Hands the lead over, to one node or to whoever is first; resolves when this term is over. Does nothing for who does not lead. */
  stepDown(to: string | undefined, reason: string): Promise<void>;
  stop(): Promise<void>;
}

/** Whom the lead is offered to, and why; null: everybody. */
interface StepDown {
  readonly to: string | null;
  readonly reason: string;
}

const isFor = (body: Uint8Array, node: string): boolean => {
  const told = readStepDown(Buffer.from(body).toString());
  return told !== undefined && (told.to === null || told.to === node);
};

const lostEntries = (seq: number, last: number): OperatingError =>
  OperatingError.internal(
    "LOG_LOST_ENTRIES",
    `the replicated log ends at entry ${last}, and this replica has entry ${seq}: acknowledged entries are gone`,
    {
      hint: "Stop all coordinators. Keep the servers' folders, and begin a new generation from the replica that has most.",
    },
  );

const begunAnew = (own: number, generation: number): OperatingError =>
  OperatingError.conflict(
    "LOG_BEGUN_ANEW",
    `the replicated log is of generation ${generation}, and this replica of ${own}: the cluster was begun anew without it`,
    { hint: "Run 'ringrift cluster join' on this machine again: it takes a copy of the leader's database." },
  );

/** Why a process that ends in order hands over. */
const STOPS = "its process ends in order";
const MAX_SEEN = 10;
const DISK_AGAIN_MS = 1_000;
const BEAT_AGAIN_MS = 100;

interface Won {
  readonly term: Term;
  readonly sentAt: number;
}

export function startLeadership(options: LeadershipOptions): Leadership {
  const { replica, log, clock, timing, boot, node, isAnswering = () => true, givesWay = () => false } = options;
  const stopping = new AbortController();
  /** Where the log was said to end, while it went on without this one. */
  let seenLasts: readonly SeenLast[] = [];
  let role: ReturnType<Leadership["role"]> = "follower";
  /** An entry of a term of ours that the log did not take: what stands in its place tells whether another led. */
  let suspect: { readonly term: number; readonly seq: number } | undefined;
  let refused: RefusedEntry | null = null;
  let current: { readonly handOver: (handed: StepDown) => void; readonly over: Promise<unknown> } | undefined;

  /** A disk that is full or fails is waited for; everything else stops this replica. */
  async function take(entry: StoredEntry, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        replica.replay([entry]);
        return;
      } catch (thrown) {
        if (!isStoreTrouble(thrown)) throw thrown;
        await sleep(clock, DISK_AGAIN_MS, signal).catch(() => {});
      }
    }
  }

  /** The log ends before what is here: entries are gone, or it is that of a cluster that was begun anew. */
  async function whyBehind({ seq, generation: own }: LogPosition, last: number): Promise<OperatingError> {
    const late = new AbortController();
    clock.after(timing.leaseMs, () => late.abort());
    try {
      for await (const { bytes } of log.follow(
        Math.max(0, last - 1),
        AbortSignal.any([stopping.signal, late.signal]),
      )) {
        const { generation } = decodeEntry(bytes).header;
        if (generation !== own) return begunAnew(own, generation);
        break;
      }
    } catch {
      // Whatever is wrong with it, it is not what was acknowledged here.
    }
    return lostEntries(seq, last);
  }

  /** Follows until it has won a term. Entries are taken one after the other, and none while it tries to win. */
  async function follow(): Promise<Won | undefined> {
    let silence = { heardAt: clock.monotonic(), isOffered: false };
    let claiming: Promise<unknown> = Promise.resolve();
    /** Wakes who waits for the silence to last. */
    let offered = new AbortController();
    const over = new AbortController();
    const signal = AbortSignal.any([stopping.signal, over.signal]);
    const reading = (async () => {
      for await (const entry of log.follow(replica.position().seq, signal)) {
        await claiming;
        if (signal.aborted) return;
        if (entry.seq <= replica.position().seq) continue;
        await take(entry, signal);
        const { header, body } = decodeEntry(entry.bytes);
        if (entry.seq === suspect?.seq) {
          if (header.boot !== boot) refused = { ...suspect, by: header.node, by_term: header.term, at: clock.now() };
          suspect = undefined;
        }
        const isOffered = header.kind === "step-down" && header.boot !== boot && isFor(body, node);
        silence = { heardAt: clock.monotonic(), isOffered };
        if (isOffered) offered.abort();
        else if (offered.signal.aborted) offered = new AbortController();
      }
    })();
    const broken = reading.then(() => aborted(signal));
    const tryToLead = async () => {
      while (!signal.aborted) {
        const heard = { ...silence, givesWay: givesWay(), leaderLeaseMs: options.leaderLeaseMs?.() };
        const waitMs = campaignAt(heard, timing) - clock.monotonic();
        if (waitMs > 0) {
          await sleep(clock, waitMs, AbortSignal.any([signal, offered.signal])).catch(() => {});
          continue;
        }
        const unfit = replica.unfit?.();
        if (unfit !== undefined) {
          options.logLines.warn(`${node} does not try to lead`, { why: unfit });
          silence = { heardAt: clock.monotonic(), isOffered: false };
          offered = new AbortController();
          continue;
        }
        role = "candidate";
        const at = replica.position();
        const term = { cluster: at.cluster, generation: at.generation, term: at.term + 1, boot, node };
        const claim = replica.claim(term, options.about?.());
        claiming = claim.catch(() => {});
        const claimed = await claim;
        if (claimed.claim === "won") return { term, sentAt: claimed.sentAt };
        role = "follower";
        if (claimed.claim === "lost" && claimed.last !== undefined) {
          seenLasts = [...seenLasts, { at: clock.monotonic(), last: claimed.last, by: claimed.by }].slice(-MAX_SEEN);
          if (hasLostEntries(at.seq, seenLasts, clock.monotonic(), timing)) throw await whyBehind(at, claimed.last);
        }
        silence = { heardAt: clock.monotonic(), isOffered: false };
        offered = new AbortController();
      }
      return undefined;
    };
    try {
      return await Promise.race([tryToLead(), broken.then(() => undefined)]);
    } finally {
      over.abort();
      await reading.catch(() => {});
    }
  }

  /** Leads until the term is over, and until everything that led has ended. */
  async function leadFor({ term, sentAt }: Won): Promise<void> {
    let trusted = trustedUntil(sentAt, timing);
    let appendedAt = clock.monotonic();
    const writer = replica.open(term, {
      trustedUntil: () => trusted,
      onAccepted: (at) => {
        trusted = Math.max(trusted, trustedUntil(at, timing));
        appendedAt = clock.monotonic();
      },
    });
    const over = new AbortController();
    void writer.ended.then(() => over.abort());
    const beating = (async () => {
      while (!over.signal.aborted) {
        await sleep(clock, Math.max(BEAT_AGAIN_MS, appendedAt + timing.beatMs - clock.monotonic()), over.signal).catch(
          () => {},
        );
        // Who cannot renew its lease finds out when it ends: the writer says so, and the term is over.
        if (!over.signal.aborted && isAnswering() && isBeatDue(clock.monotonic(), appendedAt, timing))
          await writer.append("beat").catch(() => {});
      }
    })();
    role = "leader";
    options.logLines.info(`${node} leads in term ${term.term}`);
    const handOver = Promise.withResolvers<StepDown>();
    current = { handOver: handOver.resolve, over: writer.ended };
    if (stopping.signal.aborted) handOver.resolve({ to: null, reason: STOPS });
    try {
      const leading = { term, writer, trustedUntil: () => (over.signal.aborted ? 0 : trusted) };
      const endLeading = await options.lead(leading);
      const handed = await Promise.race([writer.ended.then(() => undefined), handOver.promise]);
      await endLeading();
      // Nothing of this term acts any more by the time that others hear of its end.
      if (handed !== undefined) await writer.append("step-down", writeStepDown(handed)).catch(() => {});
    } finally {
      await writer.end("it has stepped down");
      current = undefined;
      role = "follower";
      await beating;
      const { message, details } = await writer.ended;
      if (typeof details.refused === "number") suspect = { term: term.term, seq: details.refused };
      options.logLines.warn(`${node} leads no more`, { why: message });
    }
  }

  const running = (async () => {
    while (!stopping.signal.aborted) {
      const won = await follow();
      if (won !== undefined) await leadFor(won);
    }
  })();
  // Whoever waits for it is told; nobody has to.
  running.catch(() => {});

  const stepDown: Leadership["stepDown"] = async (to, reason) => {
    current?.handOver({ to: to ?? null, reason });
    await current?.over;
  };
  return {
    role: () => role,
    refused: () => refused,
    running,
    stepDown,
    async stop() {
      stopping.abort();
      await stepDown(undefined, STOPS);
      await running.catch(() => {});
    },
  };
}
