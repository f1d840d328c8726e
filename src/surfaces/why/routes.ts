import { OperatingError } from "../../kernel/index.ts";
import { handle, type Route } from "../http/route.ts";
import { getWhy } from "./wire.ts";

export const whyRoutes: readonly Route[] = [
  handle(getWhy, ({ ports, params: { subject } }) => {
    const found = ports.why(subject);
    if (found === undefined)
      throw OperatingError.notFound("SUBJECT_NOT_FOUND", `nothing here is called '${subject}'`, {
        hint: "Give a config, a job, a node, a file by its hash, a daemon or a unit.",
      });
    return found;
  }),
];
