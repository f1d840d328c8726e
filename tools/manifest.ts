/**
 * The manifest that is packed: package.json without the Node binaries, which only a checkout needs.
 *
 * `node tools/manifest.ts strip` runs last before npm packs, `restore` right after. The original waits beside it meanwhile;
 * if packing is interrupted, the next strip or restore puts it back.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isProgram, OperatingError, ROOT, reportAndExit } from "./parts/root.ts";

type Manifest = Record<string, unknown> & { optionalDependencies?: Record<string, string> };

const IS_NODE = /^node-(linux|darwin|win)-/;

/** The text of the manifest as it is published. */
export function published(text: string): string {
  const { optionalDependencies = {}, ...rest } = JSON.parse(text) as Manifest;
  const kept = Object.entries(optionalDependencies).filter(([name]) => !IS_NODE.test(name));
  const manifest = kept.length === 0 ? rest : { ...rest, optionalDependencies: Object.fromEntries(kept) };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

const paths = (folder: string) => ({
  manifest: join(folder, "package.json"),
  original: join(folder, "package.json.original"),
});

/** Puts the original back. Does nothing when nothing was stripped. */
export function restore(folder: string): void {
  const { manifest, original } = paths(folder);
  if (!existsSync(original)) return;
  const text = readFileSync(original, "utf8");
  const present = readFileSync(manifest, "utf8");
  if (present !== published(text) && present !== text)
    throw OperatingError.conflict("MANIFEST_CHANGED", "package.json was edited while it was stripped for packing", {
      hint: "Carry the edit over into package.json.original, rename that to package.json, and pack again.",
    });
  renameSync(original, manifest);
}

export function strip(folder: string): void {
  restore(folder);
  const { manifest, original } = paths(folder);
  const text = readFileSync(manifest, "utf8");
  writeFileSync(original, text);
  // A rename is whole or not at all: nobody ever reads half a manifest.
  writeFileSync(`${manifest}.stripped`, published(text));
  renameSync(`${manifest}.stripped`, manifest);
}

if (isProgram(import.meta.url))
  await reportAndExit(() => {
    const verb = process.argv[2];
    if (verb === "strip") strip(ROOT);
    else if (verb === "restore") restore(ROOT);
    else throw OperatingError.invalid("USAGE", "say 'strip' or 'restore'");
    return 0;
  });
