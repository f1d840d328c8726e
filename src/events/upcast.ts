import type { EventRow } from "./row.ts";
export function upcast(row: EventRow, payload: Record<string, unknown>, version: number) {
  let p = payload;
  for (let v = version; v < row.version; v += 1) p = row.upcasters[v]!(p);
  return { payload: p, version: Math.max(version, row.version), newer: version > row.version };
}
