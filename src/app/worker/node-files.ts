/** The files of a joined node as copies, wherever they lie: side by side, or together in packs. */
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { type FileHasher, syncFolder, systemCode } from "../../kernel/index.ts";
import type { PackedFiles } from "../../sync/index.ts";

export interface NodeFilesPorts {
  readonly folder: string;
  /** Files of this node that lie together. */
  readonly packed?: PackedFiles | undefined;
  readonly hasher: Pick<FileHasher, "hash">;
}

interface Listed {
  readonly seq: number;
  readonly sha256: string;
  readonly bytes: number;
}

const NAME = /^[0-9a-f]{64}$/;

/** In packs one looks first: what moves becomes a file before it is gone from its pack. */
export function filesOfNode({ folder, packed, hasher }: NodeFilesPorts) {
  const pathOf = (sha256: string) => join(folder, sha256);
  /** False if it is not there. */
  const flushFile = async (sha256: string, isFlushed: boolean): Promise<boolean> => {
    try {
      if (isFlushed) await stat(pathOf(sha256));
      else {
        const file = await open(pathOf(sha256), "r");
        await file.sync().finally(() => file.close());
      }
      return true;
    } catch (thrown) {
      if (systemCode(thrown) !== "ENOENT") throw thrown;
      return false;
    }
  };
  return {
    /** Those of these that are here, and flushed; some are known to be, and a pack has its name only when all of it is. */
    async flush(sha256s: readonly string[], isFlushed: (sha256: string) => boolean): Promise<string[]> {
      const places = (await packed?.find(sha256s)) ?? [];
      const together = new Set(places.flatMap((place) => place?.sha256 ?? []));
      const flushed: string[] = [];
      for (const sha256 of sha256s)
        if (together.has(sha256) || (await flushFile(sha256, isFlushed(sha256)))) flushed.push(sha256);
      if (flushed.length > together.size) await syncFolder(folder);
      return flushed;
    },
    /** Which of the copies that it is known to hold are here, by their size, and what else is. */
    async found(listed: readonly Listed[]) {
      const together = new Map(((await packed?.list()) ?? []).map(({ sha256, bytes }) => [sha256, bytes]));
      const others = new Set((await readdir(folder)).filter((name) => NAME.test(name)));
      const present: number[] = [];
      for (const { seq, sha256, bytes } of listed) {
        const about = others.delete(sha256) ? await stat(pathOf(sha256)).catch(() => undefined) : undefined;
        if ((about?.size ?? together.get(sha256)) === bytes) present.push(seq);
        together.delete(sha256);
      }
      for (const sha256 of together.keys()) others.add(sha256);
      return { present, others };
    },
    /** The hash of one, undefined if it cannot be read. A damaged one that lay in a pack is set aside then. */
    async look(sha256: string, signal: AbortSignal) {
      const inPack = await packed?.check(sha256);
      if (inPack != null) return { actual: inPack, isAside: inPack !== sha256 };
      const found = await hasher.hash(pathOf(sha256), signal).catch(() => undefined);
      return { actual: found?.sha256, isAside: false };
    },
  };
}

/** Room that was freed in packs is given back once nothing more goes: what is left of them would become files that go next. */
export function giveBackRoom(packed: PackedFiles | undefined) {
  let [hasDropped, isDropping] = [false, false];
  return {
    dropped(): void {
      [hasDropped, isDropping] = [true, true];
    },
    /** After each round. */
    async round(): Promise<void> {
      const isDue = hasDropped && !isDropping;
      isDropping = false;
      if (!isDue) return;
      hasDropped = false;
      await packed?.compact();
    },
  };
}
