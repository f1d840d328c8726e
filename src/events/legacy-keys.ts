import type { EventRow } from "./row.ts";
export const liftLegacyKeys = (_row: EventRow, payload: Record<string, unknown>) => ({ payload, renamed: [] as { from: string; to: string }[] });
