/** Events of your own: declared as rows, typed like the built-in ones, refused when they are wrong. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
// In a program of your own: from "ringrift-coordination".
import { bootstrapCoordination, defineEvents, isOperatingError, readSettings } from "../src/index.ts";

const leagueEvents = defineEvents("league", {
  LEAGUE_MATCH_PLAYED: {
    about: "Two players of the league met.",
    class: "durable",
    orderKey: "league",
    dedup: ["match_id"],
    legacy: ["MATCH_DONE"],
    payload: {
      league: z.string(),
      match_id: z.string(),
      winner: z.string(),
      moves: z.int().min(1),
    },
  },
});

const dataDir = process.env.RINGRIFT_DATA_DIR ?? mkdtempSync(join(tmpdir(), "ringrift-"));
const coordination = await bootstrapCoordination({
  settings: readSettings(process.env, process.cwd(), { dataDir, port: 0, logLevel: "ERROR" }),
  events: leagueEvents,
});
const { router } = coordination;

// `payload` has the type that the row declares: `payload.winer` would not compile.
router.subscribe("LEAGUE_MATCH_PLAYED", ({ payload }) => {
  console.log(`${payload.winner} won in ${payload.moves} moves`);
});

const match = { league: "hex8_2p", match_id: "m-1", winner: "model-7", moves: 41 };
const first = await router.emit.LEAGUE_MATCH_PLAYED(match);
console.log(`stored as event ${first.seq}, in order within ${first.orderKey}`);

// The row says that a match is told once: within the window, a repeat is the same event.
const again = await router.publish("MATCH_DONE", match);
console.log(`the same match under its old name: suppressed by ${again.suppressed}, still ${again.eventType}`);

try {
  // @ts-expect-error the compiler already refuses a match without moves
  await router.emit.LEAGUE_MATCH_PLAYED({ ...match, match_id: "m-2", moves: "many" });
} catch (thrown) {
  if (!isOperatingError(thrown, "INVALID_PAYLOAD")) throw thrown;
  console.log(`and at run time: ${thrown.message}`);
}

await coordination.shutdown();
