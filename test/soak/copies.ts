/** Schedules of copy, drop, crash, damage and return, as many as asked for; `npm test` runs three thousand of them. */
import { pathToFileURL } from "node:url";
import { COPY_BUGS, copiesWorld } from "../simulation/copies-world.ts";
import { RESCUE_BUGS, rescueWorld } from "../simulation/rescue-world.ts";

export const about = "random schedules of copies that come, go, break and return: never too few by our own deletion";

interface Result {
  readonly ok: boolean;
  readonly schedules: number;
  readonly broken: readonly string[];
  /** After how many schedules each planted mistake was found; null if it was not. */
  readonly found: Readonly<Record<string, number | null>>;
}

export const tiny = { schedules: 200 };

const MAX_TOLD = 20;
const BUG_SCHEDULES = 10_000;

export async function run({ schedules = 100_000 } = {}): Promise<Result> {
  const world = copiesWorld();
  try {
    const broken: string[] = [];
    for (let seed = 1; seed <= schedules && broken.length < MAX_TOLD; seed += 1) {
      const wrong = world.run(seed);
      if (wrong !== undefined) broken.push(`seed ${seed}: ${wrong}`);
    }
    const found: Record<string, number | null> = {};
    for (const bug of COPY_BUGS) {
      const other = copiesWorld();
      let seed = 1;
      while (seed <= BUG_SCHEDULES && other.run(seed, bug) === undefined) seed += 1;
      found[bug] = seed <= BUG_SCHEDULES ? seed : null;
      other.close();
    }
    const rescue = rescueWorld();
    for (let seed = 1; seed <= schedules / 20 && broken.length < MAX_TOLD; seed += 1) {
      const wrong = await rescue.run(seed);
      if (wrong !== undefined) broken.push(`rescue, seed ${seed}: ${wrong}`);
    }
    rescue.close();
    for (const bug of RESCUE_BUGS) {
      const other = rescueWorld();
      let seed = 1;
      while (seed <= BUG_SCHEDULES && (await other.run(seed, bug)) === undefined) seed += 1;
      found[bug] = seed <= BUG_SCHEDULES ? seed : null;
      other.close();
    }
    return { ok: broken.length === 0 && !Object.values(found).includes(null), schedules, broken, found };
  } finally {
    world.close();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) console.log(JSON.stringify(await run(), null, 2));
