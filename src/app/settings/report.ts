import type { ConfigReport } from "../../surfaces/commands/index.ts";
import { type Inspection, placeOf } from "./resolve.ts";
import { settingRows } from "./tree.ts";

/** What `ringrift config` shows: values as people may see them. */
export const settingsReport = ({ settings, problems, notices, file }: Inspection): ConfigReport => ({
  file: file ?? null,
  settings: settingRows.map(({ key, kind, variable }) => {
    const { value, origin, sound } = settings.get(key)!;
    return {
      key,
      variable,
      value: sound && value !== undefined ? kind.show(value) : null,
      unit: kind.unit ?? null,
      sound,
      origin: { kind: origin.kind, place: origin.kind === "default" ? null : placeOf(origin) },
    };
  }),
  problems,
  notices,
});
