/** What the main loop and the thread of transfers say to each other. */

import type { KeyObject } from "node:crypto";
import type { Source, TransferPriority, TransferProgress, TransferReport, Wanted } from "../../sync/index.ts";
import type { Expected, PackedFiles, Ways } from "../../sync/transfer/index.ts";
import type { CoordinatorLine } from "./coordinator/coordinator-transport.ts";
import type { ServerRefusal } from "./http/artifact-server.ts";
import type { RelayPlace } from "./relay/relay-client.ts";
import type { RsyncPrograms } from "./rsync/run-rsync.ts";

/** Where this node serves others. */
export interface ServeOptions {
  /** Null where it only waits at the relay. */
  readonly host: string | null;
  /** 0 is any that is free. */
  readonly port: number;
  readonly tls?: { readonly cert: string; readonly key: string };
  /** By what it knows tickets; it is told later where that is not known yet. */
  readonly coordinatorKey?: KeyObject;
  /** It waits there to be put through. */
  readonly relay?: RelayPlace;
  /** It puts others through itself: the coordinator does. */
  readonly isRelay?: boolean;
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
  /** Where small ones lie that came together, on a node that keeps them so; they are its files as much as those side by side. */
  readonly packs?: { readonly folder: string; readonly quarantine: string } | undefined;
  /** For what is on its way by rsync. */
  readonly scratch: string;
  readonly maxBytesPerSecond: number | null;
  readonly stallMs: number;
  readonly programs: RsyncPrograms;
  readonly coordinator?: Omit<CoordinatorLine, "prove"> | undefined;
  readonly serve?: ServeOptions | undefined;
}

/** How things are on the thread. */
export interface TransferStates {
  readonly ways: ReturnType<Ways["states"]>;
  /** Connections wait at the relay. */
  readonly isParked: boolean;
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
  /** By what tickets are known, and where to wait to be put through; null to wait nowhere. */
  | { readonly type: "coordinator"; readonly key: KeyObject; readonly relay: RelayPlace | null }
  /** A node that has joined may park connections here. */
  | { readonly type: "known"; readonly nodeId: string }
  | { readonly type: "states"; readonly question: number }
  | ({ readonly type: "packed"; readonly question: number } & PackedQuestion)
  | { readonly type: "close" };

/** What is asked about files that lie together. */
export type PackedQuestion = {
  [Ask in keyof PackedFiles]: { readonly ask: Ask; readonly about: Parameters<PackedFiles[Ask]> };
}[keyof PackedFiles];

/** An error of operation, as it passes between threads. */
interface OperatingFault {
  readonly code: string;
  readonly message: string;
}

export type FromThread =
  | { readonly type: "ready"; readonly port: number | null }
  | { readonly type: "progress"; readonly id: number; readonly progress: TransferProgress }
  | { readonly type: "report"; readonly id: number; readonly report: TransferReport }
  | { readonly type: "failed"; readonly id: number; readonly message: string }
  | { readonly type: "refused"; readonly refusal: ServerRefusal }
  | { readonly type: "states"; readonly question: number; readonly states: TransferStates }
  | { readonly type: "packed"; readonly question: number; readonly answer?: unknown; readonly failed?: OperatingFault }
  | { readonly type: "broken"; readonly path: string; readonly why: string }
  | {
      readonly type: "prove";
      readonly question: number;
      readonly method: string;
      readonly path: string;
      readonly refused?: { readonly code: string; readonly details: Readonly<Record<string, unknown>> };
    };
