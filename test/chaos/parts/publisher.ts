/** Publishes work without pause and prints each event id once it is acknowledged. Ends on SIGTERM. */
import { connect } from "../../../src/surfaces/index.ts";

const [dataDir = "", name = ""] = process.argv.slice(2);
const client = connect({ dataDir, source: name });
let going = true;
process.once("SIGTERM", () => {
  going = false;
});
process.stdout.write("ready\n");
for (let n = 0; going; n += 8) {
  const batch = Array.from({ length: 8 }, (_, i) =>
    client.publishUnchecked("CHAOS_WORK", { key: `k${(n + i) % 5}`, n: n + i }),
  );
  for (const receipt of await Promise.all(batch)) process.stdout.write(`acked ${receipt.event_id}\n`);
}
await client.close();
process.stdout.write("ended\n");
