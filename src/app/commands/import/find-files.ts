/** The files of a folder that somebody wants to import: plain ones inside it, a bounded number, and why others are not taken. */
import { lstat, opendir, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { OperatingError, systemCode } from "../../../kernel/index.ts";

export interface Refused {
  readonly path: string;
  readonly code: string;
  readonly why: string;
}

export interface FoundFiles {
  readonly root: string;
  /** Paths within the folder, in their order. */
  readonly files: readonly string[];
  readonly refused: readonly Refused[];
}

const GAMES = /\.(jsonl|npz|arena)$/i;
const MAX_FILES = 10_000;
const MAX_ENTRIES = 200_000;
const MAX_DEPTH = 16;

const noFolder = (folder: string, why: string) =>
  OperatingError.invalid("IMPORT_FOLDER", `${folder} ${why}`, {
    hint: "Name the folder that holds .jsonl, .npz or .arena files. If it is on another disk, check that the disk is mounted.",
  });

async function rootOf(folder: string): Promise<string> {
  try {
    const root = await realpath(folder);
    if ((await lstat(root)).isDirectory()) return root;
  } catch (thrown) {
    throw noFolder(
      folder,
      systemCode(thrown) === "ENOENT" ? "does not exist" : `cannot be read (${systemCode(thrown)})`,
    );
  }
  throw noFolder(folder, "is no folder");
}

/** Looks through a folder. A link is never followed: what it names may lie anywhere. */
export async function findFiles(folder: string): Promise<FoundFiles> {
  const root = await rootOf(folder);
  const files: string[] = [];
  const refused: Refused[] = [];
  let entries = 0;
  const refuse = (path: string, code: string, why: string) => void refused.push({ path, code, why });

  const walk = async (inner: string, depth: number): Promise<void> => {
    const here = join(root, inner);
    // A folder that became a link since it was listed leads elsewhere.
    const real = await realpath(here);
    if (real !== root && !real.startsWith(root + sep))
      return refuse(inner, "IMPORT_OUTSIDE", "it leads out of the folder");
    const names: { readonly name: string; readonly kind: "file" | "folder" | "link" | "other" }[] = [];
    for await (const entry of await opendir(here)) {
      entries += 1;
      if (entries > MAX_ENTRIES) throw noFolder(folder, `has more than ${MAX_ENTRIES} entries; import a part of it`);
      const kind = entry.isSymbolicLink() ? "link" : entry.isFile() ? "file" : entry.isDirectory() ? "folder" : "other";
      names.push({ name: entry.name, kind });
    }
    for (const { name, kind } of names.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(inner, name);
      if (kind === "folder" && depth >= MAX_DEPTH)
        refuse(path, "IMPORT_TOO_DEEP", `folders are read ${MAX_DEPTH} deep`);
      else if (kind === "folder") await walk(path, depth + 1);
      else if (!GAMES.test(name)) continue;
      else if (kind === "link") refuse(path, "IMPORT_LINK", "it is a link, and links are not followed");
      else if (kind === "other") refuse(path, "IMPORT_NO_FILE", "it is no plain file");
      else if (files.length >= MAX_FILES)
        throw noFolder(folder, `has more than ${MAX_FILES} files of games; import a part of it`);
      else files.push(path);
    }
  };
  await walk("", 0);
  if (files.length + refused.length === 0) throw noFolder(folder, "holds no .jsonl, .npz or .arena files");
  return { root, files, refused };
}
