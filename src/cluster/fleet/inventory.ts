/** What providers showed when they were asked last. In memory: after a start nothing is known until they were asked anew. */
import { type Clock, defined, isOperatingError, type Log, messageOf, OperatingError } from "../../kernel/index.ts";
import { askWithin } from "./ask.ts";
import type { Listing } from "./decide.ts";
import { askLimits } from "./limits.ts";
import type { MachineOffer, MachineProvider } from "./provider.port.ts";

/** Why a provider could not be asked. */
export interface Trouble {
  readonly code: string;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

interface Seen {
  listing: Listing | undefined;
  trouble: Trouble | undefined;
  offers: { readonly at: number; readonly all: readonly MachineOffer[] } | undefined;
}

export type Priced = MachineOffer & {
  readonly provider: string;
  /** Why its provider only shows it; undefined where one can rent it. */
  readonly not_rented?: string | undefined;
};

export function createInventory(providers: readonly MachineProvider[], clock: Clock, log: Log) {
  const byName = new Map(providers.map((provider) => [provider.name, provider]));
  const seen = new Map<string, Seen>(
    providers.map(({ name }) => [name, { listing: undefined, trouble: undefined, offers: undefined }]),
  );
  let isHurried = false;
  const noted = (name: string, thrown: unknown) => {
    const { trouble } = seen.get(name)!;
    const code = isOperatingError(thrown) ? thrown.code : "PROVIDER_FAILED";
    const message = messageOf(thrown);
    if (trouble?.code !== code) log.warn(`${name} cannot be asked`, { code, error: message });
    seen.get(name)!.trouble = { code, message, since: trouble?.code === code ? trouble.since : clock.now() };
  };
  const ask = <T>(provider: MachineProvider, what: string, signal: AbortSignal, run: (s: AbortSignal) => Promise<T>) =>
    askWithin({ clock, ms: askLimits.answerMs, signal, who: provider.name, what }, run);

  const list = async (provider: MachineProvider, signal: AbortSignal): Promise<void> => {
    const askedAt = clock.now();
    try {
      const machines = await ask(provider, "list", signal, (within) => provider.list(within));
      Object.assign(seen.get(provider.name)!, { listing: { askedAt, machines }, trouble: undefined });
    } catch (thrown) {
      signal.throwIfAborted();
      noted(provider.name, thrown);
    }
  };

  const offersOf = async (provider: MachineProvider, signal: AbortSignal): Promise<readonly Priced[]> => {
    const of = seen.get(provider.name)!;
    if (of.offers === undefined || clock.now() - of.offers.at >= askLimits.offersMs) {
      const at = clock.now();
      try {
        const all = await ask(provider, "offers", signal, (within) => provider.offers(within));
        of.offers = { at, all };
      } catch (thrown) {
        signal.throwIfAborted();
        noted(provider.name, thrown);
        return [];
      }
    }
    const { name, notRented: not_rented } = provider;
    return of.offers!.all.map((offer) => ({ ...offer, provider: name, ...defined({ not_rented }) }));
  };

  return {
    /** Something happened after which providers should be asked soon. */
    hurry(): void {
      isHurried = true;
    },
    get isHurried(): boolean {
      return isHurried;
    },
    names: () => [...byName.keys()],
    provider(name: string): MachineProvider {
      const found = byName.get(name);
      if (found === undefined)
        throw OperatingError.notFound("PROVIDER_NOT_FOUND", `there is no provider '${name}'`, {
          hint: `Known here: ${[...byName.keys()].join(", ") || "none; set a key first (docs/45-fleet.md)"}.`,
        });
      return found;
    },
    has: (name: string) => byName.has(name),
    /** Asks all of them at once; one that fails holds up no other, and what it said before stays. */
    async look(signal: AbortSignal): Promise<void> {
      isHurried = false;
      await Promise.all(providers.map((provider) => list(provider, signal)));
    },
    listing: (name: string): Listing | undefined => seen.get(name)?.listing,
    trouble: (name: string): Trouble | undefined => seen.get(name)?.trouble,
    /** What can be rented now; what a provider said a moment ago counts. */
    async offers(signal: AbortSignal): Promise<Priced[]> {
      return (await Promise.all(providers.map((provider) => offersOf(provider, signal)))).flat();
    },
    /** What was offered has changed, as somebody has just been told. */
    forgetOffers(name: string): void {
      const of = seen.get(name);
      if (of !== undefined) of.offers = undefined;
    },
    ask,
    async close(): Promise<void> {
      for (const provider of providers) await provider.close?.();
    },
  };
}

export type Inventory = ReturnType<typeof createInventory>;
