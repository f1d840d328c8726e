/** What the queue would hand out next, in words: those of the command and of the page. */
import { duration, percent } from "../cli/text.ts";
import type { Answer } from "../http/wire.ts";
import type { forecastWork } from "./wire.ts";

type Dealt = Answer<typeof forecastWork>["nodes"][number];

/** Why this one comes now: by its urgency, or by what its config is owed. */
export const whyNext = ({ urgency, counts_as, waited_seconds, share, owed }: Dealt["jobs"][number]): string => {
  const waited = `waited ${duration(waited_seconds * 1_000)}`;
  const aged = counts_as === urgency ? waited : `${waited}, so it counts as ${counts_as}`;
  return `${aged}; its config has ${percent(share)} and is owed ${owed.toFixed(1)}`;
};

export const whenNext = (after: Dealt["after"]): string => {
  if (after === null) return "now";
  const soon = after.ends_in_seconds === null ? "" : `, about ${duration(after.ends_in_seconds * 1_000)}`;
  return `after ${after.work_id}${soon}`;
};
