/** What every provider must stand: each adapter's test opens a world of its own and runs this. */
import { describe, expect, test } from "vitest";
import { createIds, seededRandom, systemClock } from "../../kernel/index.ts";
import { isOurs, newFleetName, newLabel } from "./label.ts";
import type { NodeStart } from "./node-start.ts";
import type { Machine, MachineOffer, MachineOrder, MachineProvider } from "./provider.port.ts";
import { MACHINE_STATES } from "./provider.port.ts";
import { madeNothing } from "./provider-errors.ts";

/** An account that can be made to suffer. What is undefined cannot happen there. */
export interface ProviderWorld {
  readonly provider: MachineProvider;
  /** What machines are told; the world knows a coordinator that they can reach, or none that matters. */
  readonly start: Omit<NodeStart, "label">;
  /** Whether a machine is there, and paid for, seen past the provider's client. */
  exists(machineId: string): Promise<boolean>;
  /** Lets time go by until the condition holds: a machine takes its time to come and to go. */
  until(condition: () => Promise<boolean>): Promise<void>;
  /** Somebody else's machine in the same account; gives its id. */
  stranger?(): Promise<string>;
  /** The next create does its work, and is answered as if it had not. */
  failAfterEffect?(): void;
  /** The next create is answered with "there is none left". */
  sellOut?(): void;
  /** The key opens nothing from now on. */
  lockOut?(): void;
  /** A machine is in a state that no document knows. */
  confuse?(machineId: string): void;
  /** The next list breaks off after its first page. */
  breakList?(): void;
}

export interface ProviderContractOptions {
  /** Undefined where the machine lacks what it needs: said aloud by whoever opens it. */
  readonly open: () => Promise<ProviderWorld | undefined>;
}

const signal = new AbortController().signal;
const names = () => {
  const random = seededRandom(Math.floor(performance.now() * 1_000));
  const fleet = newFleetName(random);
  const ids = createIds(systemClock(), random);
  return { fleet, label: () => newLabel(fleet, ids) };
};

const cheapest = (offers: readonly MachineOffer[]): MachineOffer =>
  offers.toSorted((a, b) => a.price_usd_hour - b.price_usd_hour)[0]!;

const orderOf = async ({ provider, start }: ProviderWorld, label: string): Promise<MachineOrder> => {
  const offer = cheapest(await provider.offers(signal));
  return { label, offer, max_price_usd_hour: offer.price_usd_hour, start: { ...start, label } };
};

const called = (machines: readonly Machine[], label: string) => machines.filter((one) => one.label === label);

const isGone = async ({ provider, exists }: ProviderWorld, id: string): Promise<boolean> => {
  const left = (await provider.list(signal)).filter(({ machine_id, state }) => machine_id === id && state !== "gone");
  return left.length === 0 && !(await exists(id));
};

export function providerContract(name: string, { open }: ProviderContractOptions): void {
  const tryIt = (what: string, run: (world: ProviderWorld) => Promise<void>) =>
    test(what, async () => {
      const world = await open();
      if (world === undefined) return;
      try {
        await run(world);
      } finally {
        await world.provider.close?.();
      }
    });

  describe(`${name}: what every provider stands`, () => {
    tryIt("it offers what can be rented, with numbers that one can count with", async ({ provider }) => {
      const offers = await provider.offers(signal);
      expect(offers.length).toBeGreaterThan(0);
      expect(new Set(offers.map(({ offer_id, region }) => `${offer_id} ${region}`)).size).toBe(offers.length);
      for (const { price_usd_hour, cpus, gpus, memory_gb } of offers)
        for (const number of [price_usd_hour, cpus, gpus, memory_gb]) {
          expect(Number.isFinite(number)).toBe(true);
          expect(number).toBeGreaterThanOrEqual(0);
        }
    });

    tryIt("a machine bears its label from the first list on, once, and is gone once it was ended", async (world) => {
      const { provider, exists, until } = world;
      const { label, fleet } = names();
      const [first, second] = [label(), label()];
      const one = await provider.create(await orderOf(world, first), signal);
      expect(one).toMatchObject({ label: first });
      expect(isOurs(fleet, one.label)).toBe(true);
      const two = await provider.create(await orderOf(world, second), signal);
      expect(two.machine_id).not.toBe(one.machine_id);
      const listed = await provider.list(signal);
      for (const made of [one, two]) {
        expect(called(listed, made.label!).map(({ machine_id }) => machine_id)).toEqual([made.machine_id]);
        expect(called(listed, made.label!)[0]!.state).not.toBe("gone");
      }
      for (const { state } of listed) expect(MACHINE_STATES).toContain(state);
      expect(await exists(one.machine_id)).toBe(true);
      await provider.terminate(one.machine_id, signal);
      await until(() => isGone(world, one.machine_id));
      expect(called(await provider.list(signal), second), "the other one stays").toHaveLength(1);
      await provider.terminate(two.machine_id, signal);
      await until(() => isGone(world, two.machine_id));
    });

    tryIt("to end a machine twice is to end it once, and one that was never there is no error", async (world) => {
      const { provider, until } = world;
      const { machine_id } = await provider.create(await orderOf(world, names().label()), signal);
      await provider.terminate(machine_id, signal);
      await provider.terminate(machine_id, signal);
      await until(() => isGone(world, machine_id));
      await provider.terminate(machine_id, signal);
    });

    tryIt("machines of others are listed as what they are, and stay", async (world) => {
      const { provider, stranger, exists, until } = world;
      if (stranger === undefined) return;
      const strange = await stranger();
      const { label, fleet } = names();
      const { machine_id } = await provider.create(await orderOf(world, label()), signal);
      const other = (await provider.list(signal)).find((one) => one.machine_id === strange);
      expect(other).toBeDefined();
      expect(isOurs(fleet, other!.label)).toBe(false);
      await provider.terminate(machine_id, signal);
      await until(() => isGone(world, machine_id));
      expect(await exists(strange)).toBe(true);
    });

    tryIt(
      "a create that failed after its effect does not say that nothing was made, and is found by label",
      async (w) => {
        const { provider, failAfterEffect, until } = w;
        if (failAfterEffect === undefined) return;
        const order = await orderOf(w, names().label());
        failAfterEffect();
        const failed = await provider.create(order, signal).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        expect(failed).toMatchObject({ name: "OperatingError" });
        expect(madeNothing(failed)).toBe(false);
        const [left] = called(await provider.list(signal), order.label);
        expect(left).toBeDefined();
        await provider.terminate(left!.machine_id, signal);
        await until(() => isGone(w, left!.machine_id));
      },
    );

    tryIt("what is sold out made nothing, and says so", async (world) => {
      const { provider, sellOut } = world;
      if (sellOut === undefined) return;
      const order = await orderOf(world, names().label());
      sellOut();
      const failed = await provider.create(order, signal).catch((thrown: unknown) => thrown);
      expect(failed).toMatchObject({ code: "PROVIDER_SOLD_OUT", retryable: true });
      expect(madeNothing(failed)).toBe(true);
      expect(called(await provider.list(signal), order.label)).toEqual([]);
    });

    tryIt("above the price of the order nothing is rented", async (world) => {
      const { provider } = world;
      const order = await orderOf(world, names().label());
      if (order.offer.price_usd_hour === 0) return;
      const dear = { ...order, max_price_usd_hour: order.offer.price_usd_hour / 2 };
      const failed = await provider.create(dear, signal).catch((thrown: unknown) => thrown);
      expect(madeNothing(failed)).toBe(true);
      expect(called(await provider.list(signal), order.label)).toEqual([]);
    });

    tryIt("a key that opens nothing is told as such, and never as an empty account", async (world) => {
      const { provider, lockOut } = world;
      if (lockOut === undefined) return;
      lockOut();
      const asks = [
        () => provider.list(signal),
        () => provider.offers(signal),
        () => provider.terminate("12345", signal),
      ];
      for (const ask of asks) await expect(ask()).rejects.toMatchObject({ code: "PROVIDER_DENIED" });
    });

    tryIt("a state that no document knows is unknown, and not gone", async (world) => {
      const { provider, confuse } = world;
      if (confuse === undefined) return;
      const { machine_id, label } = await provider.create(await orderOf(world, names().label()), signal);
      confuse(machine_id);
      expect(called(await provider.list(signal), label!)[0]).toMatchObject({ machine_id, state: "unknown" });
    });

    tryIt("a list that breaks off is an error and not a shorter list", async (world) => {
      const { provider, breakList } = world;
      if (breakList === undefined) return;
      breakList();
      await expect(provider.list(signal)).rejects.toMatchObject({ name: "OperatingError" });
      await provider.list(signal);
    });

    tryIt("whoever has given up is not kept waiting", async ({ provider }) => {
      const over = AbortSignal.abort(new Error("given up"));
      await expect(provider.list(over)).rejects.toThrow();
    });
  });
}
