/**
 * The files of a joined node as copies: it tells the main process what it holds once that is flushed, removes what it is told to
 * or may, and says after its start which of its copies are there. One round after the other: whoever may remove a file does so
 * before it says anything else, so that it never shows a copy that it is about to remove.
 */
import {
  backoffMs,
  type Clock,
  type Edges,
  isOperatingError,
  messageOf,
  PEER_BACKOFF,
  sleep,
} from "../../kernel/index.ts";
import type { CopiesPort } from "../../surfaces/index.ts";
import type { ArtifactPort } from "../../work/worker/index.ts";
import type { CopyWatch, Inputs } from "./inputs.ts";
import { filesOfNode, giveBackRoom, type NodeFilesPorts } from "./node-files.ts";
import { createLeaving, LEAVING_MS, type LeaveLimits, sendHome } from "./node-leaving.ts";
import { carryOut } from "./node-orders.ts";
import type { StoreFiller } from "./node-stores.ts";
import type { NodeTransfersRunning } from "./node-transfers.ts";

export interface NodeCopiesOptions extends NodeFilesPorts, Edges {
  readonly port: CopiesPort;
  /** The way to the store of the main process. */
  readonly artifacts: ArtifactPort;
  /** How files come to this node from others, and go to them. */
  readonly transfers: Pick<NodeTransfersRunning, "bringBatch" | "arrived" | "told" | "heard">;
  /** How copies get to stores of this node's own; none unless given. */
  readonly stores?: StoreFiller | undefined;
  /** Transfers at once. */
  readonly atOnce: number;
  readonly freeBytes: () => number;
  /** Results that wait here for the main process. */
  readonly waiting: () => Promise<Waiting>;
  readonly everyMs?: number;
}

interface Waiting {
  readonly files: number;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly oldest_at: number | null;
}

const EVERY_MS = 5_000;
/** A node with nothing to say asks less and less often, down to this. */
const MAX_EVERY_MS = 20_000;
const MAX_TOLD = 500;
/** A file is in the catalog when its job is done with; until then it is told again, and in the end it is none of its files. */
const AGAIN_MS = 15_000;
const MAX_TELLS = 40;
/** What may not go now is not asked about again for so long. */
const REFUSED_MS = 300_000;
const HASHED_IN_ROUND = 20;

/** What may not go now, and was refused lately. */
function createRefusals(clock: Pick<Clock, "monotonic">) {
  const refusedMs = new Map<string, number>();
  return {
    note: (sha256: string): void => void refusedMs.set(sha256, clock.monotonic()),
    without(sha256s: readonly string[]): string[] {
      const since = clock.monotonic() - REFUSED_MS;
      for (const [sha256, at] of refusedMs) if (at < since) refusedMs.delete(sha256);
      return sha256s.filter((sha256) => !refusedMs.has(sha256));
    },
  };
}

/** Files to tell of. */
function createTelling(clock: Pick<Clock, "monotonic">) {
  /** When, on the monotonic clock, how often it was done, and whether it is known that they are flushed. */
  const toTell = new Map<string, { readonly dueMs: number; readonly tells: number; readonly isFlushed: boolean }>();
  return {
    held: (sha256: string, isFlushed = false): void => void toTell.set(sha256, { dueMs: 0, tells: 0, isFlushed }),
    has: (sha256: string): boolean => toTell.has(sha256),
    isFlushed: (sha256: string): boolean => toTell.get(sha256)?.isFlushed === true,
    forget: (sha256: string): void => void toTell.delete(sha256),
    due: (now = clock.monotonic()): string[] =>
      [...toTell].flatMap(([sha256, { dueMs }]) => (dueMs <= now ? [sha256] : [])).slice(0, MAX_TOLD),
    answered(told: readonly string[], answers: readonly string[]): void {
      for (const [i, sha256] of told.entries()) {
        const tells = (toTell.get(sha256)?.tells ?? 0) + 1;
        if (answers[i] === "unknown" && tells < MAX_TELLS)
          toTell.set(sha256, { dueMs: clock.monotonic() + AGAIN_MS, tells, isFlushed: true });
        else toTell.delete(sha256);
      }
    },
  };
}

export function keepCopies(options: NodeCopiesOptions) {
  const { port, folder, packed, artifacts, transfers, stores, atOnce, freeBytes, waiting, clock, random, log } =
    options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const telling = createTelling(clock);
  /** Files that an earlier life left and that nobody has hashed since. */
  const toHash = new Set<string>();
  const gone = new Set<string>();
  const unneeded = new Set<string>();
  const refusals = createRefusals(clock);
  /** Copies that must not be used as they are, while it is asked whether they may go. */
  let invalid: ReadonlySet<string> = new Set();
  /** Models, the newest first. */
  let newest: readonly string[] = [];
  /** Whether the main process knows of copies here, and was told that they are. */
  let [isHolder, isConfirmed] = [false, false];
  /** A main process of the version before knows no copies: then files go as they did. */
  let isDeaf = false;
  const leaving = createLeaving();
  let inputs: Inputs | undefined;

  const files = filesOfNode(options);
  const room = giveBackRoom(packed);

  const { held, due } = telling;
  const orders = carryOut({ folder, packed, artifacts, transfers, held, log, signal, atOnce });

  const flush = async (sha256s: readonly string[]): Promise<string[]> => {
    const flushed = await files.flush(sha256s, telling.isFlushed);
    const here = new Set(flushed);
    // The others have gone meanwhile.
    for (const sha256 of sha256s) if (!here.has(sha256)) telling.forget(sha256);
    return flushed;
  };

  const drop = async (sha256: string): Promise<void> => {
    room.dropped();
    if (await inputs?.drop(sha256)) {
      telling.forget(sha256);
      gone.add(sha256);
    }
    // Somebody uses it again: it is shown as it was.
    else held(sha256);
  };

  const look = async (sha256: string): Promise<void> => {
    const { actual, isAside } = await files.look(sha256, signal);
    if (actual === sha256) return held(sha256);
    if (actual !== undefined) log.error("a damaged copy is removed", { sha256, actual });
    if (isAside) watch.doubted(sha256);
    else await drop(sha256);
  };

  const confirm = async (): Promise<void> => {
    const listed = await port.listed(signal);
    const { present, others } = await files.found(listed);
    const { believed, lost } = await port.confirm(present, listed.at(-1)?.seq ?? 0, signal);
    if (!believed) log.error("all copies of this node are missing; is its disk mounted?", { folder });
    else if (lost > 0) log.warn("copies of this node are missing", { copies: lost });
    [isHolder, isConfirmed] = [listed.length > 0, believed];
    for (const name of others) if (!telling.has(name)) toHash.add(name);
  };

  const round = async (): Promise<void> => {
    if (!isConfirmed) await confirm();
    for (const sha256 of [...toHash].slice(0, HASHED_IN_ROUND)) {
      toHash.delete(sha256);
      await look(sha256);
    }
    const [shown, lost, asked] = [await flush(due()), [...gone].slice(0, MAX_TOLD), [...unneeded].slice(0, MAX_TOLD)];
    const storage = { free_bytes: Math.max(0, freeBytes()), waiting: await waiting() };
    const reports = orders.reports();
    const { isLeaving } = leaving;
    const told = { storage, transfers: await transfers.told(), ...(isLeaving && { leaving: true }) };
    const news = { held: shown, gone: lost, drop: asked, orders: reports, ...told };
    const answer = await port.tell(news, signal);
    transfers.heard(answer.coordinator);
    orders.told(reports);
    for (const sha256 of lost) gone.delete(sha256);
    for (const sha256 of asked) unneeded.delete(sha256);
    telling.answered(shown, answer.held);
    await stores?.told(shown, answer, () => port.listed(signal), signal);
    for (const { sha256, allowed } of answer.drop)
      if (allowed) await drop(sha256);
      // What must stay is good once it was hashed anew.
      else if (invalid.has(sha256)) await look(sha256);
      else refusals.note(sha256);
    invalid = new Set(answer.invalid);
    newest = answer.newest;
    for (const sha256 of invalid) unneeded.add(sha256);
    for (const sha256 of answer.retired) await drop(sha256);
    for (const sha256 of answer.verify) await look(sha256);
    await room.round().catch((thrown: unknown) => {
      log.warn("room in packs of files could not be given back", { error: messageOf(thrown) });
    });
    if (answer.confirm) isConfirmed = false;
    // What is still to be told may lie here alone.
    if (isLeaving && !answer.confirm && due().length === 0) leaving.alone = answer.alone;
    if (inputs !== undefined) orders.take(answer.orders, answer.batches, inputs);
  };

  const hasNews = (): boolean =>
    gone.size + unneeded.size + toHash.size > 0 || orders.isBusy || stores?.isBusy === true || due().length > 0;

  const loop = async (): Promise<void> => {
    const { everyMs = EVERY_MS } = options;
    let quietMs = everyMs;
    for (let failures = 0; !signal.aborted; ) {
      let pauseMs = quietMs * (0.9 + 0.1 * random.next());
      if (!leaving.isLeaving) leaving.hurry = new AbortController();
      try {
        const hadNews = hasNews();
        await round();
        failures = 0;
        quietMs = hadNews || hasNews() ? everyMs : Math.min(MAX_EVERY_MS, 1.5 * quietMs);
        if (leaving.isLeaving) pauseMs = LEAVING_MS;
        else if (hasNews()) pauseMs = Math.min(pauseMs, 1_000);
      } catch (thrown) {
        if (signal.aborted) return;
        isDeaf = isOperatingError(thrown, "ROUTE_NOT_FOUND");
        if (isDeaf) for (const sha256 of unneeded) await drop(sha256);
        failures += 1;
        if (failures === 3 && !isDeaf)
          log.warn("the copies of this node could not be reported to the main process", { error: messageOf(thrown) });
        pauseMs = Math.max(pauseMs, backoffMs(PEER_BACKOFF, failures, random));
      }
      const woken = leaving.isLeaving ? signal : AbortSignal.any([signal, leaving.hurry.signal]);
      await sleep(clock, pauseMs, woken).catch(() => undefined);
    }
  };
  let running: Promise<void> | undefined;

  const watch: CopyWatch = {
    held: (sha256) => held(sha256),
    unneeded(sha256s) {
      for (const sha256 of refusals.without(sha256s)) unneeded.add(sha256);
    },
    doubted(sha256) {
      telling.forget(sha256);
      gone.add(sha256);
    },
  };
  return {
    watch,
    newest: () => newest,
    expectsFiles: () => isHolder,
    /** One round, for whoever has a clock of its own. */
    round(of: Inputs): Promise<void> {
      inputs = of;
      return round();
    },
    start(of: Inputs): void {
      inputs = of;
      running ??= loop();
    },
    /** The next round is now. */
    hurry: (): void => leaving.hurry.abort(new Error("there are transfers for this node")),
    /** Sends home what lies here alone, before this node ends; gives how much of it is left when the time is over. */
    leave: (limits: LeaveLimits): Promise<number> => sendHome(leaving, limits, { clock, log, signal }),
    async stop(): Promise<void> {
      stopping.abort(new Error("the worker stops"));
      await Promise.all([running, stores?.ended()]);
    },
  };
}
