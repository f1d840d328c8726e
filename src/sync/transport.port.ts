/**
 * How the bytes of artifacts travel between this node and a place: another node, a disk, a bucket, the coordinator.
 *
 * A transport is one way to one place. It moves bytes and judges none: what comes is hashed here as it comes, gathers in a part,
 * and gets its name only when it is what the name says (`transfer/`). So a way that breaks off, repeats itself, lies or stalls
 * costs time and never a wrong file, and the next way goes on where it stopped.
 */

import type { TRANSPORTS } from "./orders/order.ts";

export type TransportName = (typeof TRANSPORTS)[number];

/** An artifact by its content. */
export interface Wanted {
  readonly sha256: string;
  readonly bytes: number;
}

export interface ReadFrom {
  /** Bytes that are here already; the first one that comes is this one. */
  readonly start: number;
  /** Where those bytes lie, for a way that must show them to the other side. */
  readonly part: string;
  readonly signal: AbortSignal;
}

export interface Transport {
  readonly name: TransportName;
  /** Who is on the other side, in words that an operator knows: a node, a disk, a bucket. Breakers and blame go by it. */
  readonly place: string;
  /** The place may still be fetching it itself: it gives what it has, and waits for more. */
  readonly isComing?: boolean | undefined;
  /** Whether a place that is silent waits for the file itself, and is not to blame. */
  stillComing?(wanted: Wanted, signal: AbortSignal): Promise<boolean>;
  /** Rejects unless the place answers and is the one that it should be: one that is not mounted or empty is a fault. */
  probe(signal: AbortSignal): Promise<void>;
  /** The bytes of an artifact in their order, in pieces that nobody changes afterwards. `ARTIFACT_NOT_FOUND` if the place is sound and does not have it. */
  read(wanted: Wanted, from: ReadFrom): AsyncIterable<Uint8Array>;
  /** Many small ones in one go, as a pack (`transfer/pack.ts`); those that the place lacks are missing from it. */
  readPack?(wanted: readonly Wanted[], signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** What `prefixDigests` gives there: tells which chunk went wrong, so that only what follows it is fetched again. */
  digests?(wanted: Wanted, chunkBytes: number, signal: AbortSignal): Promise<readonly string[]>;
  /** Brings a file to the place, whole or not at all under its name; twice is once. */
  write?(made: Wanted & { readonly path: string }, options: WriteOptions): Promise<void>;
  /** What lies there at all, for places that are written to. */
  readonly shelf?: Shelf;
  close(): void | Promise<void>;
}

/** Something that lies at a place: an artifact as `<2 hex>/<sha256>`, or a document by its own name. */
export interface Shelved {
  readonly name: string;
  readonly bytes: number;
}

/** The place as a shelf: all that lies there, and small documents under names of their own. */
export interface Shelf {
  /** All of it, or an error: a part is never told as the whole, and a place that is not ours is not told as an empty one. */
  list(signal: AbortSignal): Promise<readonly Shelved[]>;
  /** Whole or not at all; a name is given once, and the same content under it twice is once. */
  put(name: string, content: Uint8Array, signal: AbortSignal): Promise<void>;
  /** `DOCUMENT_NOT_FOUND` if the place is sound and has none of this name. */
  get(name: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array>;
  /** Takes an artifact or a document away; twice is once. */
  remove(name: string, signal: AbortSignal): Promise<void>;
}

export interface WriteOptions {
  readonly signal: AbortSignal;
  /** Waits until so many bytes may go; called before they do. */
  readonly spend: (bytes: number) => Promise<void>;
}

/** How urgent a transfer is to those that share the line of this node. */
export const TRANSFER_PRIORITIES = ["low", "normal", "high", "critical"] as const;
export type TransferPriority = (typeof TRANSFER_PRIORITIES)[number];

/** A place and the way to it, as data: it is sent to the thread that does the work. */
export type Source =
  | {
      readonly transport: "folder";
      readonly path: string;
      /** What its marker must say, so that a disk that is not mounted is not taken for an empty one. */
      readonly disk: string;
    }
  | {
      readonly transport: "http" | "relay";
      readonly url: string;
      readonly nodeId: string;
      /** What the coordinator allows, signed, and all that it is for. */
      readonly ticket: string;
      readonly list: readonly Wanted[];
      /** SHA-256 of the certificate of the other side, where it is not one that the system trusts. */
      readonly fingerprint?: string | undefined;
      readonly ca?: string | undefined;
      /** The other side may still be fetching it: it is worth a moment's wait. */
      readonly isComing?: boolean | undefined;
    }
  | {
      readonly transport: "rsync";
      readonly host: string;
      readonly port?: number;
      readonly user?: string;
      /** The folder of the artifacts there. */
      readonly path: string;
      readonly identityFile: string;
      readonly knownHostsFile: string;
      readonly disk: string;
    }
  | {
      readonly transport: "s3";
      readonly endpoint: string;
      readonly bucket: string;
      readonly prefix?: string;
      readonly region?: string;
      readonly accessKeyId: string;
      readonly secretAccessKey: string;
      readonly disk: string;
    }
  | {
      readonly transport: "coordinator";
      /** Of several coordinators the one that leads now; the one that the node joined unless given. */
      readonly at?: CoordinatorPlace | undefined;
    };

/** One of several coordinators, and by what it is known. */
export interface CoordinatorPlace {
  readonly url: string;
  readonly fingerprint?: string | undefined;
  readonly ca?: string | undefined;
}

export interface FetchRequest {
  readonly wanted: readonly Wanted[];
  /** Tried in their order; one that fails is passed over until it has recovered. */
  readonly sources: readonly Source[];
  readonly priority?: TransferPriority;
  /** For this transfer alone, within what the node may use. */
  readonly maxBytesPerSecond?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined;
}

export interface TransferProgress {
  readonly files: number;
  readonly filesDone: number;
  readonly bytes: number;
  /** Bytes that are here of all that are wanted. */
  readonly bytesDone: number;
  readonly transport: TransportName;
  readonly place: string;
}

/** One way that was tried. */
export interface TransferTry {
  readonly transport: TransportName;
  readonly place: string;
  /** Whole files that came by it, and bytes that travelled. */
  readonly files: number;
  readonly bytes: number;
  readonly durationMs: number;
  /** Why it did not bring all of them. */
  readonly error?: { readonly code: string; readonly message: string };
  /** What came by it and is not what its name says; the first ones. */
  readonly wrong?: readonly WrongBytes[];
}

/** The bytes of one artifact that were those of something else. */
export interface WrongBytes {
  readonly sha256: string;
  readonly actual: string;
}

export interface TransferReport {
  /** Whole, checked, and on this node's disk when this is told. */
  readonly arrived: readonly string[];
  /** Were here before. */
  readonly present: readonly string[];
  readonly failed: readonly { readonly sha256: string; readonly code: string; readonly message: string }[];
  readonly tries: readonly TransferTry[];
}

/** All transfers of a node, on a thread of their own: no byte of theirs passes the main loop. */
export interface Transfers {
  fetch(request: FetchRequest): Promise<TransferReport>;
  /** Brings files of this node's store to a place that can be written. */
  put(request: Omit<FetchRequest, "sources"> & { readonly to: Source }): Promise<TransferReport>;
  close(): Promise<void>;
}
