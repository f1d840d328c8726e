// The bundle that a checkout keeps of its program, and whether it is still what the sources say.
// Plain JavaScript: it is asked at every start, before anything else is loaded.
const { readFileSync, statSync } = process.getBuiltinModule("node:fs");
const { join } = process.getBuiltinModule("node:path");

export const keptIn = (root) => join(root, "node_modules", ".cache", "ringrift");

/** The folder of the bundle that `tools/program.ts` made, if no file that it was made from has changed since. */
export const freshProgram = (root) => {
  try {
    const { name, made } = JSON.parse(readFileSync(join(keptIn(root), "current.json"), "utf8"));
    for (const [path, size, mtimeMs] of made) {
      const found = statSync(`${root}/${path}`, { throwIfNoEntry: false });
      if (found?.size !== size || found.mtimeMs !== mtimeMs) return undefined;
    }
    return join(keptIn(root), name);
  } catch {
    // Nothing is kept, or half of it: the sources are always right.
    return undefined;
  }
};
