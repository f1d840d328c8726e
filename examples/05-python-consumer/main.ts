/** The system that the Python example talks to: publishes two events, prints its data folder, runs until SIGTERM. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bootstrapCoordination, readSettings } from "../../src/index.ts";

const dataDir = process.env.RINGRIFT_DATA_DIR ?? mkdtempSync(join(tmpdir(), "ringrift-"));
const coordination = await bootstrapCoordination({
  settings: readSettings(process.env, process.cwd(), {
    dataDir,
    port: 0,
    logLevel: "ERROR",
    router: { retryFirstMs: 50, retryMostMs: 200 },
  }),
});
for (const total_games of [100, 200])
  await coordination.router.publish(
    "NEW_GAMES_AVAILABLE",
    { config_key: "hex8_2p", new_games: 100, total_games },
    { source: "selfplay" },
  );
process.once("SIGTERM", () => void coordination.shutdown());
console.log(dataDir);
