import type { Catalog } from "../events/index.ts";
import type { Log } from "../kernel/index.ts";
import type { Statistics } from "./statistics.ts";

interface SpellingsOptions {
  readonly catalog: Catalog;
  readonly strictNames: boolean;
  readonly statistics: Statistics;
  readonly log: Log;
}

/** Which event a name means, in whatever spelling; old and unknown ones are counted, and told of once. */
export function createSpellings({ catalog, strictNames, statistics, log }: SpellingsOptions) {
  const onDeprecated = (kind: "name" | "key" | "unknown", what: string, instead: string): void => {
    const times = statistics[kind === "unknown" ? "unknown" : "deprecated"].add(what);
    if (times > 1) return;
    if (kind === "unknown") log.warn(`unknown event '${what}'`, instead === "" ? {} : { did_you_mean: instead });
    else log.warn(`'${what}' is an old ${kind}; say '${instead}'`, { deprecated: what, instead });
  };
  return {
    onDeprecated,
    onIncomplete(type: string, missing: readonly string[]): void {
      if (statistics.incomplete.add(type) > 1) return;
      log.warn(`'${type}' was published without all of its fields: it wakes units, and tells them nothing`, {
        event_type: type,
        missing,
      });
    },
    canonical(spelling: string): string {
      if (spelling === "*") return spelling;
      const resolved = catalog.names.resolve(spelling);
      if (resolved !== undefined) {
        if (resolved.spelling === "legacy") onDeprecated("name", spelling, resolved.name);
        return resolved.name;
      }
      if (strictNames) throw catalog.names.unknown(spelling);
      onDeprecated("unknown", spelling, catalog.names.suggest(spelling).join(", "));
      return spelling;
    },
  };
}

export type Spellings = ReturnType<typeof createSpellings>;
