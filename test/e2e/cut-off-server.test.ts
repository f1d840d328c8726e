/**
 * What a server says that was cut off while it led the stream: an old number for the last entry, and it takes no entry. So nobody may
 * conclude from one answer that entries are gone, or that there are no more.
 */
import { expect, onTestFinished, test } from "vitest";
import { hostsOnABridge, startedOn } from "../support/hosts.ts";
import { findNatsServer, natsServers } from "../support/nats-servers.ts";
import { until } from "../support/patience.ts";
import { owned, type Started } from "../support/process.ts";

const PART = new URL("./parts/log-end.ts", import.meta.url);
const MAKER = new URL("../soak/fail-over/make-stream.ts", import.meta.url);

const lastSaid = ({ lines }: Started): number =>
  Number(lines.findLast((line) => line.startsWith("last "))?.split(" ")[1] ?? -1);

test("a stream leader that is cut off says an old last entry and takes none; whole again, it has what the others acknowledged", async ({
  skip,
}) => {
  const program = findNatsServer();
  const own = owned(onTestFinished);
  const hosts = hostsOnABridge(`rc${process.pid % 1_000}`, 3, onTestFinished);
  if (program === undefined || hosts === undefined) return skip();
  const servers = await natsServers(own, program, hosts);
  const logAt = (...places: readonly number[]) => ({
    servers: places.map((i) => servers[i]!.url),
    monitors: [servers[places[0]!]!.monitor],
    ...{ stream: "games", replicas: 3, answerMs: 1_000 },
  });
  const startOn = (i: number, file: URL, options: object) =>
    own.startNode(file, [JSON.stringify(options)], startedOn(hosts[i]!, process.execPath));
  await startOn(0, MAKER, { log: logAt(0, 1, 2) }).waitForLine(/^made$/);
  const scout = startOn(0, PART, { name: "scout", log: logAt(0, 1, 2) });
  const led = (await scout.waitForLine(/^leader (n[123])$/)).match[1]!;
  const at = servers.findIndex(({ name }) => name === led);
  const [one, other] = [0, 1, 2].filter((i) => i !== at) as [number, number];
  // Each speaks to the servers of its own side.
  const inside = startOn(at, PART, { name: "inside", log: logAt(at) });
  const outside = startOn(one, PART, { name: "outside", log: logAt(one, other) });
  for (const each of [inside, outside]) await each.waitForLine(/^leader /);
  outside.write("0 20\n");
  await outside.waitForLine(/^appended 20$/);
  await until(
    () => lastSaid(inside) === 20,
    () => `the server that leads says ${lastSaid(inside)}`,
  );
  hosts[at]!.cut("both");
  inside.write("20 21\n");
  outside.write("20 60\n");
  const { index } = await outside.waitForLine(/^appended 60$/);
  expect(lastSaid(inside)).toBe(20);
  hosts[at]!.heal();
  await until(
    () => lastSaid(inside) === 60 && lastSaid(outside) === 60,
    () => `after the cut they say ${lastSaid(inside)} and ${lastSaid(outside)}`,
  );
  // What it was sent while it was cut off is not in the log, and never will be.
  await inside.waitForLine(/^refused 20$/);
  expect(outside.lines.slice(index).some((line) => line.startsWith("refused"))).toBe(false);
});
