/** The page as it was built: a document, and files whose names tell their content. All of it is kept in memory. */
import { readdir, readFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

export interface PageFile {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The same, smaller. */
  readonly gzipped: Uint8Array<ArrayBuffer> | undefined;
}

export interface PageFiles {
  /** A file by its name; undefined where there is none. The first question reads them all. */
  find(name: string): Promise<PageFile | undefined>;
}

/** The document that every view begins with. */
export const DOCUMENT = "index.html";
const GZIPPED = ".gz";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Beside the bundle that was built; of a checkout, where its program is kept. */
export const pageFolder = (): string =>
  fileURLToPath(
    import.meta.url.endsWith(".ts")
      ? new URL("../../../node_modules/.cache/ringrift/web", import.meta.url)
      : new URL("../../web", import.meta.url),
  );

async function readAll(folder: string): Promise<Map<string, PageFile>> {
  const names: string[] = await readdir(folder, { recursive: true }).catch(() => []);
  const bytesOf = async (name: string) => new Uint8Array(await readFile(`${folder}/${name}`));
  const files = names
    .filter((name) => TYPES[extname(name)] !== undefined)
    .map(async (name) => {
      const gzipped = names.includes(name + GZIPPED) ? await bytesOf(name + GZIPPED) : undefined;
      return [name, { type: TYPES[extname(name)]!, bytes: await bytesOf(name), gzipped }] as const;
    });
  return new Map(await Promise.all(files));
}

export function readPage(folder: string): PageFiles {
  let all: Promise<Map<string, PageFile>> | undefined;
  return {
    async find(name) {
      all ??= readAll(folder);
      const found = (await all).get(name);
      // It may be built while we run.
      if ((await all).size === 0) all = undefined;
      return found;
    },
  };
}
