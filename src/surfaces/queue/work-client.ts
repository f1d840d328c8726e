/** The queue over the wire: what `src/work/worker` asks for, in the words of the API. */
import { type Clock, defined, isOperatingError, OperatingError } from "../../kernel/index.ts";
import type { Lease } from "../../work/index.ts";
import { LIVE_BOARD_LIMITS } from "../../work/limits.ts";
import type { QueuePort } from "../../work/worker/index.ts";
import { callTo } from "../client/call.ts";
import type { NodeLink } from "../client/node-link.ts";
import { beatWork, claimWork, completeWork, failWork, releaseWork, startWork, tellBoards, tellCurves } from "./wire.ts";

/** Beyond the time that a claim is kept open: an answer that nobody hears any more would lease its jobs to nobody. */
const CLAIM_SPARE_MS = 15_000;
/** A result may be long in coming; a sign of life that is late is none. */
const BEAT_MS = 10_000;

async function forEach<T>(
  { length }: readonly unknown[],
  asked: Promise<{ readonly answers: readonly T[] }>,
): Promise<readonly T[]> {
  const { answers } = await asked;
  if (answers.length === length) return answers;
  throw OperatingError.unavailable("UNEXPECTED_ANSWER", "the main process answered something else");
}

/** Two machines need not agree on the time of day: what counts is how much of it is left. */
const onThisClock = (lease: Lease, asideMs: number): Lease => ({
  ...lease,
  beat_by: lease.beat_by + asideMs,
  expires_at: lease.expires_at + asideMs,
});

export function queueOver(link: NodeLink, nodeId: () => string, clock: Pick<Clock, "now">): QueuePort {
  /** A main process of the version before knows nothing of metrics, and refuses what it does not know. */
  let tellsMetrics = true;
  /** Nor does it know of jobs that begin as they are claimed. */
  let begins = true;
  /** Nor of what a stopped job has saved. */
  let savesFiles = true;
  /** Nor of what runs say step by step. */
  let tellsCurves = true;
  return {
    async claim({ claimId, waitSeconds, most, offer, kinds }, signal) {
      const body = { node_id: nodeId(), claim_id: claimId, most, offer, kinds, wait_seconds: waitSeconds };
      const timeoutMs = waitSeconds * 1_000 + CLAIM_SPARE_MS;
      const ask = () => {
        const said = begins ? { ...body, start: true } : body;
        return callTo(link, claimWork, { body: said }, { line: "claim", timeoutMs, signal });
      };
      const answer = await ask().catch((thrown: unknown) => {
        if (!begins || !isOperatingError(thrown, "INVALID_REQUEST")) throw thrown;
        begins = false;
        return ask();
      });
      const { leases, server_time, retry_after_seconds } = answer;
      const retryAfterMs = retry_after_seconds === undefined ? undefined : retry_after_seconds * 1_000;
      const asideMs = server_time === undefined ? 0 : clock.now() - server_time;
      const here = (leases as readonly Lease[]).map((lease) => onThisClock(lease, asideMs));
      return { began: begins, leases: here, ...defined({ retryAfterMs }) };
    },
    start: (leases) => forEach(leases, callTo(link, startWork, { body: { leases } })),
    async beat(given) {
      const say = () => {
        const beats = tellsMetrics
          ? given
          : given.map(({ ref, progress }) => ({ ref, progress: progress && { ...progress, metrics: undefined } }));
        return forEach(given, callTo(link, beatWork, { body: { beats } }, { timeoutMs: BEAT_MS }));
      };
      try {
        return await say();
      } catch (thrown) {
        const saidMetrics = tellsMetrics && given.some(({ progress }) => progress?.metrics !== undefined);
        if (!saidMetrics || !isOperatingError(thrown, "INVALID_REQUEST")) throw thrown;
        tellsMetrics = false;
        return say();
      }
    },
    async boards(all) {
      const boards = all.slice(0, LIVE_BOARD_LIMITS.boardsOfNode).map(({ ref, board: { lines, note } }) => ({
        ref,
        board: { lines: [...lines], ...defined({ note }) },
      }));
      const { watched } = await callTo(
        link,
        tellBoards,
        { body: { node_id: nodeId(), boards } },
        { timeoutMs: BEAT_MS },
      );
      return watched;
    },
    async curves(all) {
      if (!tellsCurves) return false;
      const curves = all.map(({ ref, points }) => ({
        ref,
        points: points.map(({ at, progress, metrics }) => ({ at: at / 1_000, progress, metrics: { ...metrics } })),
      }));
      try {
        await callTo(link, tellCurves, { body: { curves } }, { timeoutMs: BEAT_MS });
      } catch (thrown) {
        if (!isOperatingError(thrown, "ROUTE_NOT_FOUND")) throw thrown;
        tellsCurves = false;
      }
      return tellsCurves;
    },
    complete(all) {
      const completions = all.map(({ ref, evidence }) => ({ ref, evidence }));
      return forEach(all, callTo(link, completeWork, { body: { completions } }));
    },
    fail(all) {
      const failures = all.map(({ ref, failure }) => ({ ref, failure }));
      return forEach(all, callTo(link, failWork, { body: { failures } }));
    },
    async release(all) {
      const say = () => {
        const releases = all.map(({ ref, reason, saved }) => ({
          ref,
          reason,
          ...(savesFiles ? defined({ saved }) : {}),
        }));
        return forEach(all, callTo(link, releaseWork, { body: { releases } }));
      };
      try {
        return await say();
      } catch (thrown) {
        const saidFiles = savesFiles && all.some(({ saved }) => saved !== undefined);
        if (!saidFiles || !isOperatingError(thrown, "INVALID_REQUEST")) throw thrown;
        savesFiles = false;
        return say();
      }
    },
  };
}
