/** A handler that fails on one event: its tries, its dead letter, the repair, the retry. Nobody else is held up. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
// In a program of your own: from "ringrift-coordination".
import { bootstrapCoordination, readSettings } from "../src/index.ts";

const dataDir = process.env.RINGRIFT_DATA_DIR ?? mkdtempSync(join(tmpdir(), "ringrift-"));
const coordination = await bootstrapCoordination({
  // Shorter waits between the tries than the 1 to 60 seconds that are usual, so that the example ends soon.
  settings: readSettings(process.env, process.cwd(), {
    dataDir,
    port: 0,
    logLevel: "ERROR",
    router: { retryFirstMs: 10, retryMostMs: 40 },
  }),
});
const { router } = coordination;
const { deadLetters } = router;

let broken = true;
await router.consume({
  consumer: "exporter",
  version: "1.4.0",
  handlers: {
    NEW_GAMES_AVAILABLE: ({ payload }, { attempt }) => {
      if (broken && payload.config_key === "hex8_2p") throw new Error(`cannot read the segment, try ${attempt}`);
      console.log(`exporter: ${payload.config_key} done`);
    },
  },
});
await router.consume({
  consumer: "counter",
  handlers: { NEW_GAMES_AVAILABLE: ({ payload }) => console.log(`counter: ${payload.config_key} done`) },
});

const event = await router.emit.NEW_GAMES_AVAILABLE({ config_key: "hex8_2p", new_games: 5, total_games: 5 });
await router.emit.NEW_GAMES_AVAILABLE({ config_key: "square8_2p", new_games: 5, total_games: 5 });
await router.settled(event);

for (const letter of deadLetters.getPendingEvents())
  console.log(
    `dead letter ${letter.id}: ${letter.event_type} at ${letter.consumer} ${letter.handler_version}, ` +
      `${letter.attempts} tries, "${letter.error.split("\n")[0]}"`,
  );
for (const group of await deadLetters.getErrorSummary())
  console.log(`cause ${group.fingerprint}: ${group.letters} letter of ${group.consumer}`);

// The code is mended; the letter goes back to the consumer that failed, and to nobody else.
broken = false;
const would = await deadLetters.retryAll({ dryRun: true });
console.log(`a retry would send back ${would.length}`);
await deadLetters.retryAll({ actor: "example" });
await router.settled(event);
console.log(`now: ${JSON.stringify(deadLetters.counts())}`);

await coordination.shutdown();
