/**
 * RunPod. Shapes as in github.com/runpod/docs. Its API lists no prices: the operator names types with the most that each may cost, and a
 * pod that costs more is ended at once. `desiredStatus` is a wish, and a region in lower case is accepted and then breaks.
 */
import { z } from "zod";
import {
  type Machine,
  type MachineOffer,
  type MachineProvider,
  type MachineState,
  providerErrors,
} from "../../../cluster/fleet/index.ts";
import { isOperatingError } from "../../../kernel/index.ts";
import { anything, many, pathId, price, text } from "../answer-fields.ts";
import { createProviderHttp, type ProviderAccount } from "../provider-http.ts";
import { startScript } from "../start-script.ts";

export interface RunPodOptions extends ProviderAccount {
  readonly image: string;
  /** `NVIDIA_GeForce_RTX_4090:0.80`: a type of accelerator, and the most that an hour of it may cost. */
  readonly types: readonly string[];
  readonly regions: readonly string[];
}

const NAME = "runpod";
const PACE_MS = 500;
const DISK_GB = 20;
/** What a pod has beside its accelerator at the least; asked for as such. */
const CPUS_OF_A_GPU = 4;
const MEMORY_OF_A_GPU = 16;
const REGION = /^[A-Z]{2,3}-[A-Z]{2,3}-\d{1,2}$/;

const STATES: Readonly<Record<string, MachineState>> = { EXITED: "stopped", TERMINATED: "ending" };

const pod = z.object({
  id: pathId,
  name: text.nullish(),
  desiredStatus: text.nullish(),
  publicIp: text.nullish(),
  costPerHr: price.nullish(),
  adjustedCostPerHr: price.nullish(),
});

/** Types with their prices, as the setting names them. */
export const typesIn = (entries: readonly string[]): { name: string; priceUsdHour: number }[] =>
  entries.flatMap((entry) => {
    const [, name, amount] = /^([\w.+-]+):(\d+(?:\.\d+)?)$/.exec(entry) ?? [];
    return name === undefined ? [] : [{ name: name.replaceAll("_", " "), priceUsdHour: Number(amount) }];
  });

const stateOf = ({ desiredStatus, publicIp }: z.output<typeof pod>): MachineState => {
  // That it shall run is no sign that it does; that it has an address is.
  if (desiredStatus === "RUNNING") return publicIp == null || publicIp === "" ? "starting" : "running";
  return STATES[desiredStatus ?? ""] ?? "unknown";
};

export function runPodProvider({ image, types, regions, ...account }: RunPodOptions): MachineProvider {
  const http = createProviderHttp({
    ...account,
    name: NAME,
    paceMs: PACE_MS,
    // It says so with the status of a fault.
    refusalOf: (_status, body) =>
      /no (longer any )?instances (currently )?available|could not find any pods/i.test(body) ? "sold_out" : undefined,
  });
  const known = typesIn(types);
  const machineOf = (one: z.output<typeof pod>): Machine => ({
    machine_id: one.id,
    label: one.name ?? null,
    state: stateOf(one),
    said: one.desiredStatus ?? "",
    price_usd_hour: one.adjustedCostPerHr ?? one.costPerHr ?? null,
    address: one.publicIp ?? null,
  });
  const remove = async (machineId: string, signal: AbortSignal): Promise<void> => {
    try {
      await http.ask({ method: "DELETE", path: `pods/${machineId}`, answer: anything, signal });
    } catch (thrown) {
      if (!isOperatingError(thrown, "PROVIDER_MACHINE_NOT_FOUND")) throw thrown;
    }
  };

  return {
    name: NAME,
    isRemote: true,
    billingStepMs: 1_000,
    /** What the operator named; the key is tried all the same. */
    async offers(signal) {
      await http.ask({ method: "GET", path: "pods", answer: many(pod), signal });
      const places = regions.length === 0 ? [null] : regions;
      return known.flatMap(({ name, priceUsdHour }) =>
        places.map(
          (region): MachineOffer => ({
            offer_id: name,
            region,
            cpus: CPUS_OF_A_GPU,
            memory_gb: MEMORY_OF_A_GPU,
            gpus: 1,
            gpu_name: name,
            gpu_memory_gb: 0,
            price_usd_hour: priceUsdHour,
            available: null,
          }),
        ),
      );
    },
    async list(signal) {
      return (await http.ask({ method: "GET", path: "pods", answer: many(pod), signal })).map(machineOf);
    },
    async create({ label, offer, max_price_usd_hour, start }, signal) {
      if (offer.price_usd_hour > max_price_usd_hour) throw providerErrors.refused(NAME, "it costs more by now");
      if (offer.region !== null && !REGION.test(offer.region))
        throw providerErrors.refused(NAME, `'${offer.region}' is no data center: they look like EU-RO-1`);
      const made = await http.ask({
        method: "POST",
        path: "pods",
        body: {
          name: label,
          imageName: image,
          computeType: "GPU",
          gpuTypeIds: [offer.offer_id],
          gpuCount: 1,
          minVCPUPerGPU: CPUS_OF_A_GPU,
          minRAMPerGPU: MEMORY_OF_A_GPU,
          containerDiskInGb: DISK_GB,
          volumeInGb: 0,
          ...(offer.region === null ? {} : { dataCenterIds: [offer.region] }),
          dockerStartCmd: ["sh", "-c", startScript(start, { powerOff: false })],
        },
        answer: pod,
        signal,
      });
      const machine = machineOf(made);
      if ((machine.price_usd_hour ?? 0) <= max_price_usd_hour) return machine;
      const said = `it costs ${machine.price_usd_hour} USD an hour, and ${max_price_usd_hour} are allowed`;
      try {
        await remove(made.id, signal);
      } catch {
        throw providerErrors.unavailable(NAME, `${said}; it could not be ended`, { machineId: made.id });
      }
      throw providerErrors.refused(NAME, said);
    },
    async terminate(machineId, signal) {
      if (pathId.safeParse(machineId).success) await remove(machineId, signal);
    },
    async reboot(machineId, signal) {
      if (!pathId.safeParse(machineId).success) throw providerErrors.notFound(NAME, `there is no pod ${machineId}`);
      await http.ask({ method: "POST", path: `pods/${machineId}/restart`, answer: anything, signal });
    },
  };
}
