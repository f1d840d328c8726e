/** The signs of life of a node that has joined: who it is, what it does, and what the main process wants of it. */
import {
  backoffMs,
  defined,
  type Edges,
  isBodyRefused,
  isOperatingError,
  messageOf,
  OperatingError,
  PEER_BACKOFF,
  sleep,
} from "../../kernel/index.ts";
import { beatOver, leaveOver, type NodeAbout, type NodeLink, settingsOver } from "../../surfaces/index.ts";
import type { Worker } from "../../work/worker/index.ts";
import type { Settings } from "../settings.ts";

export interface NodeBeatsOptions extends Edges {
  readonly link: NodeLink;
  readonly nodeId: string;
  readonly incarnation: number;
  readonly worker: {
    status(): Pick<ReturnType<Worker["status"]>, "running" | "free" | "spool">;
    drain: Worker["drain"];
  };
  /** Events that wait here, and those that were refused. */
  readonly outbox: () => { readonly waiting: number; readonly refused: number };
  /** The room on its disk; undefined where nobody can say. */
  readonly disk?: (() => NodeDisk | undefined) | undefined;
  readonly about: NodeAbout;
  readonly settings: Pick<Settings, "report">;
  /** There are transfers for this node. */
  readonly onAsked?: (() => void) | undefined;
  /** The main process wants this worker to start anew; said again until it has. */
  readonly onRestart?: ((order: { readonly act_id: string; readonly reason: string }) => void) | undefined;
  /** The main process wants to know how idle this node is. */
  readonly onIdleAsked?: (() => void) | undefined;
  /** There are several coordinators, and these are all of them. */
  readonly onCoordinators?: ((all: readonly CoordinatorPlace[]) => void) | undefined;
  /** Where nodes look after each other: what this one finds, and whom it is told to look after. */
  readonly swim?: SwimLink | undefined;
  /** Without an answer for so long the node ends itself; 0 for one that waits for ever. */
  readonly deadManMs?: number;
  readonly version: string;
}

type NodeDisk = NonNullable<Parameters<typeof beatOver>[1]["disk"]>;

interface SwimLink {
  report(): NonNullable<Parameters<typeof beatOver>[1]["swim"]>;
  know(peers: Awaited<ReturnType<typeof beatOver>>["peers"]): void;
}

/** Where a coordinator is reached. */
export interface CoordinatorPlace {
  readonly url: string;
  readonly fingerprint: string | null;
}

const FIRST_EVERY_MS = 15_000;
/** Nothing on this side makes these better by itself. */
const FINAL = new Set(["PROTOCOL_REFUSED", "UNKNOWN_NODE", "NODE_FORGOTTEN", "BAD_SIGNATURE", "WRONG_CERTIFICATE"]);

export function keepBeating(options: NodeBeatsOptions) {
  const {
    link,
    nodeId,
    incarnation,
    worker,
    outbox,
    about,
    settings,
    onAsked,
    onIdleAsked,
    onRestart,
    onCoordinators,
    version,
    clock,
    random,
    log,
  } = options;
  const { deadManMs = 0, swim, disk } = options;
  const stopping = new AbortController();
  const broken = Promise.withResolvers<OperatingError>();

  let everyMs = FIRST_EVERY_MS;
  let isDrained = false;
  let state = "";
  /** Until it was heard once, the main process may not know what this node has. */
  let wasHeard = false;
  let sendsMore = true;
  let owesSettings = true;

  /** Once: they are those of its start. A main process of the version before does not know the route. */
  const reportSettings = async (): Promise<void> => {
    try {
      await settingsOver(link, { node_id: nodeId, incarnation }, settings.report);
      owesSettings = false;
    } catch (thrown) {
      owesSettings = isOperatingError(thrown) && thrown.retryable;
      log.debug("the settings of this node were not reported", { error: messageOf(thrown) });
    }
  };

  const beat = async (): Promise<void> => {
    const { running, free, spool } = worker.status();
    const answer = await beatOver(link, {
      node_id: nodeId,
      incarnation,
      ...(wasHeard ? {} : { capabilities: about }),
      load: { running: running.length, free },
      spool,
      ...(sendsMore
        ? { outbox: outbox(), clock: clock.now() / 1_000, ...defined({ swim: swim?.report(), disk: disk?.() }) }
        : {}),
      version,
    });
    wasHeard = true;
    everyMs = answer.timing.beat_seconds * 1_000;
    if (answer.state !== state) log.info(`the main process sees this node as ${answer.state}`, { node_id: nodeId });
    state = answer.state;
    swim?.know(answer.peers);
    if (answer.ask) onAsked?.();
    if (answer.tell_idle) onIdleAsked?.();
    if (answer.coordinators.length > 0) onCoordinators?.(answer.coordinators);
    if (answer.restart !== null) onRestart?.(answer.restart);
    if (owesSettings) await reportSettings();
    if (answer.drain === isDrained) return;
    isDrained = answer.drain;
    log.info(isDrained ? "no new work is claimed" : "work is claimed again", { node_id: nodeId });
    worker.drain(isDrained);
  };

  let heardMs = clock.monotonic();
  /** Nobody is left who could return this machine, or who waits for its work. */
  const isAlone = (): boolean => deadManMs > 0 && clock.monotonic() - heardMs >= deadManMs;
  let inARow = 0;
  const loop = async (): Promise<void> => {
    for (let failures = 0; !stopping.signal.aborted; ) {
      let pauseMs: number;
      try {
        await beat();
        heardMs = clock.monotonic();
        failures = 0;
        inARow = 0;
        pauseMs = everyMs * (0.9 + 0.1 * random.next());
      } catch (thrown) {
        if (stopping.signal.aborted) return;
        // A main process of the version before refuses what it does not know.
        if (sendsMore && isBodyRefused(thrown)) {
          sendsMore = false;
          continue;
        }
        failures += 1;
        inARow = failures;
        if (failures === 3)
          log.warn("the main process does not receive the heartbeats of this node", { error: messageOf(thrown) });
        if (isOperatingError(thrown) && FINAL.has(thrown.code)) return broken.resolve(thrown);
        if (isAlone())
          return broken.resolve(
            OperatingError.conflict(
              "COORDINATOR_GONE",
              `the main process has not answered for ${Math.round((clock.monotonic() - heardMs) / 1_000)} s; this node ends itself`,
              { cause: thrown, hint: "Join again once it is there." },
            ),
          );
        pauseMs = Math.min(everyMs, backoffMs(PEER_BACKOFF, failures, random));
      }
      await sleep(clock, pauseMs, stopping.signal).catch(() => undefined);
    }
  };
  const running = loop();

  return {
    /** Resolves if the main process will never again hear this node as it is. */
    broken: broken.promise,
    /** Beats in a row that nobody answered. */
    failures: () => inARow,
    /** Says that it goes in order, so that its silence is no loss. */
    async leave(reason: string): Promise<void> {
      await leaveOver(link, nodeId, reason).catch((thrown) =>
        log.info("the main process could not be told that this node leaves", { error: messageOf(thrown) }),
      );
    },
    async stop(): Promise<void> {
      stopping.abort(new Error("the worker stops"));
      await Promise.race([running, sleep(clock, 1_000)]);
    },
  };
}
