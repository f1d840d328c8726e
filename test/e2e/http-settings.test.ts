/** Each setting of the API changes what it names: seen at a surface that runs, not at the parsed value. */
import { writeFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, expect, test } from "vitest";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import { readSettings, settingRows } from "../../src/app/settings.ts";
import { silentLog } from "../../src/kernel/index.ts";
import { selfSigned } from "../support/certificate.ts";
import { freePort, owned } from "../support/process.ts";
import { ask, type Where } from "../support/surface.ts";

const own = owned();
afterAll(() => own.end());

type Env = Readonly<Record<string, string>>;
interface Running {
  readonly where: Where;
  readonly port: number;
  readonly token: string;
}

/** Starts as the environment says; `refused` with the code where it does not. */
async function seen(env: Env, see: (running: Running) => Promise<unknown>): Promise<unknown> {
  const dataDir = own.folder();
  try {
    const settings = readSettings({ RINGRIFT_PORT: "0", ...env }, dataDir, { dataDir });
    const coordination = await bootstrapCoordination({ settings, log: silentLog() });
    const { port, secure, socketPath } = coordination.api;
    const made = await ask({ socketPath }, "/v1/tokens", { method: "POST", body: { label: "t", scope: "read" } });
    try {
      return await see({ where: { host: "127.0.0.1", port, secure }, port, token: String(made.json.token) });
    } finally {
      await coordination.shutdown();
    }
  } catch (thrown) {
    return (thrown as { code?: string }).code ?? String(thrown);
  }
}

const status =
  (path: string, more = {}) =>
  async ({ where }: Running) =>
    (await ask(where, path, more)).status;
const [one, two] = [await freePort(), await freePort()];
const secret = join(own.folder(), "secret");
writeFileSync(secret, "a-secret-of-somebody\n");
const [first, second] = [selfSigned(own.folder(), "one.example"), selfSigned(own.folder(), "two.example")];
const others = Object.values(networkInterfaces())
  .flat()
  .find((each) => each !== undefined && each.family === "IPv4" && !each.internal)?.address;
const fingerprint = ({ port }: Running) =>
  new Promise<string>((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().subject.CN as string);
      socket.destroy();
    });
    socket.once("error", reject);
  });
const tls = (pair: typeof first): Env => ({
  RINGRIFT_TLS_CERT_FILE: pair?.cert ?? "",
  RINGRIFT_TLS_KEY_FILE: pair?.key ?? "",
});
const open: Env = { RINGRIFT_HOST: "0.0.0.0", RINGRIFT_ALLOW_PLAIN_HTTP: "1" };

interface Behaviour {
  readonly cases: readonly (readonly [env: Env, seen: unknown])[];
  readonly see: (running: Running) => Promise<unknown>;
  readonly without?: boolean;
}

const behaviours: Readonly<Record<string, Behaviour>> = {
  "api.port": {
    cases: [
      [{ RINGRIFT_PORT: String(one) }, one],
      [{ RINGRIFT_PORT: String(two) }, two],
    ],
    see: async ({ port, where }) => ((await ask(where, "/livez")).status === 200 ? port : 0),
  },
  "api.token_file": {
    cases: [
      [{}, 401],
      [{ RINGRIFT_TOKEN_FILE: secret }, 200],
    ],
    see: status("/status", { token: "a-secret-of-somebody" }),
  },
  "api.host": {
    cases: [
      [{ RINGRIFT_ALLOW_PLAIN_HTTP: "1" }, "ECONNREFUSED"],
      [open, 200],
    ],
    see: ({ port }) => ask({ host: others!, port }, "/livez").then((answer) => answer.status),
    without: others === undefined,
  },
  "api.server_name": {
    cases: [
      [open, 403],
      [{ ...open, RINGRIFT_SERVER_NAME: "coordinator.example" }, 200],
    ],
    see: async ({ where, token }) =>
      (await ask(where, "/status", { token, headers: { host: "coordinator.example:8770" } })).status,
  },
  "api.local_reads": {
    cases: [
      [{}, 200],
      [{ RINGRIFT_LOCAL_READS: "false" }, 401],
    ],
    see: status("/status"),
  },
  "api.tls_cert_file": {
    cases: [
      [tls(first), "one.example"],
      [tls(second), "two.example"],
    ],
    see: fingerprint,
    without: first === undefined,
  },
  "api.tls_key_file": {
    cases: [
      [tls(first), "one.example"],
      [{ ...tls(first), RINGRIFT_TLS_KEY_FILE: second?.key ?? "" }, "TLS_UNUSABLE"],
    ],
    see: fingerprint,
    without: first === undefined,
  },
  "api.allow_plain_http": {
    cases: [
      [{ RINGRIFT_HOST: "0.0.0.0" }, "INVALID_SETTING"],
      [open, 200],
    ],
    see: status("/livez"),
  },
  "api.rate_factor": {
    cases: [
      [{}, 200],
      [{ RINGRIFT_RATE_FACTOR: "0.01" }, 429],
    ],
    async see({ where }) {
      for (let i = 0; i < 3; i += 1) await ask(where, "/v1/daemons");
      return (await ask(where, "/v1/daemons")).status;
    },
  },
};

const rows = settingRows.filter(({ key }) => key.startsWith("api."));
const cases = rows.flatMap(({ key }) =>
  behaviours[key]?.without ? [] : (behaviours[key]?.cases ?? []).map(([env, expected]) => ({ key, env, expected })),
);

test.each(cases)("$key: with $env one sees $expected", async ({ key, env, expected }) => {
  expect(await seen(env, behaviours[key]!.see)).toEqual(expected);
});

test("every setting of the API is shown to change something", () => {
  for (const { key } of rows) {
    const outcomes = (behaviours[key]?.cases ?? []).map(([, each]) => JSON.stringify(each));
    expect(new Set(outcomes).size, key).toBeGreaterThan(1);
  }
  expect(Object.keys(behaviours).sort()).toEqual(rows.map(({ key }) => key).sort());
});

test("the machine's own name is one of its names", async () => {
  const host = hostname().toLowerCase();
  expect(
    await seen(open, async ({ where, token }) => (await ask(where, "/status", { token, headers: { host } })).status),
  ).toBe(200);
});
