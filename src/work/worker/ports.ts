/** What a worker needs of the world: a queue to claim from, somebody who does the work, and a place for its files. */
import type { Lease } from "../claims/claim.ts";
import type { CurvePoint } from "../curves.ts";
import type { WorkFailure } from "../job/failure.ts";
import type { LeaseRef, SavedInput } from "../job/job.ts";
import type { EvidenceInput } from "../job/kinds.ts";
import type { Offer } from "../job/needs.ts";
import type { BeatAnswer, Progress } from "../leases/lease.ts";
import type { LiveBoard } from "../live-boards.ts";

/** One of many was refused: that concerns it alone. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

export type Reply<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Refusal };

export interface ClaimAsk {
  /** The same for a request that is said again because its answer was lost: it gets what it got. */
  readonly claimId: string;
  readonly most: number;
  readonly offer: Offer;
  readonly kinds: readonly string[];
  /** How long the queue may keep the request open until there is something. */
  readonly waitSeconds: number;
}

export interface Claimed {
  readonly leases: readonly Lease[];
  /** Whether the queue took them for begun; otherwise that has to be said. */
  readonly began: boolean;
  /** When to ask again, where the queue knows better. */
  readonly retryAfterMs?: number;
}

/**
 * The queue as a holder sees it, near or far. What throws an `OperatingError` that is retryable may be said again: every
 * one of these does no harm when it is repeated.
 */
export interface QueuePort {
  claim(ask: ClaimAsk, signal: AbortSignal): Promise<Claimed>;
  start(leases: readonly { readonly ref: LeaseRef }[]): Promise<readonly Reply<unknown>[]>;
  beat(
    beats: readonly { readonly ref: LeaseRef; readonly progress?: Progress }[],
  ): Promise<readonly Reply<BeatAnswer>[]>;
  /** The boards of games that run now, while somebody looks; whether somebody still does. Left out where nobody can. */
  boards?(all: readonly { readonly ref: LeaseRef; readonly board: LiveBoard }[]): Promise<boolean>;
  /** What runs said of themselves step by step; false where nobody can hear it. */
  curves?(all: readonly { readonly ref: LeaseRef; readonly points: readonly CurvePoint[] }[]): Promise<boolean>;
  complete(
    all: readonly { readonly ref: LeaseRef; readonly evidence: EvidenceInput }[],
  ): Promise<readonly Reply<unknown>[]>;
  fail(all: readonly { readonly ref: LeaseRef; readonly failure: WorkFailure }[]): Promise<readonly Reply<unknown>[]>;
  release(
    all: readonly { readonly ref: LeaseRef; readonly reason: string; readonly saved?: SavedInput | undefined }[],
  ): Promise<readonly Reply<unknown>[]>;
}

/** A file that a job has made, checked by whoever ran it. */
export interface MadeFile {
  readonly file: string;
  readonly name: string;
  readonly kind: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** How a job ended. */
export type WorkResult = {
  /** The job's own folder; it is the spool's from here on, and goes when the result has been taken. */
  readonly folder?: string;
} & (
  | { readonly status: "completed"; readonly evidence: EvidenceInput; readonly files: readonly MadeFile[] }
  | { readonly status: "failed"; readonly failure: WorkFailure }
  /** It stopped because it was told to, or gave the job back by itself. */
  | { readonly status: "stopped"; readonly reason: string; readonly saved?: SavedFile }
);

/** A checkpoint that a job saved when it was stopped, and how far it was. */
export interface SavedFile extends MadeFile {
  readonly epoch: number;
}

/** Why a running job is told to stop; the `reason` of the signal that an executor is given. */
export const STOP_REASONS = ["cancelled", "preempted", "shutdown", "lease_lost"] as const;
export type StopReason = (typeof STOP_REASONS)[number];

export interface ExecutorPort {
  /** Kinds of work that can be done here. */
  readonly kinds: readonly string[];
  /** Never rejects for what the work does. */
  run(
    lease: Lease,
    hooks: {
      readonly signal: AbortSignal;
      readonly progress: (how: Progress) => void;
      /** The position of a game that is played now; the newest counts, and is sent only while somebody looks. */
      readonly board?: (board: LiveBoard) => void;
      /** Accelerators that are this job's alone while it runs; none unless given. */
      readonly gpus?: readonly string[];
    },
  ): Promise<WorkResult>;
  /** Ends all that still runs, now. */
  kill(): void;
  close(): Promise<void>;
}

/** Takes a file to where others find it by its hash. Doing it twice is doing it once. */
export interface ArtifactPort {
  upload(file: MadeFile, signal: AbortSignal): Promise<void>;
}
