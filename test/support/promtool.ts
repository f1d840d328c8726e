/** Where promtool is: on the path, or fetched from Debian into a private folder. */
import { join } from "node:path";
import { hasProgram, unpackedPackages } from "./debian-programs.ts";

/** Undefined where it is not to be had: what needs it is skipped, and says so. */
export function findPromtool(): string | undefined {
  if (hasProgram("promtool")) return "promtool";
  const program = "usr/bin/promtool";
  const folder = unpackedPackages("promtool", ["prometheus"], program);
  return folder === undefined ? undefined : join(folder, program);
}
