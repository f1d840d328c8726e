/**
 * What clouds take and answer, as far as we use it: small shapes written here after the published documents, for `ajv`. A key that is not
 * in a body here was not in the document when it was read, or is not used by us.
 *
 * Read: MaximilianKoestler/hcloud-openapi (openapi/hcloud.json), runpod/docs (api-reference/openapi.json), vast-ai/docs
 * (api-reference/openapi.yaml), api-evangelist/lambda-labs (openapi/lambda-labs-openapi.json).
 */
import { Ajv, type ValidateFunction } from "ajv";

type Schema = Readonly<Record<string, unknown>>;

interface RouteShape {
  readonly method: string;
  /** Of the path, with `{}` for an id. */
  readonly path: string;
  /** Keys of the query that the document names. */
  readonly query?: readonly string[];
  readonly body?: Schema;
  /** By status. */
  readonly answers: Readonly<Record<number, Schema | null>>;
}

const text: Schema = { type: "string" };
const whole: Schema = { type: "integer" };
const number: Schema = { type: "number" };
const yesNo: Schema = { type: "boolean" };
const anything: Schema = {};
const oneOf = (...words: readonly (string | null)[]): Schema => ({ enum: words });
const orNull = (type: string): Schema => ({ type: [type, "null"] });
const list = (items: Schema, more: Schema = {}): Schema => ({ type: "array", items, ...more });
/** What is answered: more may come. Names with a `?` may be missing. */
const answer = (fields: Readonly<Record<string, Schema>>): Schema => ({
  type: "object",
  required: Object.keys(fields).filter((name) => !name.endsWith("?")),
  properties: Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name.replace("?", ""), schema])),
});
/** What is sent: nothing else may be in it. */
const body = (fields: Readonly<Record<string, Schema>>): Schema => ({ ...answer(fields), additionalProperties: false });

// Hetzner
const hetznerLocation = answer({ id: whole, name: text, country: text, city: text, network_zone: text });
const hetznerAction = answer({
  ...{ id: whole, command: text, status: oneOf("running", "success", "error"), progress: whole },
  ...{ started: text, finished: orNull("string"), resources: list(anything), error: orNull("object") },
});
const money = answer({ net: text, gross: text });
const hetznerType = answer({
  ...{ id: whole, name: text, description: text, cores: whole, memory: number, disk: number },
  ...{ architecture: oneOf("x86", "arm"), cpu_type: oneOf("shared", "dedicated"), storage_type: text },
  prices: list(answer({ location: text, price_hourly: money, price_monthly: money })),
});
const hetznerServer = answer({
  id: whole,
  name: text,
  status: oneOf(
    ...["running", "initializing", "starting", "stopping", "off", "deleting", "migrating", "rebuilding", "unknown"],
  ),
  created: text,
  labels: { type: "object", additionalProperties: text },
  public_net: answer({ ipv4: orNull("object"), ipv6: orNull("object"), floating_ips: list(whole) }),
  server_type: hetznerType,
  "datacenter?": answer({ id: whole, name: text, location: hetznerLocation }),
  ...{ image: orNull("object"), locked: yesNo, rescue_enabled: yesNo, protection: answer({ delete: yesNo }) },
});
const pages = answer({
  pagination: answer({
    ...{ page: whole, per_page: whole, previous_page: orNull("integer"), next_page: orNull("integer") },
    ...{ last_page: orNull("integer"), total_entries: orNull("integer") },
  }),
});
const paged = ["page", "per_page", "name"];
const hetzner: readonly RouteShape[] = [
  {
    ...{ method: "GET", path: "/server_types", query: paged },
    answers: { 200: answer({ server_types: list(hetznerType), meta: pages }) },
  },
  {
    ...{ method: "GET", path: "/servers", query: [...paged, "label_selector", "sort", "status"] },
    answers: { 200: answer({ servers: list(hetznerServer), meta: pages }) },
  },
  { method: "GET", path: "/servers/{}", answers: { 200: answer({ server: hetznerServer }) } },
  {
    method: "POST",
    path: "/servers",
    body: body({
      ...{ name: text, server_type: text, image: text, "location?": text, "user_data?": text },
      "labels?": {
        type: "object",
        additionalProperties: { type: "string", maxLength: 63, pattern: "^([A-Za-z0-9]([\\w.-]*[A-Za-z0-9])?)?$" },
      },
      ...{ "start_after_create?": yesNo, "public_net?": body({ "enable_ipv4?": yesNo, "enable_ipv6?": yesNo }) },
    }),
    answers: {
      201: answer({
        server: hetznerServer,
        action: hetznerAction,
        next_actions: list(hetznerAction),
        root_password: orNull("string"),
      }),
    },
  },
  { method: "DELETE", path: "/servers/{}", answers: { 200: answer({ action: hetznerAction }) } },
];

// Lambda
const lambdaType = answer({
  ...{ name: text, description: text, gpu_description: text, price_cents_per_hour: whole },
  specs: answer({ vcpus: whole, memory_gib: whole, storage_gib: whole, gpus: whole }),
});
const lambdaRegion = answer({ name: text, description: text });
const lambdaInstance = answer({
  ...{ id: text, "name?": { type: "string", maxLength: 64 }, "ip?": text },
  status: oneOf("booting", "active", "unhealthy", "terminated", "terminating", "preempted"),
  ...{ ssh_key_names: list(text), file_system_names: list(text), region: lambdaRegion, instance_type: lambdaType },
  actions: answer({
    migrate: anything,
    rebuild: anything,
    restart: anything,
    cold_reboot: anything,
    terminate: anything,
  }),
});
const lambda: readonly RouteShape[] = [
  {
    ...{ method: "GET", path: "/api/v1/instance-types" },
    answers: {
      200: answer({
        data: {
          type: "object",
          additionalProperties: answer({
            instance_type: lambdaType,
            regions_with_capacity_available: list(lambdaRegion),
          }),
        },
      }),
    },
  },
  {
    ...{ method: "GET", path: "/api/v1/instances", query: ["cluster_id"] },
    answers: { 200: answer({ data: list(lambdaInstance) }) },
  },
  {
    ...{ method: "POST", path: "/api/v1/instance-operations/launch" },
    body: body({
      ...{ region_name: text, instance_type_name: text, ssh_key_names: list(text, { minItems: 1, maxItems: 1 }) },
      ...{ "name?": { type: "string", maxLength: 64 }, "user_data?": text },
    }),
    answers: { 200: answer({ data: answer({ instance_ids: list(text) }) }) },
  },
  {
    ...{ method: "POST", path: "/api/v1/instance-operations/terminate" },
    body: body({ instance_ids: list(text, { minItems: 1 }) }),
    answers: { 200: answer({ data: answer({ terminated_instances: list(lambdaInstance) }) }) },
  },
];

// Vast.ai
const is = body({ eq: yesNo });
const vast: readonly RouteShape[] = [
  {
    ...{ method: "POST", path: "/api/v0/bundles" },
    body: body({
      ...{ "limit?": whole, "type?": oneOf("ondemand", "bid", "reserved"), "allocated_storage?": number },
      ...{ "verified?": is, "rentable?": is, "rented?": is },
      "order?": list(list(text), { minItems: 2, maxItems: 2 }),
    }),
    answers: {
      200: answer({
        offers: list(
          answer({
            ...{ id: whole, dph_total: number, num_gpus: whole, "geolocation?": text },
            ...{ "gpu_name?": text, "gpu_ram?": number, "cpu_ram?": number, "cpu_cores_effective?": number },
          }),
        ),
      }),
    },
  },
  {
    ...{ method: "GET", path: "/api/v1/instances" },
    query: ["limit", "after_token", "order_by", "select_cols", "select_filters"],
    answers: {
      200: answer({
        success: yesNo,
        "next_token?": orNull("string"),
        instances: list(
          answer({
            ...{ id: whole, "label?": orNull("string"), "dph_total?": number },
            "actual_status?": oneOf("created", "loading", "running", "stopped", "exited", "offline", "unknown", null),
          }),
        ),
      }),
    },
  },
  {
    ...{ method: "PUT", path: "/api/v0/asks/{}" },
    body: body({
      ...{ image: text, "label?": text, "disk?": number, "onstart?": text, "cancel_unavail?": yesNo },
      "runtype?": oneOf("ssh", "jupyter", "args", "ssh_proxy", "ssh_direct", "jupyter_proxy", "jupyter_direct"),
      "target_state?": oneOf("running", "stopped"),
    }),
    answers: { 200: answer({ success: yesNo, new_contract: whole }) },
  },
  { method: "DELETE", path: "/api/v0/instances/{}", answers: { 200: answer({ success: yesNo, "msg?": text }) } },
];

// RunPod
const pod = answer({
  ...{ id: text, "name?": orNull("string"), "costPerHr?": number, "publicIp?": orNull("string") },
  desiredStatus: oneOf("RUNNING", "EXITED", "TERMINATED"),
});
const runpod: readonly RouteShape[] = [
  { method: "GET", path: "/pods", query: ["name", "desiredStatus", "computeType"], answers: { 200: list(pod) } },
  {
    ...{ method: "POST", path: "/pods" },
    body: body({
      ...{ "name?": { type: "string", maxLength: 191 }, "imageName?": text, "computeType?": oneOf("GPU", "CPU") },
      ...{ "gpuTypeIds?": list(text), "gpuCount?": { type: "integer", minimum: 1 }, "minVCPUPerGPU?": whole },
      ...{ "minRAMPerGPU?": whole, "containerDiskInGb?": orNull("integer"), "volumeInGb?": orNull("integer") },
      ...{ "dataCenterIds?": list({ type: "string", pattern: "^[A-Z]{2,3}-[A-Z]{2,3}-\\d$" }) },
      "dockerStartCmd?": list(text),
    }),
    answers: { 201: pod },
  },
  { method: "DELETE", path: "/pods/{}", answers: { 204: null } },
];

const clouds = { hetzner, lambda, vast, runpod };
export type CloudName = keyof typeof clouds;

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Undefined where none was sent. */
  readonly body?: unknown;
}

/** Holds what is asked and answered against the shapes of one cloud; gives what is wrong with it, in words. */
export function providerSchemas(name: CloudName) {
  const ajv = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true });
  const compiled = new Map<Schema, ValidateFunction>();
  const wrongIn = (schema: Schema, value: unknown): string[] => {
    if (!compiled.has(schema)) compiled.set(schema, ajv.compile(schema));
    const check = compiled.get(schema)!;
    return check(value) ? [] : [ajv.errorsText(check.errors)];
  };
  const routeOf = ({ method, path }: Pick<Exchange, "method" | "path">) =>
    clouds[name].find(
      (route) =>
        route.method === method && new RegExp(`^${route.path.replace("{}", "[A-Za-z0-9_-]{1,64}")}$`).test(path),
    );
  return {
    ofRequest(asked: Exchange): string[] {
      const route = routeOf(asked);
      if (route === undefined) return ["no document names this route"];
      const strange = [...asked.query.keys()].filter((key) => !(route.query ?? []).includes(key));
      const queries = strange.map((key) => `the query has ${key}`);
      if (route.body === undefined) return asked.body === undefined ? queries : [...queries, "it takes no body"];
      return [...queries, ...wrongIn(route.body, asked.body)];
    },
    /** Of an answer that says that it went well. */
    ofAnswer(asked: Exchange, status: number, given: unknown): string[] {
      const schema = routeOf(asked)?.answers[status];
      if (schema === undefined) return [`no document names the answer ${status}`];
      return schema === null ? (given === null ? [] : ["it has no body"]) : wrongIn(schema, given);
    },
  };
}
