/** What the commands of the loop ask of the running process. */
import { didYouMean, OperatingError } from "../../kernel/index.ts";
import type { ConfigSnapshot, LoopSnapshot } from "../../pipeline/snapshot.ts";
import type { MainProcess } from "./main-process.ts";
import type { Shell } from "./shell.ts";

export const getLoop = (main: MainProcess): Promise<LoopSnapshot> => main.get<LoopSnapshot>("/v1/loop");

/** The config that was meant; an error that names its neighbours otherwise. */
export function configIn({ configs }: LoopSnapshot, configKey: string): ConfigSnapshot {
  const found = configs.find(({ config_key }) => config_key === configKey);
  if (found !== undefined) return found;
  const known = configs.map(({ config_key }) => config_key);
  throw new OperatingError("CONFIG_NOT_FOUND", `no loop runs for '${configKey}'.${didYouMean(configKey, known)}`, {
    hint: known.length === 0 ? "There is no config yet." : `There are ${known.join(", ")}.`,
  });
}

/** Figures need an edge: where lines may be as long as they like, this is it. */
export const figureWidth = ({ width }: Pick<Shell, "width">): number => Math.min(width, 120);
