import { settingRows } from "../../src/app/settings.ts";
import type { Setting } from "../../src/kernel/settings/index.ts";

interface Group {
  readonly type: "object";
  readonly properties: Record<string, unknown>;
  readonly additionalProperties: false;
}
const group = (): Group => ({ type: "object", properties: {}, additionalProperties: false });

const propertyOf = ({ kind, about }: Setting<unknown>): Readonly<Record<string, unknown>> => {
  const unit = kind.unit === undefined ? "" : ` In ${kind.unit}.`;
  return { ...kind.schema, description: `${about.replace(/\.?$/, ".")}${unit}` };
};

/** What an editor needs to complete and check `ringrift.config.json`: groups as objects, and each key dotted as well. */
export function configSchema(): Readonly<Record<string, unknown>> {
  const root = group();
  for (const row of settingRows.filter(({ notInFile }) => notInFile !== true)) {
    const names = row.key.split(".");
    const last = names.pop()!;
    let place = root;
    for (const name of names) {
      place.properties[name] ??= group();
      place = place.properties[name] as Group;
    }
    place.properties[last] = propertyOf(row);
    root.properties[row.key] ??= propertyOf(row);
  }
  const free = (description: string) => ({ type: "object", description });
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "ringrift.config.json",
    ...root,
    properties: {
      $schema: { type: "string" },
      ...root.properties,
      plans: free("What each config shall learn, by config key."),
      workloads: free("Programs that do jobs, by name."),
    },
  };
}

export const printConfigSchema = (): string => `${JSON.stringify(configSchema(), null, 2)}\n`;
