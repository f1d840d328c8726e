import { settingChecks, settingRows } from "../../src/app/settings.ts";
import type { Setting } from "../../src/kernel/settings/index.ts";
import { page, table } from "./markdown.ts";

const HOME = { hostName: "", dataDir: "", configFile: undefined };

const defaultOf = ({ shown, fallback, kind }: Setting<unknown>): string => shown ?? `${kind.show(fallback(HOME))}`;

const setBy = ({ variable, flag }: Setting<unknown>): string =>
  [variable, flag].flatMap((name) => (name === undefined ? [] : [`\`${name}\``])).join(" ");

const aboutOf = ({ about, kind, onlyWith }: Setting<unknown>): string =>
  [about, kind.secret ? "Secret." : "", onlyWith === undefined ? "" : `Only with \`${onlyWith}\`.`]
    .filter((text) => text !== "")
    .join(" ");

export const printSettings = (): string =>
  page(
    "# Settings",
    "Printed from the rows in the `settings.ts` of each room. A flag beats the variable, the variable the key in " +
      "`ringrift.config.json`, and the key the default. [How to set them](../23-settings.md).",
    table(
      ["Key", "Variable and flag", "What it sets", "Unit", "Range", "Default"],
      settingRows.map((row) => [
        `\`${row.key}\``,
        setBy(row),
        aboutOf(row),
        row.kind.unit ?? "",
        row.kind.range,
        defaultOf(row),
      ]),
    ),
    "What must hold between them:",
    settingChecks.map(({ keys, rule }) => `- ${keys.map((key) => `\`${key}\``).join(", ")}: ${rule}`).join("\n"),
  );
