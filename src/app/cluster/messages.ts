/** What the main thread and the thread of a member say to each other. */
import type { PortableError } from "../../adapters/sqlite/portable-error.ts";
import type { PortableOutcome } from "../../adapters/sqlite/writer.thread.ts";
import type { ClusterView, LeaseTiming } from "../../cluster/leadership/index.ts";
import type { Operation } from "../../router/index.ts";

export interface MemberThreadOptions {
  readonly path: string;
  /** A module whose `storeModules` lists the rooms' tables and operations. */
  readonly modulesUrl: string;
  readonly name: string;
  readonly version: string;
  readonly isPreferred: boolean;
  readonly timing: LeaseTiming;
  readonly log: {
    readonly servers: readonly string[];
    readonly monitors: readonly string[];
    readonly stream: string;
    readonly replicas: number;
    readonly answerMs: number;
    readonly user?: { readonly name: string; readonly password: string };
    readonly tls?: { readonly caFile: string };
  };
  readonly address: MemberAddress;
  /** One number: until when this process may act as the leader, on the clock that all threads share, in milliseconds. */
  readonly trusted: SharedArrayBuffer;
}

export interface MemberAddress {
  readonly url: string;
  readonly fingerprint: string | null;
}

export type FromMember =
  | { readonly type: "ready" }
  | { readonly type: "failed"; readonly error: PortableError }
  | { readonly type: "view"; readonly view: ClusterView }
  | { readonly type: "log"; readonly level: "info" | "warn"; readonly line: string; readonly more: object | undefined }
  /** A term was won: everything that leads is to begin. */
  | { readonly type: "lead"; readonly term: number }
  /** Everything that leads is to end. */
  | { readonly type: "end"; readonly term: number }
  /** Nothing is written in this term any more. */
  | { readonly type: "over"; readonly term: number; readonly error: PortableError }
  | { readonly type: "settled"; readonly term: number; readonly outcomes: readonly PortableOutcome[] }
  | { readonly type: "answer"; readonly id: number; readonly result?: unknown; readonly error?: PortableError }
  /** This member cannot go on. */
  | { readonly type: "broken"; readonly error: PortableError };

export type ToMember =
  | { readonly type: "alive" }
  | { readonly type: "apply"; readonly term: number; readonly batch: readonly (readonly Operation[])[] }
  /** What leads runs; or could not begin. */
  | { readonly type: "leading"; readonly term: number; readonly error?: PortableError }
  /** Nothing that led runs any more. */
  | { readonly type: "ended"; readonly term: number }
  | { readonly type: "step-down"; readonly id: number; readonly to: string | null; readonly reason: string }
  | { readonly type: "verify"; readonly id: number }
  | { readonly type: "forget"; readonly id: number; readonly upTo: number }
  | { readonly type: "stop" };

/** The clock that all threads of a process share, in milliseconds; it never goes back. */
export const sharedNow = (): number => Number(process.hrtime.bigint()) / 1e6;
