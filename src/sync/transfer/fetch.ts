import { existsSync, readdirSync, statSync, utimesSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { TransferReport, Transport } from "../transport.port.ts";
import { fetchFile } from "./fetch-file.ts";
import { type Expected, fetchPack } from "./fetch-pack.ts";
import { FILES_AT_ONCE, MAX_PACK_BYTES, MAX_PACK_FILES, PACKED_BYTES } from "./limits.ts";
import { runSome } from "./run-some.ts";
import type { TransferWorld } from "./transfer-world.ts";
import { codeOf, faultOf } from "./ways.ts";

/** Small files in packs that are bounded in number and in bytes. */
function packsOf(small: readonly Expected[]): Expected[][] {
  const packs: Expected[][] = [];
  let bytes = 0;
  for (const one of small) {
    const last = packs.at(-1);
    if (last === undefined || last.length >= MAX_PACK_FILES || bytes + one.bytes > MAX_PACK_BYTES) {
      packs.push([one]);
      bytes = one.bytes;
    } else {
      last.push(one);
      bytes += one.bytes;
    }
  }
  return packs;
}

/**
 * Nothing lies in a folder that is not there, or that does not list it: one look at a folder spares one at each of its files. To list one is worth it for as
 * many as fill a pack.
 */
function createFolderLook(files: number): (path: string) => boolean {
  const folders = new Map<string, (name: string) => boolean>();
  const look = (folder: string): ((name: string) => boolean) => {
    if (!existsSync(folder)) return () => false;
    if (files < MAX_PACK_FILES) return () => true;
    const names = new Set(readdirSync(folder));
    return (name) => names.has(name);
  };
  return (path) => {
    const folder = dirname(path);
    const has = folders.get(folder) ?? look(folder);
    folders.set(folder, has);
    return has(basename(path));
  };
}

/** One that is here already is marked as asked for, so that it is not taken away as unused. */
function isHere({ landing, bytes }: Expected, nowMs: number): boolean {
  if (statSync(landing.path, { throwIfNoEntry: false })?.size !== bytes) return false;
  utimesSync(landing.path, nowMs / 1_000, nowMs / 1_000);
  return true;
}

/**
 * Brings all of them, each by the first way that can. Resolves with what came of each; rejects only when it was aborted. Never on a
 * main loop: it hashes and writes.
 */
export async function fetchAll(
  expected: readonly Expected[],
  transports: readonly Transport[],
  world: TransferWorld,
): Promise<TransferReport> {
  const arrived: string[] = [];
  const present: string[] = [];
  const failed: TransferReport["failed"][number][] = [];
  const fail = (one: Expected, thrown: unknown) => void failed.push({ sha256: one.sha256, ...codeOf(thrown) });
  const missing: Expected[] = [];
  const mayBeHere = createFolderLook(expected.length);
  for (const one of expected) {
    if (world.packs?.has(one) === true) present.push(one.sha256);
    else if (mayBeHere(one.landing.path) && isHere(one, world.clock.now())) present.push(one.sha256);
    else missing.push(one);
  }

  const fetchOne = async (one: Expected): Promise<void> => {
    try {
      await fetchFile(one, one.landing, transports, world);
      arrived.push(one.sha256);
    } catch (thrown) {
      world.signal.throwIfAborted();
      fail(one, thrown);
    }
  };
  const fetchMany = async (pack: readonly Expected[]): Promise<void> => {
    const came = new Set<string>();
    const open = () => pack.filter(({ sha256 }) => !came.has(sha256));
    try {
      await fetchPack(pack, transports, world, came);
    } catch (thrown) {
      world.signal.throwIfAborted();
      if (faultOf(thrown) !== "here") throw thrown;
      for (const one of open()) fail(one, thrown);
      return;
    } finally {
      arrived.push(...came);
    }
    for (const one of open()) await fetchOne(one);
  };
  const hasPacks = transports.some(({ readPack }) => readPack !== undefined);
  const isSmall = ({ bytes }: Expected) => hasPacks && bytes <= PACKED_BYTES;
  await runSome(
    [
      ...missing.filter((one) => !isSmall(one)).map((one) => () => fetchOne(one)),
      ...packsOf(missing.filter(isSmall)).map((pack) => () => fetchMany(pack)),
    ],
    FILES_AT_ONCE,
  );
  return { arrived, present, failed, tries: world.tries() };
}
