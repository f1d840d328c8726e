/** Each variable of several coordinators changes what it names: seen at what is handed to the log and to the lease. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { leaseTimingOf } from "../../cluster/leadership/index.ts";
import { isOperatingError } from "../../kernel/index.ts";
import { bootstrapCoordination } from "../bootstrap.ts";
import { findEngine } from "../cluster/engine/find-engine.ts";
import { logOptionsOf } from "../cluster/log-options.ts";
import { readSettings } from "./read.ts";
import { settingRows } from "./tree.ts";

type Environment = Readonly<Record<string, string>>;

const folder = () => {
  const made = mkdtempSync(join(tmpdir(), "ringrift-settings-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
};
const fileWith = (text: string) => {
  const path = join(folder(), "file");
  writeFileSync(path, text);
  return path;
};
const NATS = ["a", "b", "c"].map((host) => `nats://${host}:4222`).join(",");
const MONITORS = ["a", "b", "c"].map((host) => `http://${host}:8222`).join(",");
const SERVERS = { RINGRIFT_COORDINATORS_SERVERS: NATS, RINGRIFT_COORDINATORS_MONITORS: MONITORS };

const logOf = (environment: Environment) => logOptionsOf(readSettings(environment, "/"));

/** Whether a coordination leads by itself, or says that it does not. */
const ledBy = async (environment: Environment): Promise<string> => {
  const settings = readSettings(environment, "/", { dataDir: folder(), port: 0, logLevel: "ERROR" });
  try {
    await (await bootstrapCoordination({ settings })).shutdown();
    return "itself";
  } catch (thrown) {
    return isOperatingError(thrown) ? thrown.code : String(thrown);
  }
};

interface Behaviour {
  readonly see: (environment: Environment) => unknown;
  readonly beside?: Environment;
  readonly without: unknown;
  readonly set: () => string;
  readonly with: unknown;
}

const behaviours: Readonly<Record<string, Behaviour>> = {
  "p2p.raft_enabled": { see: ledBy, beside: SERVERS, without: "itself", set: () => "true", with: "IS_A_MEMBER" },
  "coordinators.servers": {
    see: (environment) => {
      try {
        return logOf(environment).servers;
      } catch (thrown) {
        return isOperatingError(thrown) ? thrown.code : thrown;
      }
    },
    beside: { RINGRIFT_COORDINATORS_MONITORS: MONITORS },
    without: "INVALID_SETTING",
    set: () => NATS,
    with: NATS.split(","),
  },
  "coordinators.monitors": {
    see: (environment) => {
      try {
        return logOf(environment).monitors;
      } catch (thrown) {
        return isOperatingError(thrown) ? thrown.code : thrown;
      }
    },
    beside: { RINGRIFT_COORDINATORS_SERVERS: NATS },
    without: "INVALID_SETTING",
    set: () => MONITORS,
    with: MONITORS.split(","),
  },
  "coordinators.stream": { see: (env) => logOf(env).stream, without: "ringrift", set: () => "games", with: "games" },
  "coordinators.nats_user": {
    see: (environment) => {
      try {
        return logOf(environment).user;
      } catch (thrown) {
        return isOperatingError(thrown) ? thrown.code : thrown;
      }
    },
    beside: { RINGRIFT_COORDINATORS_NATS_PASSWORD_FILE: "(password)" },
    without: "INVALID_SETTING",
    set: () => "ringrift",
    with: { name: "ringrift", password: "correct-horse-battery" },
  },
  "coordinators.nats_password_file": {
    see: (environment) => {
      try {
        return logOf(environment).user?.password;
      } catch (thrown) {
        return isOperatingError(thrown) ? thrown.code : thrown;
      }
    },
    beside: { RINGRIFT_COORDINATORS_NATS_USER: "ringrift" },
    without: "INVALID_SETTING",
    set: () => "(password)",
    with: "correct-horse-battery",
  },
  "coordinators.nats_ca_file": {
    see: (environment) => logOf(environment).tls,
    without: undefined,
    set: () => "/etc/ca.pem",
    with: { caFile: "/etc/ca.pem" },
  },
  "coordinators.preferred": {
    see: (environment) => readSettings(environment, "/").coordinators.preferred,
    without: false,
    set: () => "true",
    with: true,
  },
  "coordinators.lease": {
    see: (environment) => leaseTimingOf(readSettings(environment, "/").coordinators.leaseMs),
    without: { leaseMs: 12_000, marginMs: 2_000, beatMs: 3_000, headStartMs: 3_000 },
    set: () => "24",
    with: { leaseMs: 24_000, marginMs: 4_000, beatMs: 6_000, headStartMs: 6_000 },
  },
  "coordinators.engine": {
    see: (environment) => {
      try {
        return findEngine(readSettings(environment, "/").coordinators.engine).program;
      } catch (thrown) {
        return isOperatingError(thrown) ? thrown.message : thrown;
      }
    },
    beside: { RINGRIFT_COORDINATORS_ENGINE: "/nowhere/nats-server" },
    without: "'/nowhere/nats-server' is no nats-server that runs here",
    set: () => "/elsewhere/nats-server",
    with: "'/elsewhere/nats-server' is no nats-server that runs here",
  },
  "coordinators.log_keep": {
    see: (environment) => readSettings(environment, "/").coordinators.logKeepMs,
    without: 3_600_000,
    set: () => "60",
    with: 60_000,
  },
};

const rows = settingRows.filter(({ key }) => key in behaviours);

test("each of them is a setting, and changes something", () => {
  expect(rows.map(({ key }) => key).sort()).toEqual(Object.keys(behaviours).sort());
  for (const behaviour of Object.values(behaviours)) expect(behaviour.with).not.toEqual(behaviour.without);
});

test.each(rows.map(({ key, variable }) => ({ key, variable })))(
  "$variable changes what one sees",
  async ({ key, variable }) => {
    const { see, without, set, with: seen, beside = {} } = behaviours[key]!;
    const secret = fileWith("correct-horse-battery\n");
    const filled = (environment: Environment) =>
      Object.fromEntries(
        Object.entries(environment).map(([name, text]) => [name, text === "(password)" ? secret : text]),
      );
    expect(await see(filled(beside))).toEqual(without);
    expect(await see(filled({ ...beside, [variable]: set() }))).toEqual(seen);
  },
);
