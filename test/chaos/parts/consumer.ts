/** Consumes work from another process; its answer is committed together with its ack. Ends on SIGTERM. */
import { connect } from "../../../src/surfaces/index.ts";

const [dataDir = "", name = ""] = process.argv.slice(2);
const client = connect({ dataDir });
const subscription = client.subscribeUnchecked(
  { consumer: name, eventTypes: ["CHAOS_WORK"], start: "earliest" },
  (event, { emit }) => {
    emit("CHAOS_ECHO" as never, { of: event.eventId, by: name } as never);
  },
);
process.once("SIGTERM", () => void subscription.stop().then(() => client.close()));
process.stdout.write("ready\n");
await subscription.ended;
