/**
 * The tests that `npm test` cuts short, whole: every round of their properties, every case of their tables, the whole contract of the
 * transports against real servers.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, scriptOf } from "../../tools/parts/root.ts";
import { COMPILE_CACHE, COMPILED } from "../support/compiled.ts";
import { THOROUGH } from "../support/thorough.ts";

export interface ThoroughOptions {
  /** Only files whose path contains this. */
  readonly only?: string;
  /** No more than `npm test` does: it only shows that the files are found and run. */
  readonly short?: boolean;
}
export const tiny: ThoroughOptions = { only: "test/unit/properties/subscriptions", short: true };

const USES = /from "(\.\.\/)+(test\/)?support\/thorough\.ts"/;

function cutShort(only: string): string[] {
  const files = ["src", "test"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((file) => join(folder, file)),
  );
  return files
    .filter((file) => file.endsWith(".test.ts") && file.includes(only))
    .filter((file) => USES.test(readFileSync(join(ROOT, file), "utf8")))
    .sort();
}

export function run({ only = "", short = false }: ThoroughOptions = {}) {
  const files = cutShort(only);
  if (files.length === 0) throw new Error(`no test that is cut short has '${only}' in its path`);
  const { status, stdout, stderr } = spawnSync(process.execPath, [scriptOf("vitest"), "run", ...files], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    env: { ...process.env, [COMPILE_CACHE]: COMPILED, NO_COLOR: "1", [THOROUGH]: short ? "no" : "yes" },
  });
  if (status !== 0) throw new Error(`${stdout}\n${stderr}`.split("\n").slice(-80).join("\n"));
  return { files };
}

export const print = ({ files }: ReturnType<typeof run>): string => files.join("\n");
