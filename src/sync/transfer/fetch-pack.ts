import { hash } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { OperatingError, systemCode, translateDiskFault } from "../../kernel/index.ts";
import { makeFolder } from "../disk.ts";
import type { Transport, Wanted } from "../transport.port.ts";
import { placeAside } from "./aside.ts";
import { type FileMaker, makeHere, type NewFile, writeWhole } from "./file-maker.ts";
import type { Flusher } from "./flush.ts";
import { KEPT_BYTES, KEPT_FILES, MANY_FILES } from "./limits.ts";
import { type Unpacked, unpack } from "./pack.ts";
import type { PackWriter } from "./pack-store.ts";
import type { Landing } from "./part-file.ts";
import { watchStall } from "./stall.ts";
import type { TransferWorld } from "./transfer-world.ts";
import { faultOf } from "./ways.ts";

/** An artifact and where it shall lie. */
export interface Expected extends Wanted {
  readonly landing: Landing;
}

/** Parts that are whole and right get their names once all of them are on the disk; then the names get there, and those of new folders. */
async function settle(came: readonly Expected[], flusher: Flusher, maker: FileMaker): Promise<void> {
  await flusher.files(came.map(({ landing }) => landing.part));
  await maker.rename(came.map(({ landing }) => [landing.part, landing.path] as const));
  const folders = [...new Set(came.map(({ landing }) => dirname(landing.path)))];
  await flusher.folders([...new Set([...folders, ...folders.map(dirname)])]);
}

/** Makes the folders of a pack. Their names are flushed with those of the files: to do it for each of 256 takes longer than all files. */
async function makeFolders(expected: readonly Expected[]): Promise<void> {
  for (const folder of new Set(expected.map(({ landing }) => dirname(landing.path))))
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (thrown) {
      if (systemCode(thrown) === "ENOENT") await makeFolder(folder);
      else if (systemCode(thrown) !== "EEXIST") throw thrown;
    }
}

/** Small files that stay together are written as they came: those that stand one behind the other at once. */
function appendTo(writer: PackWriter, files: readonly Unpacked[], of: readonly Expected[]): void {
  for (let first = 0; first < files.length; ) {
    const { buffer, byteOffset } = files[first]!.framed;
    let [next, end] = [first, byteOffset];
    while (next < files.length && files[next]!.framed.buffer === buffer && files[next]!.framed.byteOffset === end) {
      end += files[next]!.framed.length;
      next += 1;
    }
    writer.append(new Uint8Array(buffer, byteOffset, end - byteOffset), of.slice(first, next));
    first = next;
  }
}

/** The files of a pack that stay together, as one file; where the node keeps none so, each becomes a file of its own. */
function keepTogether(expected: readonly Expected[], { packs }: TransferWorld) {
  const isOn = packs !== undefined && expected.length >= KEPT_FILES;
  const kept: Expected[] = [];
  let writer: PackWriter | undefined;
  return {
    isKept: ({ bytes }: Wanted): boolean => isOn && bytes <= KEPT_BYTES,
    write(files: readonly Unpacked[], of: readonly Expected[]): void {
      if (files.length === 0) return;
      writer ??= packs!.begin();
      appendTo(writer, files, of);
      kept.push(...of);
    },
    /** They are flushed and here, all of those that were written; or none is. */
    async end(): Promise<readonly Expected[]> {
      await writer?.seal();
      return kept;
    },
  };
}

/** One go. Gives what came and lies as files, and what came and is kept together; what broke it comes with them, so that nothing that came is lost. */
async function readOnce(transport: Transport, expected: readonly Expected[], world: TransferWorld, maker: FileMaker) {
  const came: Expected[] = [];
  const together = keepTogether(expected, world);
  /** What is being written, and when that is done. */
  const making: { readonly files: readonly Expected[]; readonly done: Promise<void> }[] = [];
  const byHash = new Map(expected.map((one) => [one.sha256, one]));
  const watch = watchStall({ ...world, place: transport.place });
  const given = new AbortController();
  const signal = AbortSignal.any([world.signal, given.signal]);
  const bytes = watch.over(transport.readPack!(expected, signal), world.signal);
  let thrown: unknown;
  let unmade: { readonly thrown: unknown } | undefined;
  try {
    for await (const files of unpack(bytes, expected)) {
      if (unmade !== undefined) throw unmade.thrown;
      const size = files.reduce((sum, { content }) => sum + content.length, 0);
      await world.spend(size);
      world.moved(transport, size);
      const right: Expected[] = [];
      const made: NewFile[] = [];
      const kept: Unpacked[] = [];
      const keptOf: Expected[] = [];
      for (const file of files) {
        const { sha256, content } = file;
        const one = byHash.get(sha256)!;
        const actual = hash("sha256", content, "hex");
        // A damaged one is left to the next way, and says nothing about the others.
        if (actual !== sha256) {
          world.cameWrong(transport, { sha256, actual });
          const aside = placeAside(one.landing, one, world.clock.now());
          if (aside !== undefined) writeWhole({ path: aside, content });
          continue;
        }
        if (together.isKept(one)) {
          kept.push(file);
          keptOf.push(one);
          continue;
        }
        made.push({ path: one.landing.part, content });
        right.push(one);
      }
      together.write(kept, keptOf);
      if (made.length === 0) continue;
      const { done } = await maker.write(made);
      done.catch((error: unknown) => {
        unmade ??= { thrown: error };
      });
      making.push({ files: right, done });
    }
  } catch (error) {
    thrown = translateDiskFault(error);
    given.abort(thrown);
  }
  for (const { files, done } of making)
    try {
      await done;
      came.push(...files);
    } catch (error) {
      thrown ??= translateDiskFault(error);
      for (const { landing } of files) rmSync(landing.part, { force: true });
    }
  let kept: readonly Expected[] = [];
  try {
    kept = await together.end();
  } catch (error) {
    thrown ??= translateDiskFault(error);
  }
  return { came, kept, thrown };
}

/** By one way, as often as it brings something. */
async function packBy(transport: Transport, expected: readonly Expected[], world: TransferWorld, arrived: Set<string>) {
  const maker = expected.length >= MANY_FILES ? (world.maker ?? makeHere) : makeHere;
  for (;;) {
    const open = expected.filter(({ sha256 }) => !arrived.has(sha256));
    const { came, kept, thrown } = await readOnce(transport, open, world, maker);
    for (const { sha256 } of kept) arrived.add(sha256);
    world.cameBy(transport, kept.length);
    try {
      await settle(came, world.flusher, maker);
    } catch (error) {
      for (const { landing } of came) rmSync(landing.part, { force: true });
      throw translateDiskFault(error);
    }
    for (const { sha256 } of came) arrived.add(sha256);
    world.cameBy(transport, came.length);
    if (thrown === undefined) {
      const missing = open.length - came.length - kept.length;
      if (missing === 0) return;
      throw OperatingError.notFound(
        "ARTIFACT_NOT_FOUND",
        `${transport.place} lacks ${missing} of ${open.length} files, or has them damaged`,
      );
    }
    world.signal.throwIfAborted();
    if (came.length + kept.length === 0 || faultOf(thrown) === "here") throw thrown;
  }
}

/** Many small ones by the ways that know packs; notes those that came. Who wants to know why others did not asks for them alone. */
export async function fetchPack(
  expected: readonly Expected[],
  transports: readonly Transport[],
  world: TransferWorld,
  arrived: Set<string>,
): Promise<void> {
  try {
    await makeFolders(expected);
  } catch (thrown) {
    throw translateDiskFault(thrown);
  }
  for (const transport of transports) {
    const open = expected.filter(({ sha256 }) => !arrived.has(sha256));
    if (open.length === 0) break;
    if (transport.readPack === undefined) continue;
    try {
      await world.by(transport, () => packBy(transport, open, world, arrived));
    } catch (thrown) {
      if (world.signal.aborted || faultOf(thrown) === "here") throw thrown;
    }
  }
}
