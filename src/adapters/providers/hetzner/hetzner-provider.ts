/** Hetzner Cloud. Shapes as in github.com/MaximilianKoestler/hcloud-openapi. A server that is off is paid for like one that runs. */
import { z } from "zod";
import {
  type Machine,
  type MachineOffer,
  type MachineProvider,
  type MachineState,
  providerErrors,
} from "../../../cluster/fleet/index.ts";
import { isOperatingError } from "../../../kernel/index.ts";
import { anything, count, many, numericId, priceText, text } from "../answer-fields.ts";
import { createProviderHttp, type ProviderAccount } from "../provider-http.ts";
import { startScript } from "../start-script.ts";

export interface HetznerOptions extends ProviderAccount {
  readonly image: string;
  /** Prices are in euros. */
  readonly usdPerEur: number;
}

const NAME = "hetzner";
const LABEL_KEY = "ringrift";
const PER_PAGE = 50;
const MAX_PAGES = 100;
/** 3,600 requests an hour and account; half of it is ours. */
const PACE_MS = 500;

const STATES: Readonly<Record<string, MachineState>> = {
  initializing: "starting",
  starting: "starting",
  running: "running",
  stopping: "stopped",
  off: "stopped",
  deleting: "ending",
};

const prices = many(z.object({ location: text, price_hourly: z.object({ gross: priceText }) }));
const meta = z.object({
  pagination: z.object({
    next_page: z
      .int()
      .min(1)
      .max(MAX_PAGES * 10)
      .nullable(),
  }),
});
const server = z.object({
  id: numericId,
  name: text,
  status: text,
  labels: z.record(z.string().max(200), z.string().max(200)),
  public_net: z.object({ ipv4: z.object({ ip: text }).nullable() }),
  server_type: z.object({ name: text, prices }),
  location: z.object({ name: text }).nullish(),
  datacenter: z.object({ location: z.object({ name: text }) }).nullish(),
});
const serverType = z.object({
  name: text,
  cores: count,
  memory: count,
  architecture: text,
  deprecated: z.boolean().nullish(),
  prices,
});
const problem = z.object({ error: z.object({ code: z.string().max(200) }) });

const SOLD_OUT = new Set(["resource_unavailable", "placement_error", "unavailable"]);
const BUSY = new Set(["rate_limit_exceeded", "locked", "conflict"]);

const codeOf = (body: string): string | undefined => {
  try {
    return problem.parse(JSON.parse(body)).error.code;
  } catch {
    return undefined;
  }
};

export function hetznerProvider({ image, usdPerEur, ...account }: HetznerOptions): MachineProvider {
  const http = createProviderHttp({
    ...account,
    name: NAME,
    paceMs: PACE_MS,
    refusalOf(status, body) {
      const code = codeOf(body);
      if (code === undefined) return undefined;
      if (SOLD_OUT.has(code)) return "sold_out";
      // A server of this name exists: an earlier request has made it.
      if (code === "uniqueness_error") return "unsure";
      return BUSY.has(code) && status < 500 ? "busy" : undefined;
    },
  });

  const priceIn = (all: z.output<typeof prices>, location: string | null): number | null => {
    const euros = all.find((one) => one.location === location)?.price_hourly.gross;
    return euros === undefined ? null : euros * usdPerEur;
  };
  const machineOf = (one: z.output<typeof server>): Machine => ({
    machine_id: String(one.id),
    label: one.labels[LABEL_KEY] ?? null,
    state: STATES[one.status] ?? "unknown",
    said: one.status,
    price_usd_hour: priceIn(one.server_type.prices, one.location?.name ?? one.datacenter?.location.name ?? null),
    address: one.public_net.ipv4?.ip ?? null,
  });

  /** All pages, or an error. */
  const all = async <F extends string, T extends z.ZodType>(
    path: string,
    field: F,
    item: T,
    signal: AbortSignal,
  ): Promise<z.output<T>[]> => {
    const found: z.output<T>[] = [];
    const answer = z.object({ [field]: many(item), meta });
    for (let page: number | null = 1; page !== null; ) {
      const got = (await http.ask({
        method: "GET",
        path,
        query: { page, per_page: PER_PAGE },
        answer,
        signal,
      })) as unknown as { meta: z.output<typeof meta> } & Record<F, z.output<T>[]>;
      found.push(...got[field]);
      const { next_page } = got.meta.pagination;
      if (next_page !== null && next_page <= page)
        throw providerErrors.answerInvalid(NAME, `page ${next_page} follows page ${page}`);
      page = next_page;
      if (found.length > PER_PAGE * MAX_PAGES) throw providerErrors.answerInvalid(NAME, "there are too many pages");
    }
    return found;
  };

  return {
    name: NAME,
    isRemote: true,
    billingStepMs: 3_600_000,
    async offers(signal) {
      const types = await all("server_types", "server_types", serverType, signal);
      return types
        .filter(({ architecture, deprecated }) => architecture === "x86" && deprecated !== true)
        .flatMap(({ name, cores, memory, prices: of }) =>
          of.map(
            ({ location, price_hourly }): MachineOffer => ({
              offer_id: name,
              region: location,
              cpus: cores,
              memory_gb: memory,
              gpus: 0,
              gpu_name: null,
              gpu_memory_gb: 0,
              price_usd_hour: price_hourly.gross * usdPerEur,
              available: null,
            }),
          ),
        );
    },
    async list(signal) {
      return (await all("servers", "servers", server, signal)).map(machineOf);
    },
    async create({ label, offer, max_price_usd_hour, start }, signal) {
      if (offer.price_usd_hour > max_price_usd_hour) throw providerErrors.refused(NAME, "it costs more by now");
      const made = await http.ask({
        method: "POST",
        path: "servers",
        body: {
          name: label,
          server_type: offer.offer_id,
          image,
          ...(offer.region === null ? {} : { location: offer.region }),
          labels: { [LABEL_KEY]: label },
          user_data: startScript(start, { powerOff: true }),
          start_after_create: true,
          public_net: { enable_ipv4: true, enable_ipv6: true },
        },
        answer: z.object({ server }),
        signal,
      });
      return machineOf(made.server);
    },
    async terminate(machineId, signal) {
      if (!/^\d{1,16}$/.test(machineId)) return;
      try {
        await http.ask({ method: "DELETE", path: `servers/${machineId}`, answer: anything, signal });
      } catch (thrown) {
        if (!isOperatingError(thrown, "PROVIDER_MACHINE_NOT_FOUND")) throw thrown;
      }
    },
    async reboot(machineId, signal) {
      if (!/^\d{1,16}$/.test(machineId)) throw providerErrors.notFound(NAME, `there is no server ${machineId}`);
      await http.ask({ method: "POST", path: `servers/${machineId}/actions/reboot`, answer: anything, signal });
    },
  };
}
