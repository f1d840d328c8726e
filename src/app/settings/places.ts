/** Where things are that nobody named: in this folder or the nearest one above that has them, like git does. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const CONFIG_FILE = "ringrift.config.json";

function nearest(name: string, cwd: string): string | undefined {
  for (let at = resolve(cwd); ; at = dirname(at)) {
    const candidate = join(at, name);
    if (existsSync(candidate)) return candidate;
    if (dirname(at) === at) return undefined;
  }
}

/** The nearest `.ringrift`; else the one that would be made here. */
export const findDataDir = (cwd: string): string => nearest(".ringrift", cwd) ?? join(resolve(cwd), ".ringrift");

export const findConfigFile = (cwd: string): string | undefined => nearest(CONFIG_FILE, cwd);
