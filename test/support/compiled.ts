/** Code that Node has read once, types taken away, and compiled: every process and thread of a run takes it from here. */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** What Node asks for it. */
export const COMPILE_CACHE = "NODE_COMPILE_CACHE";
export const COMPILED = fileURLToPath(new URL("../../node_modules/.cache/check/compiled", import.meta.url));

const MAX_FILES = 20_000;

/** What was compiled of bundles and copies that are gone is never asked for again: now and then all of it begins anew. */
export function trimCompiled(folder = COMPILED, maxFiles = MAX_FILES): void {
  if (existsSync(folder) && readdirSync(folder, { recursive: true }).length > maxFiles)
    rmSync(folder, { recursive: true, force: true });
}
