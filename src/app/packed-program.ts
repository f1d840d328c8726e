/** What is brought to other machines: the package that runs here, or another one that was named, and the Node that runs here. */
import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { moduleBeside } from "../kernel/index.ts";

/** The nearest folder of packages, as Node looks for it. */
function modulesOf(program: string): string {
  for (let folder = program; folder !== dirname(folder); folder = dirname(folder)) {
    if (basename(folder) === "node_modules") return folder;
    if (existsSync(join(folder, "node_modules"))) return join(folder, "node_modules");
  }
  return join(program, "node_modules");
}

export function packedProgram(named?: string) {
  // Whether it runs from sources or from the bundle, the program is two folders below its package.
  const program = resolve(named ?? join(dirname(fileURLToPath(moduleBeside(import.meta.url, "./cli"))), "../.."));
  return { program, modules: modulesOf(program), node: process.execPath };
}
