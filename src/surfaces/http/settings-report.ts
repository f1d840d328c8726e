import { z } from "zod";
import type { Given } from "../../kernel/index.ts";
import { lazy } from "../../kernel/index.ts";

/** Every setting as people may see it, with where it came from, and all that is wrong. */
export const configReport = lazy(() =>
  z
    .object({
      file: z.string().nullable().describe("The file that was read, if any."),
      settings: z.array(
        z.object({
          key: z.string(),
          variable: z.string(),
          value: z
            .union([z.string(), z.number(), z.boolean()])
            .nullable()
            .describe(
              "Null where nothing is set and nothing is the default, and where what is set is wrong. A secret only says that it is one.",
            ),
          unit: z.string().nullable(),
          sound: z.boolean(),
          origin: z.object({
            kind: z.enum(["flag", "environment", "file", "default"]),
            place: z.string().nullable().describe("The flag, the variable, or the file and line; null for a default."),
          }),
        }),
      ),
      problems: z.array(z.object({ keys: z.array(z.string()), place: z.string(), message: z.string() })),
      notices: z.array(z.string()),
    })
    .meta({ id: "Settings" }),
);

export type ConfigReport = Given<z.output<ReturnType<typeof configReport>>>;
export type ConfigRow = ConfigReport["settings"][number];

/** Those that are set, as one machine tells another of them. */
export const settingsThatAreSet = ({ settings }: ConfigReport): { key: string; value: ConfigRow["value"] }[] =>
  settings
    .filter(({ origin, sound }) => sound && origin.kind !== "default")
    .map(({ key, value }) => ({ key, value: typeof value === "string" ? value.slice(0, 500) : value }));
