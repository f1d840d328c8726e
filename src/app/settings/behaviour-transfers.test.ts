/** Each variable of transfers changes what it names: seen at what a joined node makes of it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readPlaces } from "../worker/places.ts";
import { type TransferPlan, transferPlan } from "../worker/serving-plan.ts";
import { readSettings } from "./read.ts";
import { settingRows } from "./tree.ts";

const plain = { RINGRIFT_ALLOW_PLAIN_HTTP: "true" };
const far = new URL("https://coordinator.example:8770");
const near = new URL("http://127.0.0.1:8770");
const planOf = (environment: Readonly<Record<string, string>>, main = far): TransferPlan =>
  transferPlan(readSettings({ ...plain, ...environment }, "/"), main);
const files = { RINGRIFT_TRANSFERS_TLS_CERT_FILE: "/c.pem", RINGRIFT_TRANSFERS_TLS_KEY_FILE: "/k.pem" };

interface Behaviour {
  readonly see: (environment: Readonly<Record<string, string>>) => unknown;
  readonly without: unknown;
  readonly set: string;
  readonly with: unknown;
}

const behaviours: Readonly<Record<string, Behaviour>> = {
  "transfers.serve_host": { see: (env) => planOf(env).host, without: null, set: "10.0.0.7", with: "10.0.0.7" },
  "transfers.serve_port": { see: (env) => planOf(env).port, without: 0, set: "9000", with: 9_000 },
  "transfers.serve_name": { see: (env) => planOf(env).name, without: null, set: "box-1", with: "box-1" },
  "transfers.further_names": {
    see: (env) => planOf(env).further,
    without: [],
    set: "100.64.0.7, box.vpn",
    with: ["100.64.0.7", "box.vpn"],
  },
  "transfers.tls_cert_file": {
    see: (env) => planOf({ ...files, ...env }).tls?.certFile,
    without: "/c.pem",
    set: "/other.pem",
    with: "/other.pem",
  },
  "transfers.tls_key_file": {
    see: (env) => planOf({ ...files, ...env }).tls?.keyFile,
    without: "/k.pem",
    set: "/other.pem",
    with: "/other.pem",
  },
  "transfers.relay": { see: (env) => planOf(env).relay, without: true, set: "false", with: false },
  "transfers.max_rate": { see: (env) => planOf(env).maxBytesPerSecond, without: null, set: "2.5", with: 2_500_000 },
  "transfers.parallel": { see: (env) => planOf(env).atOnce, without: 4, set: "1", with: 1 },
  "transfers.stall": { see: (env) => planOf(env).stallMs, without: 20_000, set: "5", with: 5_000 },
  "transfers.places_file": {
    see: (env) => readSettings(env, "/").transfers.placesFile,
    without: undefined,
    set: "/places.json",
    with: "/places.json",
  },
};

const rows = settingRows.filter(({ key }) => key.startsWith("transfers."));

test("each of them is a setting, and changes something", () => {
  expect(rows.map(({ key }) => key).sort()).toEqual(Object.keys(behaviours).sort());
});

test.each(rows.map(({ key, variable }) => ({ key, variable })))(
  "$variable changes what one sees",
  ({ key, variable }) => {
    const { see, without, set, with: seen } = behaviours[key]!;
    expect(see({})).toEqual(without);
    expect(see({ [variable]: set })).toEqual(seen);
  },
);

test("beyond loopback a node serves over TLS or not at all, and on one machine it needs nothing", () => {
  expect(() => readSettings({ RINGRIFT_TRANSFERS_SERVE_HOST: "10.0.0.7" }, "/")).toThrow("served over TLS");
  expect(() => readSettings({ RINGRIFT_TRANSFERS_TLS_CERT_FILE: "/c.pem" }, "/")).toThrow("needs its key");
  expect(planOf({ RINGRIFT_TRANSFERS_SERVE_HOST: "10.0.0.7", ...files }).host).toBe("10.0.0.7");
  expect(planOf({}, near)).toMatchObject({ host: "127.0.0.1", name: "127.0.0.1", relay: false });
});

test("places are read with paths beside their file and secrets from files of their own; what is unknown is refused", () => {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-places-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "places.json");
  const write = (places: unknown) => writeFileSync(file, JSON.stringify({ places }));
  writeFileSync(join(folder, "secret"), "hush\n");
  const s3 = { transport: "s3", endpoint: "https://s3.example", bucket: "b", access_key_id: "a", disk: "store" };
  write([
    { transport: "folder", path: "archive", disk: "archive-1" },
    { ...s3, secret_access_key_file: "secret" },
  ]);
  expect(readPlaces(file)).toMatchObject([
    { transport: "folder", path: join(folder, "archive"), disk: "archive-1" },
    { transport: "s3", accessKeyId: "a", secretAccessKey: "hush" },
  ]);
  write([{ transport: "folder", path: "archive" }]);
  expect(() => readPlaces(file)).toThrow(expect.objectContaining({ code: "PLACES_INVALID" }) as Error);
  write([{ ...s3, secret_access_key: "in the open" }]);
  expect(() => readPlaces(file)).toThrow(expect.objectContaining({ code: "PLACES_INVALID" }) as Error);
});
