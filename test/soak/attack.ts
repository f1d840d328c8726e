/**
 * Everything that was tried from outside, with time and with the disk, again and at full size, against one real main process:
 * what was tried, how often, what was lost of what was acknowledged, and the worst wait of an honest caller meanwhile.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { assert, messageOf } from "../../src/kernel/index.ts";
import { owned } from "../support/process.ts";
import { startAttacked } from "./attack/attacked-main.ts";
import { fromOutside } from "./attack/from-outside.ts";
import { byGreedyWorkers } from "./attack/greedy-workers.ts";
import { honestCaller } from "./attack/honest-caller.ts";
import { ofTimeAndDisk } from "./attack/time-and-disk.ts";

export interface AttackOptions {
  /** Of the full number of tries. */
  readonly share?: number;
  /** Only attacks whose name contains this. */
  readonly only?: string;
  /** Numbers without a verdict. */
  readonly only_measure?: boolean;
}
export const tiny: AttackOptions = { share: 0.02, only_measure: true };

interface Row {
  readonly tried: string;
  readonly times: number;
  readonly worst_ms: number;
  readonly published: number;
  readonly harm: string | null;
}

const storedIds = (dataDir: string): ReadonlySet<string> => {
  const db = new DatabaseSync(join(dataDir, "coordination.db"), { readOnly: true });
  try {
    const rows = db.prepare("SELECT event_id FROM events").all() as { event_id: string }[];
    return new Set(rows.map(({ event_id }) => event_id));
  } finally {
    db.close();
  }
};

export async function run({ share = 1, only = "", only_measure = false }: AttackOptions = {}) {
  const undo: (() => void)[] = [];
  await using own = owned();
  try {
    const attacked = await startAttacked(own, (end) => undo.push(end));
    const caller = honestCaller(attacked, await attacked.tokenFor("honest"));
    const rows: Row[] = [];
    const all = [...fromOutside, ...byGreedyWorkers, ...ofTimeAndDisk];
    for (const attack of all.filter(({ what }) => what.includes(only))) {
      const times = Math.max(1, Math.round(attack.times * share));
      let harm: string | null = null;
      const { worstMs, published } = await caller.during(() =>
        attack.run(attacked, times).catch((thrown: unknown) => {
          harm = messageOf(thrown);
        }),
      );
      rows.push({ tried: attack.what, times, worst_ms: Math.round(worstMs), published, harm });
    }
    await attacked.main().stop();
    const stored = storedIds(attacked.dataDir);
    const lost = caller.acked().filter((id) => !stored.has(id)).length;
    console.table(rows);
    console.log(`acknowledged to the honest caller: ${caller.acked().length}, lost of them: ${lost}`);
    assert(lost === 0, `${lost} acknowledged events are lost`);
    const harmed = rows.filter(({ harm }) => harm !== null);
    const said = harmed.map(({ tried, harm }) => `${tried}: ${harm}`).join("\n");
    assert(only_measure || harmed.length === 0, said);
    return { acknowledged: caller.acked().length, lost, attacks: rows };
  } finally {
    await own.end();
    for (const end of undo) end();
  }
}
