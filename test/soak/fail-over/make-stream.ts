/** Makes the stream of a cluster, on the host where it runs, as soon as the servers let it. */
import { createStream } from "../../../src/adapters/nats/connection.ts";
import type { MemberOptions } from "../../e2e/parts/replica-member.ts";
import { until } from "../../support/patience.ts";

const { log } = JSON.parse(process.argv[2]!) as Pick<MemberOptions, "log">;
const isMade = () =>
  createStream(log).then(
    () => true,
    // One that did not answer in time may have made it.
    (thrown: { code?: string }) => thrown.code === "LOG_EXISTS",
  );
await until(isMade, () => "no stream could be made");
process.stdout.write("made\n");
