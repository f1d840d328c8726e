import type { SettingRow } from "../../src/app/settings.ts";
import { page, table } from "./markdown.ts";

export const printSettings = (rows: readonly SettingRow<unknown>[]): string =>
  page(
    "# Settings",
    "Printed from the rows in `src/app/settings.ts`. A setting is an environment variable; a command that takes the same " +
      "thing as an option prefers the option.",
    table(
      ["Variable", "What it sets", "Default"],
      rows.map(({ variable, about, shown }) => [`\`${variable}\``, about, shown]),
    ),
  );
