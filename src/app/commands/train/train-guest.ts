import type { MainGuest } from "../up.command.ts";
export const createTrainGuest = (_: unknown): MainGuest & { failed: boolean } => ({ failed: false });
