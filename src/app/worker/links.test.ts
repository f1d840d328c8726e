import { createServer } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { driver } from "../../../test/support/virtual-time.ts";
import { virtualClock } from "../../kernel/index.ts";
import { createLinks, linkLimits, tcpProbe } from "./links.ts";

/** A node with addresses that answer after so long, or never. */
function world(answers: Record<string, number | null>) {
  const clock = virtualClock();
  const probed: string[] = [];
  const links = createLinks(clock, ({ host }, timeoutMs) => {
    probed.push(host);
    const ms = answers[host];
    return new Promise((resolve) => void clock.after(ms ?? timeoutMs, () => resolve(ms != null)));
  });
  const driven = driver(clock);
  const best = () => driven(links.best("n1", Object.keys(answers), 9_000));
  const pass = (ms: number) => driven(new Promise<void>((resolve) => void clock.after(ms, resolve)));
  return { answers, probed, links, best, pass };
}

test("the first address that answers is used, and all are probed again after a while", async () => {
  const w = world({ lan: null, vpn: 20 });
  expect(await w.best()).toBe("vpn");
  expect(w.links.told()).toEqual({ links: [{ node_id: "n1", host: "vpn", of: 2 }] });
  expect(await w.best()).toBe("vpn");
  expect(w.probed).toEqual(["lan", "vpn"]);
  w.answers.lan = 5;
  await w.pass(linkLimits.freshMs);
  expect(await w.best()).toBe("lan");
});

test("of two that answer about as soon, the one that was named first is used; a much slower one is not", async () => {
  expect(await world({ lan: 40, vpn: 10 }).best()).toBe("lan");
  expect(await world({ lan: 500, vpn: 10 }).best()).toBe("vpn");
});

test("after a failure all are probed before the next time, and none that answers is none", async () => {
  const w = world({ lan: 5, vpn: 5 });
  expect(await w.best()).toBe("lan");
  w.answers.lan = null;
  w.links.doubt("n1");
  expect(await w.best()).toBe("vpn");
  w.answers.vpn = null;
  w.links.doubt("n1");
  expect(await w.best()).toBeUndefined();
  expect(w.links.told()).toEqual({ links: [{ node_id: "n1", host: "", of: 2 }] });
});

test("an address answers where somebody listens", async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await vi.waitFor(() => expect(server.listening).toBe(true));
  const { port } = server.address() as { port: number };
  expect(await tcpProbe({ host: "127.0.0.1", port }, 1_000)).toBe(true);
  // Of the same machine, and nobody listens there.
  expect(await tcpProbe({ host: "127.0.0.2", port }, 1_000)).toBe(false);
});
