/** One process: publish events, hear them at once, and hear them as a durable consumer. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
// In a program of your own: from "ringrift-coordination".
import { bootstrapCoordination, DataEventType, readSettings } from "../src/index.ts";

const dataDir = process.env.RINGRIFT_DATA_DIR ?? mkdtempSync(join(tmpdir(), "ringrift-"));
const coordination = await bootstrapCoordination({
  settings: readSettings(process.env, process.cwd(), { dataDir, port: 0, logLevel: "WARN" }),
});
const { router } = coordination;

// Without a name a subscriber hears what happens while it listens, and is owed nothing. The payload has the event's type.
router.subscribe("NEW_GAMES_AVAILABLE", ({ payload }) => {
  console.log(`listener: ${payload.new_games} new games of ${payload.config_key}`);
});

// Under a name it gets every event at least once, also those that were published while it was away.
await router.consume({
  consumer: "exporter",
  handlers: {
    NEW_GAMES_AVAILABLE: (event, { emit }) => {
      console.log(`exporter: handles event ${event.seq} of key ${event.orderKey}`);
      // What a handler says is committed together with its acknowledgement, or not at all.
      const { config_key, total_games } = event.payload;
      emit("NPZ_EXPORT_STARTED", { config_key, job_id: `export-${event.seq}`, games: total_games });
    },
  },
});

// A typed emitter, the name as a constant, and the value on the wire: three ways to say one event.
const first = await router.emit.NEW_GAMES_AVAILABLE({ config_key: "hex8_2p", new_games: 500, total_games: 500 });
await router.publish("NEW_GAMES_AVAILABLE", { config_key: "square8_2p", new_games: 80, total_games: 80 });
const last = await router.publish(DataEventType.NEW_GAMES_AVAILABLE, {
  config_key: "hex8_2p",
  new_games: 250,
  total_games: 750,
});

// `publish` never waits for handlers; `settled` does, for programs that want to know.
for (const event of router.history({ eventType: "NEW_GAMES_AVAILABLE" })) await router.settled(event);
const exports = router.history({ eventType: "NPZ_EXPORT_STARTED", fromJournal: true });
console.log(`events ${first.seq} to ${last.seq} are done, and ${exports.length} exports follow from them`);

await coordination.shutdown();
