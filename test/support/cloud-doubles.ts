/**
 * Small clouds in this process: machines, pages, refusals, and answers that are lost. What they are asked, and what they answer, is held
 * against the shapes of the published documents.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type CloudName, providerSchemas } from "./provider-schemas.ts";

interface DoubleMachine {
  readonly id: string;
  readonly label: string | null;
  status: string;
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Record<string, never>;
}

type Answered = readonly [status: number, body: unknown];

/** What one cloud does of its own. */
interface Cloud {
  readonly name: CloudName;
  readonly newId: (n: number) => string;
  readonly firstStatus: string;
  /** The routes of one request; undefined where there is none. */
  answer(asked: Asked, cloud: CloudDouble): Answered | undefined;
}

export interface CloudDouble {
  readonly url: string;
  readonly machines: Map<string, DoubleMachine>;
  /** When each request came, and what it asked for. */
  readonly asked: { readonly at: number; readonly what: string; readonly body: unknown }[];
  readonly next: { failAfterEffect: boolean; sellOut: boolean; lockedOut: boolean; breakList: boolean };
  /** What was asked or answered otherwise than the published document says. */
  readonly wrong: string[];
  /** A machine is in a state that no document knows: answers are not held against one any more. */
  isOdd: boolean;
  /** Bends the next answers. */
  bend: ((body: unknown) => unknown) | undefined;
  make(label: string | null): DoubleMachine;
  close(): void;
}

export const DOUBLE_KEY = "the-key-of-the-account";
const PER_PAGE = 2;

export async function cloudDouble(cloud: Cloud): Promise<CloudDouble> {
  let made = 0;
  const schemas = providerSchemas(cloud.name);
  const machines = new Map<string, DoubleMachine>();
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    let text = "";
    for await (const part of request) text += String(part);
    const url = new URL(request.url ?? "/", "http://cloud");
    const method = request.method ?? "GET";
    const body = text === "" ? {} : JSON.parse(text);
    double.asked.push({ at: performance.now(), what: `${method} ${url.pathname}`, body });
    const end = (status: number, answer: unknown) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(answer === null ? "" : JSON.stringify(answer));
    };
    if (request.headers.authorization !== `Bearer ${DOUBLE_KEY}` || double.next.lockedOut)
      return end(401, { error: { code: "unauthorized", message: `who is ${DOUBLE_KEY}?` } });
    const asked = { method, path: url.pathname, query: url.searchParams, body: text === "" ? undefined : body };
    const wrongAsked = schemas.ofRequest(asked);
    double.wrong.push(...wrongAsked.map((what) => `${method} ${url.pathname}: ${what}`));
    if (wrongAsked.length > 0) return end(422, { error: { code: "invalid_input", message: wrongAsked.join("; ") } });
    const before = machines.size;
    const answered = cloud.answer({ method, path: url.pathname, query: url.searchParams, body }, double);
    if (answered === undefined) return end(404, { error: { code: "not_found", message: "no such thing" } });
    if (double.next.failAfterEffect && machines.size > before) {
      double.next.failAfterEffect = false;
      return end(500, { error: { code: "server_error", message: "something went wrong" } });
    }
    const [status, answer] = answered;
    const wrong = status >= 300 || double.isOdd ? [] : schemas.ofAnswer(asked, status, answer);
    double.wrong.push(...wrong.map((what) => `${method} ${url.pathname} answers ${status}: ${what}`));
    return end(status, status < 300 && double.bend !== undefined ? double.bend(answer) : answer);
  };
  const server = createServer((request, response) => void respond(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const double: CloudDouble = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    machines,
    asked: [],
    next: { failAfterEffect: false, sellOut: false, lockedOut: false, breakList: false },
    bend: undefined,
    wrong: [],
    isOdd: false,
    make(label) {
      made += 1;
      const machine = { id: cloud.newId(made), label, status: cloud.firstStatus };
      machines.set(machine.id, machine);
      return machine;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return double;
}

const lastOf = (path: string) => path.split("/").at(-1)!;
const page = <T>(all: readonly T[], number: number) => all.slice((number - 1) * PER_PAGE, number * PER_PAGE);
const soldOut = ({ next }: CloudDouble): boolean => {
  const is = next.sellOut;
  next.sellOut = false;
  return is;
};
const broken = ({ next }: CloudDouble, isLater: boolean): boolean => {
  if (!next.breakList || !isLater) return false;
  next.breakList = false;
  return true;
};
const FAULT: Answered = [500, { error: { code: "server_error", message: "something went wrong" } }];

const LOCATION = {
  ...{ id: 3, name: "nbg1", description: "Nuremberg DC Park 1", country: "DE", city: "Nuremberg" },
  ...{ latitude: 49.45, longitude: 11.08, network_zone: "eu-central" },
};
const hetznerType = (name: string, architecture: string, gross: string) => ({
  ...{ id: name.length, name, description: name, cores: 2, memory: 4, disk: 40, architecture },
  ...{ deprecated: false, deprecation: null, cpu_type: "shared", storage_type: "local", category: "cost_optimized" },
  prices: [
    {
      location: "nbg1",
      price_hourly: { net: gross, gross },
      price_monthly: { net: gross, gross },
      included_traffic: 1,
      price_per_tb_traffic: { net: gross, gross },
    },
  ],
  locations: [{ id: 3, name: "nbg1", deprecation: null }],
});
const hetznerAction = (command: string) => ({
  ...{ id: 1, command, status: "running", progress: 0, started: "2026-01-01T00:00:00+00:00", finished: null },
  ...{ resources: [], error: null },
});
const hetznerServer = ({ id, label, status }: DoubleMachine) => ({
  id: Number(id),
  name: label ?? "web-1",
  status,
  labels: label === null ? { role: "web" } : { ringrift: label },
  public_net: {
    ipv4: { ip: "192.0.2.1", blocked: false, dns_ptr: "" },
    ipv6: { ip: "2001:db8::/64", blocked: false, dns_ptr: null },
    floating_ips: [],
    firewalls: [],
  },
  server_type: hetznerType("cpx22", "x86", "0.0119"),
  location: LOCATION,
  datacenter: {
    ...{ id: 4, name: "nbg1-dc3", description: "Nuremberg 1 DC 3", location: LOCATION },
    server_types: { supported: [], available: [], available_for_migration: [] },
  },
  ...{ created: "2026-01-01T00:00:00+00:00", backup_window: null, image: null, iso: null, rescue_enabled: false },
  ...{ locked: false, outgoing_traffic: 0, ingoing_traffic: 0, included_traffic: 0, primary_disk_size: 40 },
  ...{ protection: { delete: false, rebuild: false }, private_net: [], volumes: [], load_balancers: [] },
  placement_group: null,
});

export const hetznerCloud: Cloud = {
  name: "hetzner",
  newId: (n) => String(4_711 + n),
  firstStatus: "initializing",
  answer({ method, path, query, body }, double) {
    const at = Number(query.get("page") ?? 1);
    const list = (field: string, all: readonly unknown[]): Answered => [
      200,
      {
        [field]: page(all, at),
        meta: {
          pagination: {
            ...{ page: at, per_page: PER_PAGE, previous_page: at > 1 ? at - 1 : null },
            ...{ last_page: Math.max(1, Math.ceil(all.length / PER_PAGE)), total_entries: all.length },
            next_page: at * PER_PAGE < all.length ? at + 1 : null,
          },
        },
      },
    ];
    if (method === "GET" && path === "/server_types") {
      return list("server_types", [
        hetznerType("cpx22", "x86", "0.0119"),
        hetznerType("cax11", "arm", "0.0050"),
        hetznerType("cpx32", "x86", "0.02"),
      ]);
    }
    if (method === "GET" && path === "/servers") {
      if (broken(double, at > 1)) return FAULT;
      return list("servers", [...double.machines.values()].map(hetznerServer));
    }
    const one = method === "GET" ? double.machines.get(lastOf(path)) : undefined;
    if (one !== undefined) return [200, { server: hetznerServer(one) }];
    if (method === "POST" && path === "/servers") {
      const { name } = body as unknown as { name: string };
      if (soldOut(double)) return [412, { error: { code: "resource_unavailable", message: "none left" } }];
      if ([...double.machines.values()].some(({ label }) => label === name))
        return [409, { error: { code: "uniqueness_error", message: "it exists" } }];
      return [
        201,
        {
          server: hetznerServer(double.make(name)),
          action: hetznerAction("create_server"),
          next_actions: [],
          root_password: null,
        },
      ];
    }
    if (method === "DELETE" && double.machines.delete(lastOf(path)))
      return [200, { action: hetznerAction("delete_server") }];
    return undefined;
  },
};

const lambdaType = {
  ...{ name: "gpu_1x_a10", description: "1x A10", gpu_description: "A10 (24 GB PCIe)", price_cents_per_hour: 75 },
  specs: { vcpus: 30, memory_gib: 200, storage_gib: 1_400, gpus: 1 },
};
const may = { available: true };
const lambdaActions = { migrate: may, rebuild: may, restart: may, cold_reboot: may, terminate: may };
export const lambdaCloud: Cloud = {
  name: "lambda",
  newId: (n) => `0920582c7ff041399e34823a0be6254${n}`,
  firstStatus: "booting",
  answer({ method, path, body }, double) {
    if (method === "GET" && path.endsWith("/instance-types"))
      return [
        200,
        {
          data: {
            gpu_1x_a10: {
              instance_type: lambdaType,
              regions_with_capacity_available: [{ name: "us-west-1", description: "" }],
            },
          },
        },
      ];
    if (method === "GET")
      return [
        200,
        {
          data: [...double.machines.values()].map(({ id, label, status }) => ({
            ...{ id, status, instance_type: lambdaType, region: { name: "us-west-1", description: "" } },
            ...{ ssh_key_names: ["mine"], file_system_names: [], actions: lambdaActions },
            ...(label === null ? {} : { name: label }),
          })),
        },
      ];
    if (path.endsWith("/launch")) {
      if (soldOut(double))
        return [400, { error: { code: "instance-operations/launch/insufficient-capacity", message: "none left" } }];
      return [200, { data: { instance_ids: [double.make((body as unknown as { name: string }).name).id] } }];
    }
    const [id] = (body as unknown as { instance_ids: string[] }).instance_ids;
    if (path.endsWith("/terminate") && double.machines.delete(id!))
      return [200, { data: { terminated_instances: [] } }];
    return [404, { error: { code: "global/object-does-not-exist", message: "no such instance" } }];
  },
};

export const vastCloud: Cloud = {
  name: "vast",
  newId: (n) => String(900 + n),
  firstStatus: "loading",
  answer({ method, path, query, body }, double) {
    if (path === "/api/v0/bundles") {
      const offer = {
        dph_total: 0.31,
        num_gpus: 1,
        gpu_name: "RTX 4090",
        gpu_ram: 24_576,
        cpu_cores_effective: 16,
        cpu_ram: 65_536,
      };
      return [200, { offers: [{ id: 77, geolocation: "Sweden, SE", ...offer }] }];
    }
    if (method === "GET") {
      const at = Number(query.get("after_token") ?? 1);
      if (broken(double, at > 1)) return FAULT;
      const all = [...double.machines.values()].map(({ id, label, status }) => ({
        id: Number(id),
        label,
        actual_status: status,
        dph_total: 0.31,
      }));
      return [
        200,
        { success: true, instances: page(all, at), next_token: at * PER_PAGE < all.length ? String(at + 1) : null },
      ];
    }
    if (method === "PUT" && path.startsWith("/api/v0/asks/")) {
      if (soldOut(double)) return [410, { success: false, error: "no_such_ask", msg: "it is gone" }];
      return [
        200,
        { success: true, new_contract: Number(double.make((body as unknown as { label: string }).label).id) },
      ];
    }
    if (method === "DELETE" && double.machines.delete(lastOf(path))) return [200, { success: true }];
    return [404, { success: false, error: "no_such_instance", msg: "no such instance" }];
  },
};

export const runPodCloud: Cloud = {
  name: "runpod",
  newId: (n) => `xedezhzb9la3y${n}`,
  firstStatus: "RUNNING",
  answer({ method, path, body }, double) {
    const pod = ({ id, label, status }: DoubleMachine) => ({ id, name: label, desiredStatus: status, costPerHr: 0.69 });
    if (method === "GET") return [200, [...double.machines.values()].map(pod)];
    if (method === "POST" && path === "/pods") {
      if (soldOut(double)) return [500, { error: "There are no instances currently available" }];
      return [201, pod(double.make((body as unknown as { name: string }).name))];
    }
    if (method === "DELETE" && double.machines.delete(lastOf(path))) return [204, null];
    return undefined;
  },
};
