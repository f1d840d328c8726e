import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { OperatingError } from "../../kernel/index.ts";
import { championOf } from "../../pipeline/index.ts";
import type { MainProcesses } from "../../surfaces/commands/index.ts";
import { getPipeline } from "../../surfaces/pipeline/wire.ts";
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
    const bytes = await readFile(join(main.dataDir, "artifacts", model.slice(0, 2), model));
    if (hash("sha256", bytes, "hex") !== model)
      throw OperatingError.conflict("MODEL_CORRUPTED", `the file of champion ${generation} is damaged`, {
        hint: "'ringrift why' and 'ringrift alerts' tell what is done about it.",
      });
    return { model, generation, bytes };
  },
});
