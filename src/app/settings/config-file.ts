/** The file with settings: read whole or not at all, and each of its values knows its line. */
import { readFileSync, statSync } from "node:fs";
import { messageOf } from "../../kernel/index.ts";
import { type JsonEntry, JsonFault, jsonEntries } from "./json-entries.ts";

export const MAX_CONFIG_BYTES = 65_536;

export type ConfigFile =
  | { readonly path: string; readonly entries: readonly JsonEntry[] }
  | { readonly path: string; readonly refused: string };

const refusal = (path: string): string | undefined => {
  const about = statSync(path);
  if (!about.isFile()) return `${path} is no regular file`;
  if (about.size > MAX_CONFIG_BYTES) return `${path} has ${about.size} bytes, more than ${MAX_CONFIG_BYTES}`;
  return undefined;
};

export function readConfigFile(path: string): ConfigFile {
  try {
    const refused = refusal(path);
    if (refused !== undefined) return { path, refused };
    // The decoder refuses what is no UTF-8, and drops the mark that some editors put in front.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
    return { path, entries: jsonEntries(text) };
  } catch (thrown) {
    if (thrown instanceof JsonFault) return { path, refused: `${path}:${thrown.line}: ${thrown.message}` };
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return { path, refused: `there is no file ${path}` };
    return { path, refused: `${path} cannot be read: ${messageOf(thrown)}` };
  }
}

/** What the file says beyond settings, under one of its names, as it was written; undefined if it says nothing of it. */
export function sectionOf(
  path: string | undefined,
  name: "plans" | "workloads" | "experiments",
): Readonly<Record<string, unknown>> | undefined {
  if (path === undefined) return undefined;
  return JSON.parse(readFileSync(path, "utf8").replace(/^\uFEFF/, ""))[name];
}
