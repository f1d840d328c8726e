/** A relay in a process of its own: it says where it listens, and ends with its parent. */
import { createPublicKey } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createRelayServer } from "../../../src/adapters/transports/relay/relay-server.ts";
import { systemClock } from "../../../src/kernel/index.ts";
import { createBudget } from "../../../src/sync/transfer/index.ts";

const [host = "", coordinator = ""] = process.argv.slice(2);
const clock = systemClock();
const server = createRelayServer({
  key: createPublicKey(coordinator),
  isKnown: () => true,
  clock,
  budget: createBudget({ bytesPerSecond: Number.POSITIVE_INFINITY, clock }),
  onRefused: ({ code, message }) => process.stderr.write(`${code} ${message}\n`),
});
server.listen(0, host);
await once(server, "listening");
process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`);
process.stdin.once("end", () => process.exit(0));
process.stdin.resume();
