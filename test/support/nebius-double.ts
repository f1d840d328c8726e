/**
 * A small Nebius in this process: platforms with presets, a calculator of prices, instances page by page, and tokens for service accounts.
 * It takes and gives messages as nebius/api (compute/v1, billing/v1, common/v1, iam/v1) says; what is asked otherwise is noted.
 */
import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { type Decoded, decode, encode } from "../../src/adapters/providers/nebius/protobuf.ts";

interface Instance {
  readonly id: string;
  readonly label: string | null;
  state: number;
  readonly address: string | null;
}

export const NEBIUS_PROJECT = "project-e00abc";
const ACCESS_TOKEN = "an-access-token-of-the-double";
const PER_PAGE = 2;
const METHOD_TAKES_A_TOKEN = "nebius.iam.v1.TokenExchangeService/Exchange";

/** Platform, title, preset, processors, memory, accelerators, their memory, and what an hour costs. */
const PRESETS = [
  ["cpu-d3", "AMD EPYC Genoa", "4vcpu-16gb", 4, 16, 0, 0, "0.0992"],
  ["cpu-d3", "AMD EPYC Genoa", "8vcpu-32gb", 8, 32, 0, 0, "0.1984"],
  ["gpu-h100-sxm", "NVIDIA H100", "1gpu-16vcpu-200gb", 16, 200, 1, 80, "2.95"],
  // Of this one nobody says what it costs.
  ["gpu-h100-sxm", "NVIDIA H100", "8gpu-128vcpu-1600gb", 128, 1_600, 8, 80, null],
] as const;

export interface NebiusDouble {
  readonly url: string;
  readonly instances: Instance[];
  /** Methods in the order in which they were called. */
  readonly asked: string[];
  /** What no document says of a request. */
  readonly wrong: string[];
  /** The key file of its service account. */
  readonly keyFile: string;
  /** Answers every call with this status of gRPC, and these words. */
  fails: { readonly status: number; readonly said: string } | undefined;
  /** Bends the bytes of the next answers. */
  bend: ((bytes: Uint8Array) => Uint8Array) | undefined;
  /** The last page follows itself. */
  isEndless: boolean;
  currency: string;
  close(): void;
}

function platforms(): Uint8Array {
  const names = [...new Set(PRESETS.map(([platform]) => platform))];
  return encode(
    ...names.map((name): readonly [number, Uint8Array] => {
      const own = PRESETS.filter(([platform]) => platform === name);
      const presets = own.map(([, , preset, cpus, memory, gpus]): readonly [number, Uint8Array] => [
        1,
        encode([1, preset], [2, encode([1, cpus], [3, memory], [4, gpus === 0 ? undefined : gpus])]),
      ]);
      const [, title, , , , gpus, gpuMemory] = own[0]!;
      const spec = encode(...presets, [4, title], [12, gpus === 0 ? undefined : gpuMemory]);
      return [1, encode([1, encode([1, `platform-${name}`], [3, name])], [2, spec])];
    }),
  );
}

/** As the calculator would: one cost for each, in the order that it likes, and a month beside the hour. */
function prices(request: Decoded, currency: string, wrong: string[]): Uint8Array {
  const costs = request.messages(1).flatMap((spec): (readonly [number, Uint8Array])[] => {
    const any = spec.message(1);
    if (any?.text(1) !== "type.googleapis.com/nebius.compute.v1.CreateInstanceRequest")
      wrong.push("what is priced is no create");
    const create = any?.message(2);
    if (create?.message(1)?.text(2) !== NEBIUS_PROJECT) wrong.push("a create without its project");
    const size = create?.message(2)?.message(2);
    const found = PRESETS.find(([platform, , preset]) => platform === size?.text(1) && preset === size.text(2));
    const name = create?.message(1)?.text(3) ?? "";
    const cost = found?.[7];
    if (cost == null) return [];
    const of = (unit: string, amount: string): readonly [number, Uint8Array] => [
      1,
      encode(
        [1, encode([3, name])],
        [4, encode([1, unit], [2, 1])],
        [20, encode([1, encode([2, amount], [3, amount])])],
      ),
    ];
    return [of("month", String(Number(cost) * 730)), of("hour", cost)];
  });
  return encode(...costs.toReversed(), [20, currency]);
}

const instanceBytes = ({ id, label, state, address }: Instance): Uint8Array =>
  encode(
    [1, encode([1, id], [3, "somebody's"], [7, label === null ? undefined : encode([1, "ringrift"], [2, label])])],
    [3, encode([1, state], [2, address === null ? undefined : encode([4, encode([1, `${address}/32`])])])],
  );

export async function nebiusDouble(): Promise<NebiusDouble> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" });
  const account = {
    alg: "RS256",
    "private-key": pem,
    kid: "publickey-e00one",
    iss: "serviceaccount-e00one",
    sub: "serviceaccount-e00one",
  };

  const tokenFor = (request: Decoded): Uint8Array => {
    const [head = "", body = "", signature = ""] = request.text(3).split(".");
    const about = JSON.parse(Buffer.from(head, "base64url").toString());
    const says = JSON.parse(Buffer.from(body, "base64url").toString());
    const isSigned = verify(
      "sha256",
      Buffer.from(`${head}.${body}`),
      createPublicKey(publicKey.export({ type: "spki", format: "pem" })),
      Buffer.from(signature, "base64url"),
    );
    if (!isSigned) double.wrong.push("the token is not signed by the account");
    if (about.alg !== "RS256" || about.kid !== account.kid) double.wrong.push("the token does not name its key");
    if (says.iss !== account.iss || says.sub !== account.sub || !(says.exp > says.iat))
      double.wrong.push("the token says too little");
    if (request.text(1) !== "urn:ietf:params:oauth:grant-type:token-exchange")
      double.wrong.push("that is no exchange of tokens");
    if (request.text(4) !== "urn:ietf:params:oauth:token-type:jwt")
      double.wrong.push("the kind of the token is not said");
    return encode([1, ACCESS_TOKEN], [2, "urn:ietf:params:oauth:token-type:access_token"], [3, "Bearer"], [4, 43_200]);
  };
  const page = (token: string): Uint8Array => {
    const from = Number(token === "" ? 0 : token);
    const some = double.instances.slice(from, from + PER_PAGE);
    const isLast = from + PER_PAGE >= double.instances.length;
    const next = double.isEndless ? token || "0" : isLast ? undefined : String(from + PER_PAGE);
    return encode(...some.map((one): readonly [number, Uint8Array] => [1, instanceBytes(one)]), [2, next]);
  };
  const answer = (method: string, request: Decoded): Uint8Array | undefined => {
    switch (method) {
      case METHOD_TAKES_A_TOKEN:
        return tokenFor(request);
      case "nebius.compute.v1.PlatformService/List":
        if (request.text(3) !== NEBIUS_PROJECT) double.wrong.push("platforms of no project");
        return platforms();
      case "nebius.billing.v1.CalculatorService/EstimateBatch":
        return prices(request, double.currency, double.wrong);
      case "nebius.compute.v1.InstanceService/List":
        if (request.text(1) !== NEBIUS_PROJECT) double.wrong.push("instances of no project");
        return page(request.text(3));
      default:
        double.wrong.push(`no document names ${method}`);
        return undefined;
    }
  };
  const serve = async (stream: ServerHttp2Stream, headers: Readonly<Record<string, unknown>>) => {
    const method = String(headers[":path"]).slice(1);
    double.asked.push(method);
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    if (headers["content-type"] !== "application/grpc" || headers.te !== "trailers")
      double.wrong.push("that is not gRPC");
    if (body.readUInt32BE(1) !== body.length - 5) double.wrong.push("the length of the message is wrong");
    const refuse = (status: number, said: string) =>
      stream.respond(
        {
          ":status": 200,
          "content-type": "application/grpc",
          "grpc-status": String(status),
          "grpc-message": encodeURIComponent(said),
        },
        { endStream: true },
      );
    if (double.fails !== undefined) return refuse(double.fails.status, double.fails.said);
    if (method !== METHOD_TAKES_A_TOKEN && headers.authorization !== `Bearer ${ACCESS_TOKEN}`)
      return refuse(16, `who is ${String(headers.authorization)}?`);
    const found = answer(method, decode(body.subarray(5)));
    if (found === undefined) return refuse(12, "there is no such method");
    const message = Buffer.from(
      method !== METHOD_TAKES_A_TOKEN && double.bend !== undefined ? double.bend(found) : found,
    );
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.concat([prefix, message]));
  };
  const server = createServer();
  const sessions = new Set<{ destroy(): void }>();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    void serve(stream, headers);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const double: NebiusDouble = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    instances: [],
    asked: [],
    wrong: [],
    keyFile: JSON.stringify({ "subject-credentials": account }, null, 2),
    fails: undefined,
    bend: undefined,
    isEndless: false,
    currency: "usd",
    close() {
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
  return double;
}
