/** Consumes one event by any of its spellings and says when it has had so many different ones. */
import { connect } from "../../../src/surfaces/index.ts";

const [dataDir = "", consumer = "", spelling = "", start = "now", wanted = "0"] = process.argv.slice(2);
const client = connect({ dataDir });
const seen = new Set<string>();
const lastOf = new Map<string, number>();
let outOfOrder = 0;
const subscription = client.subscribeUnchecked(
  { consumer, eventTypes: [spelling], start: start as "now" | "earliest", credit: 1_000 },
  (event) => {
    seen.add(event.eventId);
    const key = event.orderKey ?? "";
    if ((lastOf.get(key) ?? 0) > event.seq!) outOfOrder += 1;
    lastOf.set(key, event.seq!);
    if (seen.size === Number(wanted))
      process.stdout.write(`got ${seen.size} as ${event.eventType}, ${outOfOrder} out of order\n`);
  },
);
process.once("SIGTERM", () => void subscription.stop().then(() => client.close()));
process.stdout.write("ready\n");
