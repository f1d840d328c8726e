/** What is told of a config's exploration, as pure functions. */
import type { Feedback } from "../../tables.ts";

const hasMoved = (before: number, after: number): boolean => Math.abs(after - before) > 0.01 * before;

/** Whether what is told of exploration is another thing than what was told last. */
export const isOtherExploration = (before: Feedback | undefined, after: Feedback): boolean =>
  before === undefined
    ? after.exploration !== 1 || after.search !== 1 || after.difficulty !== "normal"
    : before.difficulty !== after.difficulty ||
      hasMoved(before.exploration, after.exploration) ||
      hasMoved(before.search, after.search);

/** Whether the pace of a config has changed by more than a tenth. */
export const isOtherRate = (before: number, after: number): boolean => Math.abs(after - before) > 0.1 * before;
