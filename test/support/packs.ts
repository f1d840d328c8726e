/** Small files of a node that lie together, beside its folder of files. */
import { hash } from "node:crypto";
import { dirname, join } from "node:path";
import { createFlusher } from "../../src/sync/transfer/flush.ts";
import { packHead } from "../../src/sync/transfer/pack.ts";
import { openPackStore } from "../../src/sync/transfer/pack-store.ts";

export async function packsBeside(files: string, clock: { now(): number } = { now: () => Date.now() }) {
  const root = dirname(files);
  const folder = join(root, "packs");
  const pathOf = (sha256: string) => join(files, sha256);
  const store = await openPackStore({
    folder,
    landingOf: (sha256) => ({
      path: pathOf(sha256),
      part: `${pathOf(sha256)}.part`,
      quarantine: join(root, "quarantine"),
    }),
    flusher: createFlusher(),
    clock,
  });
  return {
    store,
    folder,
    /** These have come together. Gives their hashes. */
    async keep(contents: readonly (string | Uint8Array)[]): Promise<string[]> {
      const writer = store.begin();
      const all = contents
        .map((content) => Buffer.from(content))
        .map((content) => ({
          content,
          sha256: hash("sha256", content, "hex"),
          bytes: content.length,
        }));
      for (const one of all) writer.append(Buffer.concat([packHead(one), one.content]), [one]);
      await writer.seal();
      return all.map(({ sha256 }) => sha256);
    },
  };
}
