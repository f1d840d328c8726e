/** Vast.ai. Shapes as in github.com/vast-ai/docs. A create that failed may have made an instance that is paid for; so may a stopped disk. */
import { z } from "zod";
import {
  type Machine,
  type MachineOffer,
  type MachineProvider,
  type MachineState,
  providerErrors,
} from "../../../cluster/fleet/index.ts";
import { isOperatingError } from "../../../kernel/index.ts";
import { anything, count, many, numericId, price, text } from "../answer-fields.ts";
import { createProviderHttp, type ProviderAccount } from "../provider-http.ts";
import { startScript } from "../start-script.ts";

export interface VastOptions extends ProviderAccount {
  readonly image: string;
}

const NAME = "vast";
const PACE_MS = 500;
const PER_PAGE = 25;
const MAX_PAGES = 400;
const OFFERS = 64;
const DISK_GB = 20;

const STATES: Readonly<Record<string, MachineState>> = {
  created: "starting",
  loading: "starting",
  running: "running",
  exited: "stopped",
  stopped: "stopped",
};

const instance = z.object({
  id: numericId,
  label: text.nullish(),
  actual_status: text.nullish(),
  dph_total: price.nullish(),
  public_ipaddr: text.nullish(),
});
const page = z.object({ instances: many(instance), next_token: z.string().max(10_000).nullish() });
const offered = z.object({
  id: numericId,
  dph_total: price,
  num_gpus: count.nullish(),
  gpu_name: text.nullish(),
  gpu_ram: count.nullish(),
  cpu_cores_effective: count.nullish(),
  cpu_ram: count.nullish(),
  geolocation: text.nullish(),
});
/** It says whether it went well, and may name an instance in either case. */
const contract = z.object({ success: z.boolean().nullish(), new_contract: numericId.nullish(), msg: text.nullish() });

const MB_IN_GB = 1_024;
const isId = (machineId: string): boolean => /^\d{1,16}$/.test(machineId);

export function vastProvider({ image, ...account }: VastOptions): MachineProvider {
  const http = createProviderHttp({
    ...account,
    name: NAME,
    paceMs: PACE_MS,
    refusalOf(status, body) {
      if (/no_such_ask|not_available|unavailable/.test(body)) return "sold_out";
      return status === 410 ? "sold_out" : undefined;
    },
  });
  const machineOf = ({ id, label, actual_status, dph_total, public_ipaddr }: z.output<typeof instance>): Machine => ({
    machine_id: String(id),
    label: label ?? null,
    // Nothing is said of one that was made a moment ago.
    state: actual_status == null ? "starting" : (STATES[actual_status] ?? "unknown"),
    said: actual_status ?? "",
    price_usd_hour: dph_total ?? null,
    address: public_ipaddr ?? null,
  });
  const destroy = (machineId: string, signal: AbortSignal) =>
    http.ask({
      method: "DELETE",
      path: `api/v0/instances/${machineId}`,
      answer: z.object({ success: z.boolean().nullish() }),
      signal,
    });
  /** What was made although it failed goes at once; if that fails too, the error names it. */
  const undo = async (machineId: string, said: string, signal: AbortSignal): Promise<never> => {
    await destroy(machineId, signal).catch(() => undefined);
    throw providerErrors.unavailable(NAME, `the create failed and made ${machineId}: ${said}`, { machineId });
  };

  return {
    name: NAME,
    isRemote: true,
    billingStepMs: 1_000,
    async offers(signal) {
      const { offers } = await http.ask({
        method: "POST",
        path: "api/v0/bundles",
        body: {
          type: "ondemand",
          verified: { eq: true },
          rentable: { eq: true },
          rented: { eq: false },
          // The published document wants two entries.
          order: [
            ["dph_total", "asc"],
            ["id", "asc"],
          ],
          limit: OFFERS,
          allocated_storage: DISK_GB,
        },
        answer: z.object({ offers: many(offered) }),
        signal,
      });
      return offers.map(
        (one): MachineOffer => ({
          offer_id: String(one.id),
          region: one.geolocation?.split(", ").at(-1) ?? null,
          cpus: one.cpu_cores_effective ?? 0,
          memory_gb: (one.cpu_ram ?? 0) / MB_IN_GB,
          gpus: one.num_gpus ?? 0,
          gpu_name: one.gpu_name ?? null,
          gpu_memory_gb: (one.gpu_ram ?? 0) / MB_IN_GB,
          price_usd_hour: one.dph_total,
          // An offer is one machine.
          available: 1,
        }),
      );
    },
    async list(signal) {
      const found: Machine[] = [];
      let after: string | undefined;
      for (let pages = 0; ; pages += 1) {
        const { instances, next_token } = await http.ask({
          method: "GET",
          path: "api/v1/instances",
          query: { limit: PER_PAGE, after_token: after },
          answer: page,
          signal,
        });
        found.push(...instances.map(machineOf));
        if (next_token == null) return found;
        if (next_token === after || pages >= MAX_PAGES) throw providerErrors.answerInvalid(NAME, "its list has no end");
        after = next_token;
      }
    },
    async create({ label, offer, max_price_usd_hour, start }, signal) {
      if (!isId(offer.offer_id)) throw providerErrors.refused(NAME, "it is no offer of Vast.ai");
      if (offer.price_usd_hour > max_price_usd_hour) throw providerErrors.refused(NAME, "it costs more by now");
      const { success, new_contract, msg } = await http.ask({
        method: "PUT",
        path: `api/v0/asks/${offer.offer_id}`,
        body: {
          image,
          label,
          disk: DISK_GB,
          runtype: "ssh",
          target_state: "running",
          cancel_unavail: true,
          onstart: startScript(start, { powerOff: false }),
        },
        answer: contract,
        signal,
      });
      if (success !== true && new_contract != null) return undo(String(new_contract), msg ?? "no reason given", signal);
      if (success !== true || new_contract == null)
        throw providerErrors.unavailable(NAME, `it did not say what became of it: ${(msg ?? "").slice(0, 200)}`);
      return {
        machine_id: String(new_contract),
        label,
        state: "starting",
        said: "created",
        price_usd_hour: offer.price_usd_hour,
        address: null,
      };
    },
    async terminate(machineId, signal) {
      if (!isId(machineId)) return;
      try {
        const { success } = await destroy(machineId, signal);
        if (success === false) throw providerErrors.unavailable(NAME, `it did not end ${machineId}`);
      } catch (thrown) {
        if (!isOperatingError(thrown, "PROVIDER_MACHINE_NOT_FOUND")) throw thrown;
      }
    },
    async reboot(machineId, signal) {
      if (!isId(machineId)) throw providerErrors.notFound(NAME, `there is no instance ${machineId}`);
      await http.ask({ method: "PUT", path: `api/v0/instances/reboot/${machineId}`, answer: anything, signal });
    },
  };
}
