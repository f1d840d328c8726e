import { championOf } from "../../pipeline/index.ts";
import type { MainProcesses } from "../../surfaces/commands/index.ts";
import { getPipeline } from "../../surfaces/pipeline/wire.ts";
import { readArtifact } from "./folder-artifact.ts";
import type { ChampionsPort } from "./play.command.ts";
import { readFolder } from "./read-folder.ts";

/** Asked of the process that runs there, or read where nobody works. */
async function find(main: MainProcesses, configKey: string) {
  using process = await main.find();
  if (process === undefined) {
    const row = readFolder(main.dataDir, "state_rows", (read) => championOf({ read }, configKey));
    return row && { model: row.model, generation: row.generation - 1 };
  }
  const { configs } = await process.call(getPipeline);
  return configs.find(({ config_key }) => config_key === configKey)?.champion;
}

/** The champions of the data folder. */
export const championsOfFolder = (main: MainProcesses): ChampionsPort => ({
  async champion(configKey) {
    const champion = await find(main, configKey);
    if (champion == null) return undefined;
    const { model, generation } = champion;
    const bytes = await readArtifact(main.dataDir, model, `the file of champion ${generation}`);
    return { model, generation, bytes };
  },
});
