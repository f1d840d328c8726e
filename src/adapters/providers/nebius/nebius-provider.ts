/**
 * Nebius: what it offers, for how much, and which machines there are. Nothing is rented there (decision 42): a machine would be a disk and
 * an instance, and a disk that is left behind bills on. Fields as in github.com/nebius/api.
 */
import {
  type Machine,
  type MachineOffer,
  type MachineProvider,
  type MachineState,
  providerErrors,
} from "../../../cluster/fleet/index.ts";
import { createPace, createQuoting, type ProviderAccount } from "../provider-http.ts";
import { callGrpc, type GrpcAnswer } from "./grpc.ts";
import { nebiusToken } from "./nebius-token.ts";
import { type Decoded, decode, encode, isMessageBroken } from "./protobuf.ts";

export interface NebiusOptions extends Omit<ProviderAccount, "url"> {
  /** Where each of its services is: they have hosts of their own. */
  readonly hosts: NebiusHosts;
  /** The project whose machines are listed; its region is that of the offers. */
  readonly project: string;
}

export interface NebiusHosts {
  readonly compute: string;
  readonly prices: string;
  readonly tokens: string;
}

/** The hosts of its services, from the address that they share. */
export function nebiusHosts(url: string): NebiusHosts {
  const at = (service: string) => {
    const { protocol, host } = new URL(url);
    return `${protocol}//${service}.${host}`;
  };
  return { compute: at("compute"), prices: at("api.calculator.billing-data-plane"), tokens: at("tokens.iam") };
}

const NAME = "nebius";
const PACE_MS = 200;
const PER_PAGE = 100;
const MAX_PAGES = 100;
/** Presets whose price is asked for at once. */
const PRICED_AT_ONCE = 50;
const BYTES_OF_GIB = 1.073741824;
const MAX_PRICE = 10_000;
const CREATE_TYPE = "type.googleapis.com/nebius.compute.v1.CreateInstanceRequest";
const HOUR = 2;

const STATES: Readonly<Record<number, readonly [MachineState, string]>> = {
  1: ["starting", "CREATING"],
  // Whether it runs meanwhile is not said.
  2: ["unknown", "UPDATING"],
  3: ["starting", "STARTING"],
  4: ["running", "RUNNING"],
  5: ["stopped", "STOPPING"],
  6: ["stopped", "STOPPED"],
  7: ["ending", "DELETING"],
  8: ["unknown", "ERROR"],
};

const LABEL_KEY = "ringrift";
const NOT_RENTED = "Nebius is only listed; start 'ringrift join' there yourself (decision 42)";

interface Preset {
  readonly platform: string;
  readonly title: string;
  readonly gpuMemoryGb: number;
  readonly preset: string;
  readonly cpus: number;
  readonly memoryGib: number;
  readonly gpus: number;
}

const presetsOf = (platform: Decoded): Preset[] => {
  const spec = platform.message(2);
  const name = platform.message(1)?.text(3) ?? "";
  return (spec?.messages(1) ?? []).map((preset) => {
    const size = preset.message(2);
    return {
      platform: name,
      title: spec?.text(10) || spec?.text(4) || name,
      gpuMemoryGb: spec?.whole(12) || spec?.whole(11) || 0,
      preset: preset.text(1),
      cpus: size?.whole(1) ?? 0,
      memoryGib: size?.whole(3) ?? 0,
      gpus: size?.whole(4) ?? 0,
    };
  });
};

/** What a machine of this size costs is asked as the request that would make one. */
const pricedAs = (project: string, { platform, preset }: Preset, name: string): Uint8Array => {
  const request = encode([1, encode([2, project], [3, name])], [2, encode([2, encode([1, platform], [2, preset])])]);
  return encode([1, encode([1, CREATE_TYPE], [2, request])]);
};

/** US dollars in an hour, by the name that was asked with; what has no such price is left out. */
function hourlyPrices(answer: Decoded): Map<string, number> {
  const prices = new Map<string, number>();
  for (const cost of answer.messages(1)) {
    const text = cost.message(20)?.message(1)?.text(2) ?? "";
    const price = /^\d{1,6}(\.\d{1,40})?$/.test(text) ? Number(text) : Number.NaN;
    const name = cost.message(1)?.text(3) ?? "";
    if (cost.message(4)?.text(1).toLowerCase() === "hour" && price > 0 && price <= MAX_PRICE) prices.set(name, price);
  }
  return prices;
}

function machineOf(instance: Decoded): Machine {
  const about = instance.message(1);
  const label = about?.messages(7).find((entry) => entry.text(1) === LABEL_KEY);
  const status = instance.message(3);
  const number = status?.whole(1) ?? 0;
  const [state, said] = STATES[number] ?? ["unknown", `state ${number}`];
  const address = status?.messages(2)[0]?.message(4)?.text(1).split("/")[0];
  const machine_id = about?.text(1) ?? "";
  if (!/^[\w-]{1,100}$/.test(machine_id)) throw providerErrors.answerInvalid(NAME, "an instance has no id");
  return {
    machine_id,
    label: label?.text(2) ?? null,
    state,
    said,
    price_usd_hour: null,
    address: address === undefined || address === "" ? null : address,
  };
}

/** The numbers of gRPC that say that nothing was done, and why. */
const OVERLOADED = 8;
const DENIED = new Set([7, 16]);
const WRONG = new Set([3, 5, 9, 11, 12]);

export function nebiusProvider({ hosts, project, key, clock }: NebiusOptions): MachineProvider {
  const pace = createPace(clock, PACE_MS);
  const quoted = createQuoting(key);

  const messageIn = (answer: GrpcAnswer, method: string, token: string | undefined): Uint8Array => {
    if ("message" in answer) return answer.message;
    const { status } = answer;
    const words = token === undefined ? answer.said : answer.said.replaceAll(token, "(key)");
    const said = `${method.split("/").at(-1)}: ${quoted(words)} (${status})`;
    if (status === OVERLOADED) throw providerErrors.busy(NAME, said);
    if (typeof status === "number" && DENIED.has(status))
      throw providerErrors.denied(NAME, said, { hint: `Check the key of ${NAME}: its file, and what it may do.` });
    if (typeof status === "number" && WRONG.has(status)) throw providerErrors.refused(NAME, said);
    throw providerErrors.unavailable(NAME, said);
  };
  const send = async (origin: string, method: string, message: Uint8Array, signal: AbortSignal, token?: string) => {
    await pace.wait(signal);
    return messageIn(await callGrpc({ origin, method, message, token, signal }), method, token);
  };
  const tokenNow = nebiusToken(NAME, key.reveal(), clock, (method, message, signal) =>
    send(hosts.tokens, method, message, signal),
  );
  const ask = async (origin: string, method: string, message: Uint8Array, signal: AbortSignal): Promise<Decoded> =>
    decode(await send(origin, method, message, signal, await tokenNow(signal)));

  /** Whatever is no message is an answer that the documents do not promise. */
  const checked = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (thrown) {
      if (!isMessageBroken(thrown)) throw thrown;
      throw providerErrors.answerInvalid(
        NAME,
        `its answer is not as its documents say: ${quoted((thrown as Error).message)}`,
      );
    }
  };

  /** All pages, or an error. */
  const all = async (method: string, request: (page: string) => Uint8Array, signal: AbortSignal) => {
    const found: Decoded[] = [];
    for (let page = "", n = 0; n < MAX_PAGES; n += 1) {
      const answer = await ask(hosts.compute, method, request(page), signal);
      found.push(...answer.messages(1));
      const next = answer.text(2);
      if (next === "") return found;
      if (next === page) throw providerErrors.answerInvalid(NAME, "a page follows itself");
      page = next;
    }
    throw providerErrors.answerInvalid(NAME, "there are too many pages");
  };

  const pricesOf = async (presets: readonly Preset[], signal: AbortSignal): Promise<Map<string, number>> => {
    const specs = presets.map((preset, n): readonly [number, Uint8Array] => [
      1,
      pricedAs(project, preset, `offer-${n}`),
    ]);
    const answer = await ask(
      hosts.prices,
      "nebius.billing.v1.CalculatorService/EstimateBatch",
      encode(...specs, [11, "usd"], [20, encode([1, Uint8Array.of(HOUR)])]),
      signal,
    );
    if (answer.text(20).toLowerCase() !== "usd")
      throw providerErrors.answerInvalid(NAME, "its prices are not in US dollars");
    return hourlyPrices(answer);
  };

  const offers = async (signal: AbortSignal): Promise<MachineOffer[]> => {
    const platforms = await all(
      "nebius.compute.v1.PlatformService/List",
      (page) => encode([1, PER_PAGE], [2, page === "" ? undefined : page], [3, project]),
      signal,
    );
    const presets = platforms.flatMap(presetsOf);
    const found: MachineOffer[] = [];
    for (let from = 0; from < presets.length; from += PRICED_AT_ONCE) {
      const some = presets.slice(from, from + PRICED_AT_ONCE);
      const prices = await pricesOf(some, signal);
      for (const [n, { platform, preset, title, cpus, memoryGib, gpus, gpuMemoryGb }] of some.entries()) {
        const price_usd_hour = prices.get(`offer-${n}`);
        if (price_usd_hour === undefined) continue;
        found.push({
          offer_id: `${platform}/${preset}`,
          region: null,
          cpus,
          memory_gb: Math.round(memoryGib * BYTES_OF_GIB),
          gpus,
          gpu_name: gpus === 0 ? null : title,
          gpu_memory_gb: gpus === 0 ? 0 : gpuMemoryGb,
          price_usd_hour,
          available: null,
        });
      }
    }
    return found;
  };

  const refuse = (): never => {
    throw providerErrors.refused(NAME, NOT_RENTED);
  };

  return {
    name: NAME,
    isRemote: true,
    billingStepMs: 1_000,
    notRented: NOT_RENTED,
    offers: (signal) => checked(() => offers(signal)),
    list: (signal) =>
      checked(async () =>
        (
          await all(
            "nebius.compute.v1.InstanceService/List",
            (page) => encode([1, project], [2, PER_PAGE], [3, page === "" ? undefined : page]),
            signal,
          )
        ).map(machineOf),
      ),
    create: async () => refuse(),
    terminate: async () => refuse(),
  };
}
