/** What the commands of the pipeline ask of the running process. */
import { askEither } from "../cli/answers.ts";
import { answer, type Shell } from "../cli/shell.ts";
import type { Answer, RawAnswer } from "../http/wire.ts";
import { unknownConfig } from "./unknown-config.ts";
import type { getPipeline as route } from "./wire.ts";

export type Pipeline = Answer<typeof route>;
type RawConfig = RawAnswer<typeof route>["configs"][number];

/** The config that was meant; an error that names its neighbours otherwise. */
function configIn<C extends { readonly config_key: string }>(configs: readonly C[], configKey: string): C {
  const found = configs.find(({ config_key }) => config_key === configKey);
  if (found !== undefined) return found;
  throw unknownConfig(
    configKey,
    configs.map(({ config_key }) => config_key),
  );
}

/** Figures need an edge: where lines may be as long as they like, this is it. */
const MAX_WIDTH = 120;

/** Shows one config: as it came, or drawn. */
export const showConfig = (
  configKey: string,
  shell: Shell,
  json: (config: RawConfig, at: number) => object,
  draw: (config: Pipeline["configs"][number], at: number, width: number) => readonly string[],
): Promise<void> =>
  askEither(shell, async (main) => {
    const { getPipeline } = await import("./wire.ts");
    const raw = await main.raw(getPipeline);
    const meant = configIn(raw.configs, configKey);
    answer(shell, json(meant, raw.at), () => {
      const { at, configs } = main.read(getPipeline, raw);
      return draw(configIn(configs, configKey), at, Math.min(shell.width, MAX_WIDTH));
    });
  });
