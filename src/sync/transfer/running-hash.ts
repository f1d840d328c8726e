import { createHash, type Hash } from "node:crypto";

/**
 * SHA-256 of bytes as they come, with a mark at each chunk edge to which it can go back. The digest at an edge is that of all
 * bytes before it, so it costs nothing beside the hash of the whole, and the first edge at which two sides differ ends the
 * chunk that went wrong.
 */
export interface RunningHash {
  readonly bytes: number;
  update(bytes: Uint8Array): void;
  /** Of all bytes so far. */
  sha256(): string;
  /** At each edge, and then of all. */
  digests(): string[];
  /** Chunks that are whole, and what all bytes hash to at the end of one of them; the first one is 1. */
  readonly chunks: number;
  edge(chunk: number): string;
  /** Forgets everything behind this many chunks. */
  rewind(chunks: number): void;
}

export function createRunningHash(chunkBytes: number): RunningHash {
  /** The state after no chunk, after the first one, and so on. */
  const edges: Hash[] = [createHash("sha256")];
  let current = createHash("sha256");
  let bytes = 0;
  const digestOf = (hash: Hash) => hash.copy().digest("hex");
  return {
    get bytes() {
      return bytes;
    },
    update(data) {
      for (let at = 0; at < data.length; ) {
        const piece = data.subarray(at, at + chunkBytes - (bytes % chunkBytes));
        current.update(piece);
        at += piece.length;
        bytes += piece.length;
        if (bytes % chunkBytes === 0) edges.push(current.copy());
      }
    },
    sha256: () => digestOf(current),
    digests: () => [...edges.slice(1).map(digestOf), digestOf(current)],
    get chunks() {
      return edges.length - 1;
    },
    edge: (chunk) => digestOf(edges[chunk]!),
    rewind(chunks) {
      edges.length = chunks + 1;
      current = edges[chunks]!.copy();
      bytes = chunks * chunkBytes;
    },
  };
}

/** Chunks at the beginning that both sides have alike. */
export function chunksAlike(ours: readonly string[], theirs: readonly string[]): number {
  // The last one is of all bytes, and not at an edge.
  const edges = Math.min(ours.length, theirs.length) - 1;
  for (let i = 0; i < edges; i += 1) if (ours[i] !== theirs[i]) return i;
  return Math.max(0, edges);
}

export async function prefixDigests(bytes: AsyncIterable<Uint8Array>, chunkBytes: number): Promise<string[]> {
  const hash = createRunningHash(chunkBytes);
  for await (const chunk of bytes) hash.update(chunk);
  return hash.digests();
}
