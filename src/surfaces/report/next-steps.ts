import type { PipelineSnapshot } from "../../pipeline/index.ts";
import { standstillWords } from "../pipeline/words.ts";
import type { ReportAbout } from "./about.ts";

/** What a reader does next: a sentence, and the command that does it. */
export interface NextStep {
  readonly why: string;
  readonly command: string;
}

/** What stands still comes first, then what the run has made, then more of it. */
export function nextSteps({ configs, at }: PipelineSnapshot, about: ReportAbout): NextStep[] {
  const command = (words: string) =>
    about.data_dir === undefined ? `ringrift ${words}` : `ringrift ${words} --data-dir ${about.data_dir}`;
  const stuck = configs.filter((config) => standstillWords(config, at) !== undefined);
  const trained = configs.filter(({ champions }) => champions.some(({ generation }) => generation > 0));
  const [first] = configs;
  const [crowned] = trained;
  return [
    ...stuck.map(({ config_key }) => ({
      why: `See why ${config_key} makes no progress.`,
      command: command(`why ${config_key}`),
    })),
    ...(about.alerts.some(({ status }) => status === "open")
      ? [{ why: "Look at the open alerts.", command: command("alerts") }]
      : []),
    ...(crowned === undefined
      ? []
      : [
          { why: "Play against the champion.", command: command(`play ${crowned.config_key}`) },
          { why: "See how strong it is.", command: command(`elo ${crowned.config_key}`) },
        ]),
    ...(first === undefined
      ? []
      : [
          {
            why: crowned === undefined ? "Continue: no model was promoted yet." : "Continue where it stopped.",
            command: command(`train ${configs.map(({ config_key }) => config_key).join(" ")}`),
          },
        ]),
    {
      why: "Let other machines help: start the main process, then create the command that joins them.",
      command: command("token create box-1 --join"),
    },
  ];
}
