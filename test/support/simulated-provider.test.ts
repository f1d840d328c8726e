import { type ProviderWorld, providerContract } from "../../src/cluster/fleet/provider.contract.ts";
import { seededRandom, virtualClock } from "../../src/kernel/index.ts";
import { simulatedAccount, simulatedOffer } from "./simulated-provider.ts";
import { driver } from "./virtual-time.ts";

const start: ProviderWorld["start"] = {
  url: "https://coordinator:8770",
  fingerprint: null,
  token: "rrt_0",
  tags: ["rented"],
  deadManMs: 3_600_000,
  program: { install: "ringrift-coordination" },
};

/** Virtual time runs while somebody waits for an answer. */
function open(): ProviderWorld {
  const clock = virtualClock();
  const driven = driver(clock);
  const account = simulatedAccount({
    clock,
    random: seededRandom(7),
    offers: [simulatedOffer("small", 0.1), simulatedOffer("large", 2, 32, 1)],
  });
  const { provider, machines, isThere } = account;
  return {
    provider: {
      ...provider,
      offers: (signal) => driven(provider.offers(signal)),
      list: (signal) => driven(provider.list(signal)),
      create: (order, signal) => driven(provider.create(order, signal)),
      terminate: (id, signal) => driven(provider.terminate(id, signal)),
    },
    start,
    exists: async (id) => isThere(machines.get(id)!),
    async until(condition) {
      while (!(await condition())) await driven(new Promise<void>((resolve) => void clock.after(100, resolve)));
    },
    stranger: async () => account.stranger("web-1").id,
    failAfterEffect: () => Object.assign(account.next, { failAfterEffect: true }),
    sellOut: () => Object.assign(account.next, { sellOut: true }),
    lockOut: () => Object.assign(account.next, { lockedOut: true }),
    breakList: () => Object.assign(account.next, { breakList: true }),
    confuse: (id) => Object.assign(machines.get(id)!, { state: "MIGRATING" }),
  };
}

providerContract("the simulated account", { open: async () => open() });
