import { type BigIntStats, constants } from "node:fs";
import { copyFile, link, lstat, open, realpath, rename, rm } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import {
  type FileHasher,
  isOperatingError,
  OperatingError,
  syncFolder,
  systemCode,
  translateDiskFault,
} from "../kernel/index.ts";
import { makeFolder } from "./disk.ts";
import { COPIED_BYTES } from "./limits.ts";
import { isOpenForWriting } from "./open-files.ts";

export interface AdoptRequest {
  readonly sha256: string;
  readonly bytes: number;
  /** Where it lies. */
  readonly file: string;
}

export interface AdoptPlace {
  readonly path: string;
  readonly part: string;
  /** The only folder that files are adopted from. */
  readonly from: string;
  readonly hasher: Pick<FileHasher, "hash">;
}

const refused = (file: string, why: string) =>
  OperatingError.denied("ARTIFACT_NOT_ADOPTED", `${file} is not adopted: ${why}`, {
    status: 422,
    hint: "Send its bytes instead.",
  });

/** Trouble of our own disk is not the file's: asked again later, it is taken. */
function notTaken(file: string, why: string, thrown: unknown): unknown {
  const told = translateDiskFault(thrown);
  const isOurs = isOperatingError(told, "STORE_FULL") || isOperatingError(told, "STORE_READ_ONLY");
  return isOurs ? told : refused(file, `${why} (${systemCode(thrown)})`);
}

/** Where it really lies, if that is inside the folder; a last link is not followed. */
async function insideOf(folder: string, file: string): Promise<string> {
  try {
    const [inner, outer] = await Promise.all([realpath(dirname(file)), realpath(folder)]);
    if (inner === outer || inner.startsWith(outer + sep)) return join(inner, basename(file));
  } catch (thrown) {
    throw refused(file, `it cannot be found (${systemCode(thrown)})`);
  }
  throw refused(file, "it lies elsewhere");
}

/** Whether nobody but this process can reach its bytes once its name is gone: by another name, or by having it open. */
const isOursAlone = async (about: BigIntStats): Promise<boolean> =>
  about.size > COPIED_BYTES &&
  about.nlink === 1n &&
  Number(about.uid) === process.getuid?.() &&
  !(await isOpenForWriting(about));

/** What is told is why it was not taken, and not that a disk which refuses refuses this too; the sweep removes what is left. */
const discard = (part: string): Promise<void> => rm(part).catch(() => undefined);

/** A second name for a file that is ours alone; of any other one, or on a disk that knows no such names, a copy. */
async function secondName(file: string, part: string): Promise<void> {
  await rm(part, { force: true });
  const about = await lstat(file, { bigint: true }).catch(() => undefined);
  if (about === undefined) throw refused(file, "it is not there");
  if (!about.isFile()) throw refused(file, "it is no plain file");
  if (await isOursAlone(about))
    try {
      return await link(file, part);
    } catch {
      // Another disk, or one without links.
    }
  try {
    await copyFile(file, part, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  } catch (thrown) {
    await discard(part);
    throw notTaken(file, "it cannot be read", thrown);
  }
}

/** On disk whoever made it, and not to be changed by a name that it had before. */
async function settle(part: string, source: string): Promise<void> {
  const file = await open(part, "r").catch((thrown: unknown) => {
    throw refused(source, `it cannot be read (${systemCode(thrown)})`);
  });
  try {
    await file.chmod(0o400);
    await file.sync();
  } catch (thrown) {
    throw notTaken(source, "it cannot be made this process's own", thrown);
  } finally {
    await file.close();
  }
}

/** Takes a file of this machine under its hash, where it may without moving a byte. It is hashed under its new name: what counts is what is kept. */
export async function adopt(place: AdoptPlace, { sha256, bytes, file }: AdoptRequest): Promise<void> {
  const source = await insideOf(place.from, file);
  await makeFolder(dirname(place.path));
  await secondName(source, place.part);
  try {
    const about = await lstat(place.part);
    if (!about.isFile()) throw refused(file, "it is no plain file");
    if (about.size !== bytes) throw refused(file, `it has ${about.size} bytes, not ${bytes}`);
    await settle(place.part, file);
    const found = await place.hasher.hash(place.part);
    if (found.sha256 !== sha256)
      throw OperatingError.conflict("ARTIFACT_HASH", `${file} is not the artifact ${sha256}`, {
        status: 422,
        hint: "Nothing was kept.",
      });
    await rename(place.part, place.path);
  } catch (thrown) {
    await discard(place.part);
    throw thrown;
  }
  await syncFolder(dirname(place.path));
}
