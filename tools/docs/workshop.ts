/** The folder in which the blocks of one page run, as on the machine of a reader who has the package. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { ROOT } from "../parts/root.ts";

export interface Workshop {
  readonly folder: string;
  /** Where the reader stands. */
  readonly work: string;
  readonly env: NodeJS.ProcessEnv;
}

/** The package as its users import it, with the sources in place of what is built from them. */
function linkPackage(modules: string, dependencies: readonly string[]): void {
  const own = join(modules, "ringrift-coordination");
  mkdirSync(own, { recursive: true });
  symlinkSync(join(ROOT, "src"), join(own, "src"));
  const exports = { ".": "./src/index.ts", "./client": "./src/client.ts" };
  writeFileSync(join(own, "package.json"), JSON.stringify({ name: "ringrift-coordination", type: "module", exports }));
  for (const name of dependencies) {
    mkdirSync(join(modules, name, ".."), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  }
}

export function openWorkshop(folder: string, dependencies: readonly string[], port: number): Workshop {
  const work = join(folder, "work");
  const bin = join(folder, "bin");
  for (const each of [work, bin]) mkdirSync(each, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  linkPackage(join(folder, "node_modules"), dependencies);
  symlinkSync(join(ROOT, "bin", "ringrift.js"), join(bin, "ringrift"));
  return {
    folder,
    work,
    env: {
      ...process.env,
      NO_COLOR: "1",
      PATH: [bin, join(ROOT, "node_modules", ".bin"), process.env.PATH].join(delimiter),
      PYTHONPATH: join(ROOT, "clients", "python"),
      RINGRIFT_DATA_DIR: join(folder, "data"),
      // The usual port may be taken on this machine; blocks that name it are given this one.
      RINGRIFT_PORT: String(port),
    },
  };
}
