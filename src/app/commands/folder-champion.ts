import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { OperatingError } from "../../kernel/index.ts";
import { championOf, type LoopSnapshot } from "../../pipeline/index.ts";
import type { ChampionsPort, MainProcesses } from "../../surfaces/cli/index.ts";
import { readFolder } from "./read-folder.ts";

interface Named {
  readonly model: string;
  readonly generation: number;
}

/** Of a folder that nobody works in. */
function fromFolder(dataDir: string, configKey: string): Named | undefined {
  const champion = readFolder(dataDir, (read) => championOf({ read }, configKey));
  return champion === undefined ? undefined : { model: champion.model, generation: champion.generation - 1 };
}

async function fromProcess(main: MainProcesses, configKey: string): Promise<Named | undefined | null> {
  const process = await main.find();
  if (process === undefined) return null;
  try {
    const { configs } = await process.get<LoopSnapshot>("/v1/loop");
    return configs.find(({ config_key }) => config_key === configKey)?.champion ?? undefined;
  } finally {
    process.close();
  }
}

/** The champions of the data folder, asked of the process that runs there, or read where none does. */
export const championsOfFolder = (main: MainProcesses): ChampionsPort => ({
  async champion(configKey) {
    const asked = await fromProcess(main, configKey);
    const champion = asked === null ? fromFolder(main.dataDir, configKey) : asked;
    if (champion === undefined) return undefined;
    const { model, generation } = champion;
    const bytes = await readFile(join(main.dataDir, "artifacts", model.slice(0, 2), model));
    if (hash("sha256", bytes, "hex") !== model)
      throw new OperatingError("MODEL_CORRUPTED", `the file of champion ${generation} is damaged`, {
        hint: "'ringrift why' and 'ringrift alerts' tell what is done about it.",
      });
    return { model, generation, bytes };
  },
});
