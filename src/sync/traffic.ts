/** What went through the store since it was opened: whole files and bytes, by how they came or went, and what is under way. */
export interface ArtifactTraffic {
  readonly files: Readonly<Record<"received" | "adopted" | "refused", number>>;
  readonly bytes: Readonly<Record<"received" | "adopted" | "sent", number>>;
  readonly underWay: Readonly<Record<"receiving" | "sending", number>>;
}

/** Counts what passes; `receiving` says how many files come in now. */
export function createTraffic(receiving: () => number) {
  const files = { received: 0, adopted: 0, refused: 0 };
  const bytes = { received: 0, adopted: 0, sent: 0 };
  let sending = 0;
  async function* counted(chunks: AsyncIterable<Uint8Array>, as: "received" | "sent"): AsyncIterable<Uint8Array> {
    for await (const chunk of chunks) {
      bytes[as] += chunk.length;
      yield chunk;
    }
  }
  const counts: ArtifactTraffic = {
    files,
    bytes,
    get underWay() {
      return { receiving: receiving(), sending };
    },
  };
  return {
    counts,
    received: (chunks: AsyncIterable<Uint8Array>) => counted(chunks, "received"),
    async *sent(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
      sending += 1;
      try {
        yield* counted(chunks, "sent");
      } finally {
        sending -= 1;
      }
    },
    /** A file is whole and in its place. */
    came(how: "received" | "adopted", size = 0) {
      files[how] += 1;
      if (how === "adopted") bytes.adopted += size;
    },
    refused() {
      files.refused += 1;
    },
  };
}
