/** The queue and the node's own affairs over the wire: what `src/work/worker` asks for, in the words of the API. */
import { z } from "zod";
import { PROTOCOL } from "../../cluster/index.ts";
import { isOperatingError, OperatingError } from "../../kernel/index.ts";
import type { BeatAnswer, Lease, Offer } from "../../work/index.ts";
import type { Claimed, QueuePort, Reply } from "../../work/worker/index.ts";
import type { NodeLink } from "./node-link.ts";

interface Answers<T> {
  readonly answers: readonly Reply<T>[];
}

/** An older main process does not say what a job needs: then it takes its slot and nothing else. */
const NO_NEEDS = { cpu: 0, gpu: 0, memory_gb: 0, gpu_memory_gb: 0, tags: [] };
/** Beyond the time that a claim is kept open: an answer that nobody hears any more would lease its jobs to nobody. */
const CLAIM_SPARE_MS = 15_000;
/** A result may be long in coming; a sign of life that is late is none. */
const BEAT_MS = 10_000;

const isClaimed = (value: unknown): value is { leases: Lease[]; retry_after_seconds?: number } =>
  typeof value === "object" && value !== null && Array.isArray((value as { leases?: unknown }).leases);

type Beats = Parameters<QueuePort["beat"]>[0];
const withoutMetrics = (beats: Beats): Beats =>
  beats.map(({ ref, progress }) => {
    if (progress === undefined) return { ref };
    const { metrics: _, ...rest } = progress;
    return { ref, progress: rest };
  });

export function queueOver(link: NodeLink, nodeId: () => string): QueuePort {
  /** A main process of the version before knows nothing of metrics, and refuses what it does not know. */
  let tellsMetrics = true;
  /** Nor does it know of jobs that begin as they are claimed. */
  let begins = true;
  const many = async <T>(
    path: string,
    body: object,
    most: number,
    timeoutMs?: number,
  ): Promise<readonly Reply<T>[]> => {
    const options = { line: "beat", ...(timeoutMs === undefined ? {} : { timeoutMs }) } as const;
    const { answers } = await link.send<Answers<T>>("POST", `/v1/work/${path}`, body, options);
    if (!Array.isArray(answers) || answers.length !== most)
      throw new OperatingError("UNEXPECTED_ANSWER", "the main process answered something else", { retryable: true });
    return answers;
  };
  return {
    async claim({ claimId, waitSeconds, most, offer, kinds }, signal): Promise<Claimed> {
      const body = { node_id: nodeId(), claim_id: claimId, most, offer, kinds, wait_seconds: waitSeconds };
      const timeoutMs = waitSeconds * 1_000 + CLAIM_SPARE_MS;
      const ask = () => {
        const said = begins ? { ...body, start: true } : body;
        return link.send<unknown>("POST", "/v1/work/claim", said, { line: "claim", timeoutMs, signal });
      };
      const got = await ask().catch((thrown: unknown) => {
        if (!begins || !isOperatingError(thrown, "INVALID_REQUEST")) throw thrown;
        begins = false;
        return ask();
      });
      if (!isClaimed(got)) throw new OperatingError("UNEXPECTED_ANSWER", "this is no claim", { retryable: true });
      return {
        began: begins,
        leases: got.leases.map((lease) => ({ ...lease, needs: lease.needs ?? NO_NEEDS })),
        ...(got.retry_after_seconds === undefined ? {} : { retryAfterMs: got.retry_after_seconds * 1_000 }),
      };
    },
    start: (leases) => many("start", { leases }, leases.length),
    async beat(given) {
      const say = (beats: Beats) => many<BeatAnswer>("beat", { beats }, beats.length, BEAT_MS);
      const saysMetrics = tellsMetrics && given.some(({ progress }) => progress?.metrics !== undefined);
      if (!saysMetrics) return say(withoutMetrics(given));
      try {
        return await say(given);
      } catch (thrown) {
        if (!isOperatingError(thrown, "INVALID_REQUEST")) throw thrown;
        tellsMetrics = false;
        return say(withoutMetrics(given));
      }
    },
    complete: (completions) =>
      many(
        "complete",
        { completions: completions.map(({ ref, evidence }) => ({ ref, evidence })) },
        completions.length,
      ),
    fail: (failures) =>
      many("fail", { failures: failures.map(({ ref, failure }) => ({ ref, failure })) }, failures.length),
    release: (releases) =>
      many("release", { releases: releases.map(({ ref, reason }) => ({ ref, reason })) }, releases.length),
  };
}

const timing = z.object({ beat_seconds: z.number().positive(), suspect_seconds: z.number(), dead_seconds: z.number() });
const joined = z.object({
  node_id: z.string().min(1),
  label: z.string(),
  protocol: z.object({ current: z.int(), least: z.int() }),
  deprecated: z.boolean(),
  timing,
});
export type Joined = z.output<typeof joined>;
const beatAnswer = z.object({ state: z.string(), drain: z.boolean(), timing });
export type NodeBeatAnswer = z.output<typeof beatAnswer>;

export interface NodeAbout extends Offer {
  readonly hostname: string;
  readonly platform: string;
}

const understood = <T>(schema: z.ZodType<T>, answer: unknown): T => {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new OperatingError(
    "UNEXPECTED_ANSWER",
    `the main process answered something else: ${z.prettifyError(parsed.error)}`,
    {
      hint: "Is the address that of a RingRift main process, and of a near version?",
    },
  );
};

export async function joinOver(
  link: NodeLink,
  node: {
    readonly publicKey: string;
    readonly label: string;
    readonly version: string;
    readonly capabilities: NodeAbout;
  },
): Promise<Joined> {
  const { publicKey: public_key, label, version, capabilities } = node;
  const body = { public_key, label, version, protocol: PROTOCOL.current, capabilities };
  return understood(joined, await link.send("POST", "/v1/nodes/join", body));
}

export interface NodeBeat {
  readonly node_id: string;
  readonly incarnation: number;
  readonly capabilities?: NodeAbout;
  readonly load: { readonly running: number; readonly free: Offer };
  readonly spool: { readonly waiting: number };
  readonly outbox?: { readonly waiting: number; readonly refused: number };
  readonly version: string;
}

export const beatOver = async (link: NodeLink, beat: NodeBeat): Promise<NodeBeatAnswer> =>
  understood(beatAnswer, await link.send("POST", "/v1/nodes/beat", beat, { timeoutMs: BEAT_MS }));

export const leaveOver = (link: NodeLink, node_id: string, reason: string): Promise<unknown> =>
  link.send("POST", "/v1/nodes/leave", { node_id, reason }, { timeoutMs: 2_000 });
