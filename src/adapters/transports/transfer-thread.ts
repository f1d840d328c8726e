/** What the main loop and the thread of transfers say to each other. */
import type { KeyObject } from "node:crypto";
import type { Expected, Source, TransferPriority, TransferProgress, TransferReport, Wanted } from "../../sync/index.ts";
import type { CoordinatorLine } from "./coordinator/coordinator-transport.ts";
import type { ServerRefusal } from "./http/artifact-server.ts";
import type { RsyncPrograms } from "./rsync/run-rsync.ts";

/** Where this node serves others. */
export interface ServeOptions {
  readonly host: string;
  /** 0 is any that is free. */
  readonly port: number;
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Where nobody can reach this node: it waits there to be put through. */
  readonly relayUrl?: string;
}

/** What the thread is given when it starts. */
export interface ThreadSettings {
  readonly nodeId: string;
  readonly privateKey: KeyObject;
  readonly publicKey: string;
  /** Where its artifacts lie. */
  readonly folder: string;
  /** Whether they lie side by side there, and not by the beginning of their names. */
  readonly isFlat?: boolean;
  /** For what is on its way by rsync. */
  readonly scratch: string;
  readonly maxBytesPerSecond: number | null;
  readonly stallMs: number;
  readonly programs: RsyncPrograms;
  readonly coordinator?: Omit<CoordinatorLine, "prove"> | undefined;
  readonly serve?: (ServeOptions & { readonly coordinatorKey: KeyObject }) | undefined;
}

export interface TransferTerms {
  readonly priority: TransferPriority;
  readonly maxBytesPerSecond: number | null;
}

export type ToThread =
  | ({
      readonly type: "fetch";
      readonly id: number;
      readonly expected: readonly Expected[];
      readonly sources: readonly Source[];
    } & TransferTerms)
  | ({
      readonly type: "put";
      readonly id: number;
      readonly made: readonly (Wanted & { readonly path: string })[];
      readonly to: Source;
    } & TransferTerms)
  | { readonly type: "abort"; readonly id: number }
  | {
      readonly type: "proof";
      readonly question: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly error?: string;
    }
  /** How far the coordinator's clock is ahead of ours. */
  | { readonly type: "clock"; readonly aheadMs: number }
  | { readonly type: "close" };

export type FromThread =
  | { readonly type: "ready"; readonly port: number | null }
  | { readonly type: "progress"; readonly id: number; readonly progress: TransferProgress }
  | { readonly type: "report"; readonly id: number; readonly report: TransferReport }
  | { readonly type: "failed"; readonly id: number; readonly message: string }
  | { readonly type: "refused"; readonly refusal: ServerRefusal }
  | {
      readonly type: "prove";
      readonly question: number;
      readonly method: string;
      readonly path: string;
      readonly refused?: { readonly code: string; readonly details: Readonly<Record<string, unknown>> };
    };
