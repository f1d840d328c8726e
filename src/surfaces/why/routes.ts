import { OperatingError } from "../../kernel/index.ts";
import { handle, type Route } from "../http/route.ts";
import { getWhy } from "./wire.ts";

export const whyRoutes: readonly Route[] = [
  handle(getWhy, ({ ports, params: { subject } }) => {
    const found = ports.why(subject);
    if (found === undefined)
      throw OperatingError.notFound("SUBJECT_NOT_FOUND", `nobody knows '${subject}'`, {
        hint: "A subject is a config, a job, a node, or the name of a daemon or unit.",
      });
    return found;
  }),
];
