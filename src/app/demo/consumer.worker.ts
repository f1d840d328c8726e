/** A process of the demo that consumes: `data_pipeline` answers each batch with an event of its own, `scoreboard` counts. */
import { type Clock, systemClock } from "../../kernel/index.ts";
import { type ClientHandler, connect } from "../../surfaces/index.ts";
import { CAUSE, EFFECT, isDamaged, type WorkerOptions } from "./messages.ts";
import { openWorkerLink } from "./worker-link.ts";

const TELL_EVERY_MS = 100;

const options = JSON.parse(process.argv[2]!) as WorkerOptions;
const link = openWorkerLink(process);
const client = connect({ dataDir: options.dataDir, source: options.role });
const repaired = new Set<string>();
const seen = new Map<string, Set<string>>();
let count = 0;

/** Counts what it was handed, and remembers each id: a repeat is no new event. */
const note = (eventType: string, eventId: string) => {
  count += 1;
  const ids = seen.get(eventType) ?? new Set();
  seen.set(eventType, ids.add(eventId));
};

const handlers: Readonly<Record<string, ClientHandler>> = {
  // What it says is committed together with its ack: killed in between, it says it again, and it counts once.
  data_pipeline(event, { emit }) {
    note(event.eventType, event.eventId);
    const { config_key, games, artifact_hash, node_id } = event.payload;
    emit(EFFECT, { config_key, new_games: games, total_games: games, artifact_hash, node_id });
  },
  scoreboard(event) {
    if (isDamaged(event.payload.task_id) && !repaired.has(event.eventId))
      throw new Error(`segment of ${event.payload.task_id} is damaged: checksum does not match`);
    note(event.eventType, event.eventId);
  },
};

const subscription = client.subscribe(
  {
    consumer: options.role,
    eventTypes: options.role === "scoreboard" ? [CAUSE, EFFECT] : [CAUSE],
    start: "now",
    version: "demo",
  },
  handlers[options.role]!,
);

const tellAgain = (clock: Clock) => {
  void link.tell({ type: "count", count });
  clock.after(TELL_EVERY_MS, () => tellAgain(clock));
};
tellAgain(systemClock());

link.onMessage(async (message) => {
  if (message.type === "repair") repaired.add(message.eventId);
  else {
    await subscription.stop();
    await client.close();
    const byType = Object.fromEntries([...seen].map(([type, ids]) => [type, ids.size]));
    await link.tell({ type: "done", count, byType });
    process.disconnect();
  }
});
