/** Lambda Cloud. Shapes as in its API document 1.10. One request a second, and one launch in twelve. */
import { z } from "zod";
import {
  type Machine,
  type MachineOffer,
  type MachineProvider,
  type MachineState,
  providerErrors,
} from "../../../cluster/fleet/index.ts";
import { isOperatingError } from "../../../kernel/index.ts";
import { count, many, pathId, text } from "../answer-fields.ts";
import { createPace, createProviderHttp, type ProviderAccount } from "../provider-http.ts";
import { startScript } from "../start-script.ts";

export interface LambdaOptions extends ProviderAccount {
  /** The name of an SSH key of the account, without which nothing is launched. */
  readonly sshKey: string;
}

const NAME = "lambda";
const LAMBDA_PACE = { requestMs: 1_000, launchMs: 12_000 };

const STATES: Readonly<Record<string, MachineState>> = {
  booting: "starting",
  active: "running",
  terminating: "ending",
  terminated: "gone",
  // Taken away, and still listed: whether it is paid for is not said.
  preempted: "stopped",
};

const instanceType = z.object({
  name: text,
  gpu_description: text,
  price_cents_per_hour: z.int().min(0).max(1_000_000),
  specs: z.object({ vcpus: count, memory_gib: count, gpus: count }),
});
const instance = z.object({
  id: pathId,
  name: text.nullish(),
  ip: text.nullish(),
  status: text,
  instance_type: instanceType,
});
const offered = z.object({
  instance_type: instanceType,
  regions_with_capacity_available: many(z.object({ name: text })),
});

/** `A10 (24 GB PCIe)` says how much memory there is. */
const gpuMemory = (description: string): number => Number(/\((\d{1,4}) GB/.exec(description)?.[1] ?? 0);

export function lambdaProvider({ sshKey, ...account }: LambdaOptions, pace = LAMBDA_PACE): MachineProvider {
  const http = createProviderHttp({
    ...account,
    name: NAME,
    paceMs: pace.requestMs,
    refusalOf(_status, body) {
      if (body.includes("insufficient-capacity")) return "sold_out";
      return body.includes("object-does-not-exist") ? "missing" : undefined;
    },
  });
  const launches = createPace(account.clock, pace.launchMs);

  const machineOf = ({ id, name, ip, status, instance_type }: z.output<typeof instance>): Machine => ({
    machine_id: id,
    label: name ?? null,
    state: STATES[status] ?? "unknown",
    said: status,
    price_usd_hour: instance_type.price_cents_per_hour / 100,
    address: ip ?? null,
  });
  const operate = (what: "terminate" | "restart", machineId: string, signal: AbortSignal) =>
    http.ask({
      method: "POST",
      path: `api/v1/instance-operations/${what}`,
      body: { instance_ids: [machineId] },
      answer: z.object({ data: z.looseObject({}) }),
      signal,
    });

  return {
    name: NAME,
    isRemote: true,
    billingStepMs: 60_000,
    async offers(signal) {
      const { data } = await http.ask({
        method: "GET",
        path: "api/v1/instance-types",
        answer: z.object({ data: z.record(z.string().max(200), offered) }),
        signal,
      });
      return Object.values(data).flatMap(({ instance_type: type, regions_with_capacity_available: regions }) =>
        regions.map(
          ({ name: region }): MachineOffer => ({
            offer_id: type.name,
            region,
            cpus: type.specs.vcpus,
            memory_gb: type.specs.memory_gib,
            gpus: type.specs.gpus,
            gpu_name: type.specs.gpus === 0 ? null : type.gpu_description,
            gpu_memory_gb: gpuMemory(type.gpu_description),
            price_usd_hour: type.price_cents_per_hour / 100,
            available: null,
          }),
        ),
      );
    },
    async list(signal) {
      const { data } = await http.ask({
        method: "GET",
        path: "api/v1/instances",
        answer: z.object({ data: many(instance) }),
        signal,
      });
      return data.map(machineOf);
    },
    async create({ label, offer, max_price_usd_hour, start }, signal) {
      if (offer.price_usd_hour > max_price_usd_hour) throw providerErrors.refused(NAME, "it costs more by now");
      const launch = () =>
        http.ask({
          method: "POST",
          path: "api/v1/instance-operations/launch",
          body: {
            region_name: offer.region,
            instance_type_name: offer.offer_id,
            ssh_key_names: [sshKey],
            name: label,
            user_data: startScript(start, { powerOff: false }),
          },
          answer: z.object({ data: z.object({ instance_ids: z.array(pathId).min(1).max(100) }) }),
          signal,
        });
      const { data } = await launches.run(launch, signal);
      const [machine_id] = data.instance_ids;
      return {
        machine_id: machine_id!,
        label,
        state: "starting",
        said: "launched",
        price_usd_hour: offer.price_usd_hour,
        address: null,
      };
    },
    async terminate(machineId, signal) {
      if (!pathId.safeParse(machineId).success) return;
      try {
        await operate("terminate", machineId, signal);
      } catch (thrown) {
        if (!isOperatingError(thrown, "PROVIDER_MACHINE_NOT_FOUND")) throw thrown;
      }
    },
    async reboot(machineId, signal) {
      await operate("restart", machineId, signal);
    },
  };
}
