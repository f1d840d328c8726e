import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { translateFault } from "../../adapters/sqlite/faults.ts";
import { OperatingError } from "../../kernel/index.ts";
import { championOf, type LoopSnapshot } from "../../pipeline/index.ts";
import type { SqlValue } from "../../router/index.ts";
import type { ChampionsPort, MainProcesses } from "../../surfaces/cli/index.ts";

interface Named {
  readonly model: string;
  readonly generation: number;
}

/** Of a folder that nobody works in. */
function fromFolder(dataDir: string, configKey: string): Named | undefined {
  const path = join(dataDir, "coordination.db");
  if (!existsSync(path)) return undefined;
  let db: DatabaseSync | undefined;
  try {
    const open = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    db = open;
    const known = open.prepare("SELECT name FROM sqlite_schema WHERE name = 'state_rows'").all();
    if (known.length === 0) return undefined;
    const read = <T>(sql: string, ...params: SqlValue[]) => open.prepare(sql).all(...params) as T[];
    const champion = championOf({ read }, configKey);
    return champion === undefined ? undefined : { model: champion.model, generation: champion.generation - 1 };
  } catch (thrown) {
    throw translateFault(thrown);
  } finally {
    db?.close();
  }
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
