import { hash } from "node:crypto";

/**
 * Groups errors with one cause: the first line without what differs from case to case (numbers, ids, quoted values,
 * paths), and the place it was thrown from.
 */
export function fingerprintOf(error: string): string {
  const lines = error.slice(0, 4_000).split("\n");
  const says = (lines[0] ?? "")
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/gi, "#")
    .replace(/'[^']*'|"[^"]*"|`[^`]*`/g, "'…'")
    .replace(/(?:\/[\w.@-]+)+/g, "/…")
    .replace(/0x[0-9a-f]+|\d+/gi, "#");
  const thrownAt =
    /at (?:async )?([\w.$<>#]+) \(/.exec(lines.find((line) => line.trimStart().startsWith("at ")) ?? "")?.[1] ?? "";
  return hash("sha256", `${says}\n${thrownAt}`, "hex").slice(0, 12);
}
