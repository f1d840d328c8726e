import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { PATIENT } from "../../../../test/support/patience.ts";
import { type ProviderWorld, providerContract } from "../../../cluster/fleet/provider.contract.ts";
import { systemClock } from "../../../kernel/index.ts";
import { localProvider } from "./local-provider.ts";
import { isAlive } from "./process-identity.ts";

/** Stands for the program: it keeps what it was given, and waits until it is told to end. */
const PROGRAM = `
const { writeFileSync } = require("node:fs");
writeFileSync("given.json", JSON.stringify({ args: process.argv.slice(2), env: process.env }));
setInterval(() => {}, 1000);
`;
const start: ProviderWorld["start"] = {
  url: "http://127.0.0.1:8770",
  fingerprint: null,
  token: "rrt_a_token_of_the_test",
  tags: ["rented"],
  deadManMs: 7_200_000,
  program: { install: "ringrift-coordination" },
};
const { signal } = new AbortController();

function open() {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-local-"));
  writeFileSync(join(folder, "program.cjs"), PROGRAM);
  const machines = join(folder, "machines");
  const provider = localProvider({
    folder: machines,
    command: [process.execPath, join(folder, "program.cjs")],
    env: { ...process.env, RINGRIFT_FLEET_HETZNER_KEY_FILE: "/secret/of/the/coordinator", RINGRIFT_PORT: "8770" },
    max: 3,
    slots: 2,
    priceUsdHour: 0.1,
    memoryGb: 1,
    clock: systemClock(),
  });
  onTestFinished(async () => {
    for (const { machine_id } of await provider.list(signal)) await provider.terminate(machine_id, signal);
    rmSync(folder, { recursive: true, force: true });
  });
  return { provider, machines };
}

const order = async (provider: ReturnType<typeof open>["provider"], label: string) => ({
  label,
  offer: (await provider.offers(signal))[0]!,
  max_price_usd_hour: 1,
  start: { ...start, label },
});

providerContract("processes on this machine", {
  open: async () => {
    const { provider, machines } = open();
    return {
      provider,
      start,
      exists: async (id) => existsSync(join(machines, id)),
      until: (condition) => vi.waitFor(async () => expect(await condition()).toBe(true), PATIENT),
      async stranger() {
        mkdirSync(join(machines, "somebody-elses"), { recursive: true });
        return "somebody-elses";
      },
    };
  },
});

test("a machine joins with its own token and folder, and learns nothing of the coordinator's settings", async () => {
  const { provider, machines } = open();
  const label = "rr-abcdefgh-01jcxkq8ca7ssawmw1s6ht6j5p";
  await provider.create(await order(provider, label), signal);
  const path = join(machines, label, "given.json");
  await vi.waitFor(() => expect(JSON.parse(readFileSync(path, "utf8"))).toBeDefined(), PATIENT);
  const { args, env } = JSON.parse(readFileSync(path, "utf8")) as { args: string[]; env: Record<string, string> };
  expect(args).toEqual([
    ...["--data-dir", join(machines, label, "data"), "join", start.url, "--label", label, "--slots", "2"],
    ...["--token-file", join(machines, label, "join-token")],
  ]);
  expect(Object.keys(env).filter((name) => name.startsWith("RINGRIFT_"))).toEqual([
    "RINGRIFT_WORKER_TAGS",
    "RINGRIFT_WORKER_CPUS",
    "RINGRIFT_WORKER_DEAD_MAN",
  ]);
  expect(env.RINGRIFT_WORKER_DEAD_MAN).toBe("7200");
});

test("no more than allowed; a process that died is stopped and not gone; a reboot starts it again", async () => {
  const { provider, machines } = open();
  for (const name of ["one", "two", "three"]) await provider.create(await order(provider, name), signal);
  await expect(provider.create(await order(provider, "four"), signal)).rejects.toMatchObject({
    code: "PROVIDER_SOLD_OUT",
  });
  const fileOf = () => JSON.parse(readFileSync(join(machines, "one", "machine.json"), "utf8")) as Record<string, never>;
  const { pid, started } = fileOf() as unknown as { pid: number; started: string };
  expect(isAlive(pid, started)).toBe(true);
  expect(isAlive(pid, "1"), "another process of the same number is another").toBe(false);
  process.kill(pid, "SIGKILL");
  const state = async () => (await provider.list(signal)).find(({ machine_id }) => machine_id === "one")?.state;
  await vi.waitFor(async () => expect(await state()).toBe("stopped"), PATIENT);
  await provider.reboot!("one", signal);
  expect(await state()).toBe("running");
  expect((fileOf() as unknown as { pid: number }).pid).not.toBe(pid);
  await expect(provider.reboot!("none", signal)).rejects.toMatchObject({ code: "PROVIDER_MACHINE_NOT_FOUND" });
});
