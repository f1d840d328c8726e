import { ago, duration } from "../cli/text.ts";

/** When something that opens doors ends: `in 6 d`, `2 h ago`, `never`. */
export const until = (expiresAt: number | null, now: number): string => {
  if (expiresAt === null) return "never";
  return expiresAt > now ? `in ${duration(expiresAt - now)}` : ago(expiresAt, now);
};
