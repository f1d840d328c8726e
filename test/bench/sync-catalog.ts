/** A catalog of a million segments: what a node lacks, how things are, and what that takes of memory. In a process of its own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { CatalogLooks, CatalogMeasured } from "./support/catalog-process.ts";
import { inFolder } from "./support/folder.ts";
import { atMost } from "./support/measure.ts";
import type { Section } from "./support/table.ts";

export const largeCatalog = (wanted: Omit<CatalogLooks, "folder">): Promise<Section> =>
  inFolder(async (folder) => {
    const program = fileURLToPath(new URL("./support/catalog-process.ts", import.meta.url));
    const args = [program, JSON.stringify({ folder, ...wanted } satisfies CatalogLooks)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout });
    const exit = once(child, "exit");
    const said = await Promise.race([once(lines, "line"), exit.then(() => undefined)]);
    await exit;
    if (said === undefined) throw new Error("the process of the catalog ended without a word");
    const found = JSON.parse(said[0] as string) as CatalogMeasured;
    if (found.lacking !== wanted.lacking)
      throw new Error(`${found.lacking} segments lack copies, not ${wanted.lacking}`);
    return {
      title: `a catalog of ${wanted.artifacts.toLocaleString("en-US")} segments`,
      measured: [],
      goals: [
        atMost("seconds to find all that lack a copy", found.differenceMs / 1_000, 2),
        atMost("milliseconds of 'ringrift sync' and of 'sync status'", found.statusMs, 50),
        atMost("megabytes of memory", found.memoryBytes / 1e6, 500),
        atMost("megabytes that it grows in as many rounds again", found.growthBytes / 1e6, 20),
      ],
      notes: {
        "seconds to plan a sync of the newest files": found.explainMs / 1_000,
        "seconds to count how safe everything is": found.overviewMs / 1_000,
        "milliseconds that the main loop stood still at most": found.blockedMs,
      },
    };
  });
