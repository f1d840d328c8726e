import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { owned } from "../../../test/support/process.ts";
import { nodeTimingDefaults } from "../../cluster/nodes/timing.ts";
import { isOperatingError } from "../../kernel/index.ts";
import { type Setting, settingValues } from "../../kernel/settings/index.ts";
import { defaultRouterSettings } from "../../router/index.ts";
import { settingChecks } from "./checks.ts";
import { MAX_CONFIG_BYTES } from "./config-file.ts";
import { inspectSettings, readSettings } from "./read.ts";
import { fromEnvironment, fromFile, fromFlags, placeOf, resolveSettings } from "./resolve.ts";
import { settingRows, settingTree } from "./tree.ts";

const folder = () => owned(onTestFinished).folder();

/** A folder with this text, or this object, as its file of settings. */
function withFile(contents: unknown): { cwd: string; file: string } {
  const cwd = folder();
  const file = join(cwd, "ringrift.config.json");
  writeFileSync(file, typeof contents === "string" ? contents : JSON.stringify(contents, null, 2));
  return { cwd, file };
}

const problems = (environment: Record<string, string>, cwd = "/", given = {}) =>
  inspectSettings(environment, cwd, given).problems.map(({ message }) => message);

const refusal = (environment: Record<string, string>, cwd = "/", given = {}) => {
  try {
    readSettings(environment, cwd, given);
  } catch (thrown) {
    if (isOperatingError(thrown, "INVALID_SETTING")) return thrown;
    throw thrown;
  }
  throw new Error("it was taken");
};

const bounds = ({ kind }: Setting<unknown>): [number, number] | undefined => {
  const read = /^([\d.]+) to ([\d.]+)$/.exec(kind.range);
  return read === null ? undefined : [Number(read[1]), Number(read[2])];
};
const isWhole = ({ kind }: Setting<unknown>) => kind.expects.startsWith("a whole number");
const byKey = new Map(settingRows.map((row) => [row.key, row]));
const numbers = settingRows.flatMap((row) => {
  const range = bounds(row);
  return range === undefined ? [] : [{ key: row.key, row, least: range[0], most: range[1] }];
});

/** Any value that a row takes, as it is written in JSON. */
const anyValue = (row: Setting<unknown>): fc.Arbitrary<string | number | boolean> => {
  const range = bounds(row);
  if (range !== undefined) {
    const [min, max] = range;
    return isWhole(row) ? fc.integer({ min, max }) : fc.double({ min, max, noNaN: true }).map((x) => x || 0);
  }
  if (row.kind.range === "true, false") return fc.boolean();
  if (row.kind.expects.startsWith("one of")) return fc.constantFrom(...row.kind.range.split(", "));
  if (row.kind.range === "a path of a file") return fc.stringMatching(/^\/[a-z]{1,8}$/);
  if (row.key === "coordinators.servers") return fc.stringMatching(/^nats:\/\/[a-z]{1,8}:4222$/);
  if (row.kind.expects.startsWith("a list of addresses")) return fc.stringMatching(/^http:\/\/[a-z]{1,8}:8222$/);
  if (row.kind.expects.startsWith("an address")) return fc.stringMatching(/^https:\/\/[a-z]{1,8}\/[a-z]{3,8}$/);
  return fc.stringMatching(/^[a-z]{1,8}$/);
};
/** The rows that can be set everywhere with any value: not the file's own place, and no secret. */
const plain = settingRows.filter((row) => !row.notInFile && !row.kind.secret);

describe("precedence", () => {
  const sources = fc.record(
    Object.fromEntries(
      plain.map((row) => [
        row.key,
        fc.record({
          flag: fc.option(anyValue(row)),
          environment: fc.option(anyValue(row)),
          file: fc.option(anyValue(row)),
        }),
      ]),
    ),
  );

  test("a flag beats the environment, the environment the file, the file the default; each value knows its origin", () => {
    const world = { hostName: "host", dataDir: "/data", configFile: undefined };
    fc.assert(
      fc.property(sources, (written) => {
        const of = (source: "flag" | "environment" | "file") =>
          Object.entries(written).flatMap(([key, from]) =>
            from[source] === null ? [] : [[key, from[source]] as const],
          );
        const entries = of("file").map(([key, value], i) => ({ path: key.split("."), value, line: i + 1 }));
        const variables = of("environment").map(([key, value]) => [byKey.get(key)!.variable, `${value}`]);
        const flags = new Map<string, unknown>(of("flag"));
        const given = settingValues(settingTree, ({ key }) => flags.get(key));
        const { settings } = resolveSettings(
          [
            fromFlags(given, "/"),
            fromEnvironment(Object.fromEntries(variables), "/"),
            fromFile({ path: "/etc/ringrift.config.json", entries }),
          ],
          world,
          undefined,
        );
        for (const row of plain) {
          const { key } = row;
          const { flag, environment, file } = written[key]!;
          const { value, origin, sound } = settings.get(key)!;
          const [expected, from] =
            flag !== null
              ? [row.kind.outside(row.kind.inside(flag)), row.flag ?? `argument ${key}`]
              : environment !== null
                ? [environment, row.variable]
                : file !== null
                  ? [file, `/etc/ringrift.config.json:${entries.findIndex(({ path }) => path.join(".") === key) + 1}`]
                  : [row.fallback(world), "default"];
          expect(sound).toBe(true);
          expect(placeOf(origin), key).toBe(from);
          if (!row.kind.range.startsWith("a path")) expect(value, key).toEqual(expected);
        }
      }),
      { numRuns: 200 },
    );
  });

  test("the parts get what the four sources say, in their own units", () => {
    const { cwd } = withFile({
      api: { port: 4_000 },
      "log.level": "warn",
      router: { handler_timeout: 1.001, retry_most: 5, window: 64 },
    });
    const environment = { RINGRIFT_LOG_LEVEL: "error", RINGRIFT_EVENT_RETRY_MOST: "7", RINGRIFT_EVENT_WINDOW: "65" };
    expect(readSettings(environment, cwd, { router: { window: 66 } })).toEqual({
      dataDir: join(cwd, ".ringrift"),
      configFile: join(cwd, "ringrift.config.json"),
      nodeId: hostname(),
      profile: "coordinator",
      port: 4_000,
      logLevel: "ERROR",
      router: { ...defaultRouterSettings, handlerTimeoutMs: 1_001, retryMostMs: 7_000, window: 66 },
      daemons: expect.objectContaining({ maxRestartAttempts: 5, recoveryCooldownMs: 10_000 }),
      api: {
        host: "127.0.0.1",
        serverName: undefined,
        localReads: true,
        tlsCertFile: undefined,
        tlsKeyFile: undefined,
        allowPlainHttp: false,
        rateFactor: 1,
      },
      logFile: { maxBytes: 20_000_000, files: 5 },
      watchdog: { blockedAfterMs: 1_000 },
      maintenance: { integrityEveryMs: 86_400_000 },
      token: undefined,
      transfers: expect.objectContaining({ servePort: 0, relay: true, maxRate: 0, parallel: 4, stallMs: 20_000 }),
      resources: {
        cpu: { high: 0.8, critical: 0.95 },
        memory: { high: 0.85, critical: 0.95 },
        disk: { high: 0.85, critical: 0.95 },
      },
      alerts: {
        webhookUrl: undefined,
        webhookSecret: undefined,
        slackUrl: undefined,
        leastSeverity: "warning",
        messagesPerMinute: 10,
        rulesFile: undefined,
      },
      fleet: expect.objectContaining({ budget: { usdPerHour: 0, usdPerDay: 0 }, min: 0, idleAfterMs: 900_000 }),
      localWorkers: 0,
      loop: { configs: [], allowPendingGate: false, oldChampionMs: 1_800_000 },
      worker: expect.objectContaining({ graceMs: 60_000, beatMs: 10_000, tags: [] }),
      nodes: {
        timing: nodeTimingDefaults,
        healthEveryMs: 10_000,
        stallMs: 1_800_000,
        maxOfToken: 1_000,
        requiredGpus: 0,
      },
      recovery: { enabled: true, observeMs: 60_000, patienceMs: 300_000, actsPerHour: 6 },
      p2p: { swimEnabled: false, swimPort: 0, raftEnabled: false },
      coordinators: {
        ...{ servers: [], monitors: [], stream: "ringrift", user: undefined, password: undefined, caFile: undefined },
        ...{ preferred: false, leaseMs: 12_000, logKeepMs: 3_600_000, engine: "nats-server" },
      },
      work: {
        leaseSilenceMs: 60_000,
        progressFloorMs: 60_000,
        progressFactor: 3,
        maxHeldByNode: 256,
        maxHeldByToken: 1_000,
        firstProgressMs: 600_000,
        targetUsage: 0.9,
        pressure: { soft: 500, hard: 900, stop: 1_000, targetDelaySeconds: 600 },
      },
      artifacts: {
        graceMs: 600_000,
        maxBytes: 16 * 1_024 ** 3,
        strayGraceMs: 86_400_000,
        copies: { games: 2, models: 3, samples: 1, rebuildable: 1, exceptions: [] },
      },
      backup: expect.objectContaining({
        folder: undefined,
        everyMs: 86_400_000,
        retention: { keep: 14, keepMs: 2_592_000_000 },
      }),
      notices: [],
      report: expect.objectContaining({ file: join(cwd, "ringrift.config.json"), problems: [] }),
    });
  });

  test("without any, the router has its own defaults: there is one default for each meaning", () => {
    expect(readSettings({}, "/").router).toEqual(defaultRouterSettings);
  });

  test("an empty variable counts as not set", () => {
    expect(readSettings({ RINGRIFT_PORT: "", RINGRIFT_DATA_DIR: " " }, "/")).toMatchObject({
      port: 8_770,
      dataDir: "/.ringrift",
    });
  });
});

describe("ranges", () => {
  test.each(numbers)("$key takes $least and $most, and nothing beyond", ({ key, row, least, most }) => {
    const step = isWhole(row) ? 1 : 0.0001;
    const nested = (value: unknown) => fromFile({ path: "f", entries: [{ path: key.split("."), value, line: 1 }] });
    const world = { hostName: "h", dataDir: "/d", configFile: undefined };
    const told = (value: unknown) => [
      ...resolveSettings([fromEnvironment({ [row.variable]: String(value) }, "/")], world, undefined).problems,
      ...resolveSettings([nested(value)], world, undefined).problems,
    ];
    const ofRange = (value: unknown) => told(value).filter(({ keys }) => keys.length === 1);
    for (const value of [least, most]) expect(ofRange(value), `${value}`).toEqual([]);
    for (const value of [least - step, most + step, isWhole(row) ? least + 0.5 : Number.NaN]) {
      const [fromText, fromJson] = ofRange(value);
      expect(fromText!.message).toBe(`${row.variable}="${value}" is not ${row.kind.expects}`);
      expect(fromJson!.message).toBe(`f:1: ${key}=${JSON.stringify(value)} is not ${row.kind.expects}`);
    }
    expect(row.kind.expects).toContain(`from ${least} to ${most}`);
  });

  test.each(["0x10", "", "1,5", "ten", "1e", "--1", "Infinity", "1_000"])("%j is no number", (text) => {
    const { kind } = byKey.get("router.handler_timeout")!;
    expect(kind.fromText(text, "/")).toEqual({ refused: "is not a number of seconds from 0.001 to 86400" });
  });

  test.each([
    ["1", true],
    ["TRUE", true],
    ["yes", true],
    ["on", true],
    ["0", false],
    ["False", false],
    ["no", false],
    ["off", false],
  ])("%s is %s", (text, expected) => {
    expect(readSettings({ RINGRIFT_EVENT_VALIDATION_STRICT: text }, "/").router.strictNames).toBe(expected);
  });

  test("what is neither yes nor no, no level, no name and no path is refused", () => {
    expect(
      problems({
        RINGRIFT_EVENT_TRACE: "maybe",
        RINGRIFT_LOG_LEVEL: "LOUD",
        RINGRIFT_NODE_ID: "a b",
        RINGRIFT_DATA_DIR: "a\0b",
      }),
    ).toEqual([
      'RINGRIFT_DATA_DIR="a\\u0000b" is not the path of a folder',
      'RINGRIFT_NODE_ID="a b" is not a name of 1 to 100 letters, digits, _ . -',
      'RINGRIFT_LOG_LEVEL="LOUD" is not one of DEBUG, INFO, WARN, ERROR, SILENT',
      'RINGRIFT_EVENT_TRACE="maybe" is not true or false',
    ]);
  });

  test("arguments of a program are checked like flags", () => {
    expect(problems({}, "/", { port: 70_000, router: { handlerTimeoutMs: 0 } })).toEqual([
      "--port=70000 is not a whole number from 0 to 65535",
      "argument router.handler_timeout=0 is not a number of seconds from 0.001 to 86400",
    ]);
  });

  test("every default is within its own range", () => {
    for (const { key, row } of numbers) {
      const value = row.fallback({ hostName: "h", dataDir: "/d", configFile: undefined });
      expect(row.kind.fromJson(value, "/"), key).toEqual({ value });
    }
  });
});

describe("checks over several settings", () => {
  const breaking: Record<string, Record<string, string>> = {
    "router.retry_first router.retry_most": { RINGRIFT_EVENT_RETRY_FIRST: "61" },
    "router.concurrency router.window": { RINGRIFT_EVENT_WINDOW: "15" },
    "daemons.restart_first daemons.restart_most": { RINGRIFT_DAEMON_RESTART_FIRST: "301" },
    "api.tls_cert_file api.tls_key_file": { RINGRIFT_TLS_CERT_FILE: "cert.pem" },
    "api.host api.tls_cert_file api.allow_plain_http": { RINGRIFT_HOST: "0.0.0.0" },
    "router.dedup_window router.retention": { RINGRIFT_EVENT_RETENTION: "60", RINGRIFT_EVENT_DEDUP_WINDOW: "61" },
    "resources.cpu_warn resources.cpu_critical": { RINGRIFT_CPU_WARN: "96" },
    "resources.memory_warn resources.memory_critical": { RINGRIFT_MEMORY_WARN: "96" },
    "resources.disk_warn resources.disk_critical": { RINGRIFT_DISK_CRITICAL: "50" },
    "nodes.beat nodes.suspect": { RINGRIFT_NODE_BEAT: "23" },
    "nodes.suspect nodes.dead": { RINGRIFT_NODE_SUSPECT: "120" },
    "nodes.dead nodes.purge": { RINGRIFT_NODE_PURGE: "119" },
    "nodes.beat work.lease_silence": { RINGRIFT_WORK_LEASE_SILENCE: "29" },
    "work.queue_soft_limit work.queue_brake_limit": { RINGRIFT_WORK_QUEUE_SOFT_LIMIT: "901" },
    "work.queue_brake_limit work.queue_hard_limit": { RINGRIFT_WORK_QUEUE_HARD_LIMIT: "899" },
    "artifacts.copies_exceptions": { RINGRIFT_COPIES_EXCEPTIONS: "hex8_2p:games:3,hex8_2p:toys:2" },
    "backup.s3_url backup.s3_access_key backup.s3_secret_file": {
      RINGRIFT_BACKUP_S3_URL: "https://s3.example.org/games",
    },
    "p2p.raft_enabled coordinators.servers": {
      RINGRIFT_RAFT_ENABLED: "1",
      RINGRIFT_COORDINATORS_SERVERS: "nats://a:4222",
      RINGRIFT_COORDINATORS_MONITORS: "http://a:8222",
    },
    "coordinators.servers coordinators.monitors": { RINGRIFT_COORDINATORS_SERVERS: "nats://a:4222" },
    "coordinators.nats_user coordinators.nats_password_file": { RINGRIFT_COORDINATORS_NATS_USER: "ringrift" },
    "transfers.tls_cert_file transfers.tls_key_file": { RINGRIFT_TRANSFERS_TLS_CERT_FILE: "cert.pem" },
    "transfers.serve_host transfers.tls_cert_file api.allow_plain_http": { RINGRIFT_TRANSFERS_SERVE_HOST: "0.0.0.0" },
  };

  test.each(settingChecks.map((check) => ({ name: check.keys.join(" "), rule: check.rule })))(
    "$name: $rule",
    ({ name, rule }) => {
      const [message, ...more] = problems(breaking[name]!);
      expect(more).toEqual([]);
      for (const key of name.split(" ")) expect(message).toContain(`${key}=`);
      expect(message).toContain(rule);
    },
  );

  test("the message says where each of the values came from", () => {
    const { cwd, file } = withFile({ router: { retry_first: 9 } });
    expect(problems({ RINGRIFT_EVENT_RETRY_MOST: "3" }, cwd)[0]).toMatch(
      `router.retry_first=9 (${file}:3) and router.retry_most=3 (RINGRIFT_EVENT_RETRY_MOST) do not fit together.`,
    );
  });

  test("what is wrong in itself is not blamed twice", () => {
    expect(problems({ RINGRIFT_EVENT_RETRY_FIRST: "never" })).toHaveLength(1);
  });
});

describe("what nobody knows", () => {
  test("a variable is an error with a suggestion, and its value is not repeated", () => {
    const { message, hint } = refusal({ RINGRIFT_EVENT_HANDLER_TIMOUT: "hunter2", PATH: "/bin", OTHER: "x" });
    expect(message).toBe(
      "there is no setting with the variable RINGRIFT_EVENT_HANDLER_TIMOUT. Did you mean RINGRIFT_EVENT_HANDLER_TIMEOUT?",
    );
    expect(hint).toContain("ringrift config check");
  });

  test("a key in the file is an error with a suggestion and its line", () => {
    const { cwd, file } = withFile({ api: { prot: 1 }, RINGRIFT_PORT: 1, router: {}, nonsense: {} });
    expect(problems({}, cwd)).toEqual([
      `${file}:3: there is no setting "api.prot". Did you mean api.port?`,
      `${file}:5: there is no setting "RINGRIFT_PORT". Did you mean api.port?`,
      `${file}:7: there is no setting "nonsense".`,
    ]);
  });

  test.each(["__proto__", "constructor", "toString"])("%s is no setting", (key) => {
    const { cwd } = withFile(`{"${key}": 1, "${key}": {"x": {}}}`);
    expect(problems({}, cwd)).toHaveLength(2);
  });

  test("the variables that the original scattered are not taken for ours", () => {
    expect(problems({ RINGRIFT_P2P_PORT: "8770" })[0]).toContain("Did you mean RINGRIFT_PORT");
  });
});

describe("the file", () => {
  test("is the nearest one above, and relative paths in it are meant from where it stands", () => {
    const { cwd, file } = withFile({ data_dir: "data" });
    const below = join(cwd, "a", "b");
    mkdirSync(below, { recursive: true });
    expect(inspectSettings({}, below).file).toBe(file);
    expect(readSettings({}, below).dataDir).toBe(join(cwd, "data"));
    expect(readSettings({ RINGRIFT_DATA_DIR: "data" }, below).dataDir).toBe(join(below, "data"));
  });

  test("can be named by flag and by variable, the flag first", () => {
    const [one, two, near] = [withFile({ "api.port": 1 }), withFile({ "api.port": 2 }), withFile({ "api.port": 3 })];
    const named = { RINGRIFT_CONFIG: one.file };
    expect(readSettings({}, near.cwd).port).toBe(3);
    expect(readSettings(named, near.cwd).port).toBe(1);
    expect(readSettings(named, dirname(two.cwd), { configFile: join(two.cwd, "ringrift.config.json") }).port).toBe(2);
  });

  test("that is named must be there", () => {
    expect(problems({ RINGRIFT_CONFIG: "nowhere.json" })).toEqual(["there is no file /nowhere.json"]);
    expect(problems({}, "/", { configFile: "" })).toEqual(['--config="" is not the path of a file']);
  });

  test("must be a regular file of bounded size in UTF-8", () => {
    const { cwd, file } = withFile(`{"node_id": "${"x".repeat(MAX_CONFIG_BYTES)}"}`);
    expect(problems({}, cwd)).toEqual([`${file} has ${MAX_CONFIG_BYTES + 15} bytes, more than ${MAX_CONFIG_BYTES}`]);
    writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d]));
    expect(problems({}, cwd)[0]).toContain(`${file} cannot be read`);
    expect(problems({ RINGRIFT_CONFIG: cwd })).toEqual([`${cwd} is no regular file`]);
    const looping = join(cwd, "loop");
    symlinkSync(looping, looping);
    expect(problems({ RINGRIFT_CONFIG: looping })[0]).toContain("ELOOP");
  });

  test("that is no JSON is refused with the line", () => {
    const { cwd, file } = withFile('{\n  "api.port": 1,\n}');
    expect(problems({}, cwd)).toEqual([`${file}:3: } where a key in double quotes should be`]);
  });

  test("may begin with a byte order mark", () => {
    expect(readSettings({}, withFile('\ufeff{"api.port": 12}').cwd).port).toBe(12);
  });

  test("says a thing once: as a group or with a dot", () => {
    const { cwd, file } = withFile('{\n"api": {"port": 1},\n"api.port": 2,\n"api": {"port": 3}\n}');
    expect(problems({}, cwd)).toEqual([
      `${file}:3: api.port is set already at ${file}:2`,
      `${file}:4: api.port is set already at ${file}:2`,
    ]);
  });

  test("is typed, and cannot name itself", () => {
    const { cwd, file } = withFile(
      '{\n"api.port": "8770",\n"router": {"trace": 1, "window": [5]},\n"node_id": null,\n"log.level": {},\n"config": "x"\n}',
    );
    expect(problems({}, cwd).sort()).toEqual([
      `${file}:2: api.port="8770" is not a whole number from 0 to 65535`,
      `${file}:3: router.trace=1 is not true or false`,
      `${file}:3: router.window=[] is not a whole number of deliveries from 1 to 65536`,
      `${file}:4: node_id=null is not a name of 1 to 100 letters, digits, _ . -`,
      `${file}:5: log.level={} is not one of DEBUG, INFO, WARN, ERROR, SILENT`,
      `${file}:6: config cannot be set in the file; use --config`,
    ]);
  });

  test("is checked also where something stronger hides it", () => {
    const { cwd } = withFile({ "api.port": -1 });
    expect(problems({ RINGRIFT_PORT: "1" }, cwd)).toHaveLength(1);
  });

  test("never crashes us, whatever it holds", () => {
    const { cwd, file } = withFile("");
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string(), fc.uint8Array()), (contents) => {
        writeFileSync(file, contents);
        for (const { message } of inspectSettings({}, cwd).problems) expect(message).toContain(file);
      }),
      { numRuns: 200 },
    );
  });
});

describe("all problems at once", () => {
  test("the error names every one of them", () => {
    const { cwd } = withFile({ "api.prot": 1 });
    const { message, details } = refusal({ RINGRIFT_PORT: "x", RINGRIFT_FOO: "1" }, cwd);
    expect(message.split("\n")).toHaveLength(4);
    expect(message).toMatch(/^3 problems with the settings:\n/);
    expect(details.problems).toHaveLength(3);
  });
});

describe("settings that need another one", () => {
  test("are known and checked, and say that they have no effect while that one is off", () => {
    const notice = "p2p.swim_port (RINGRIFT_SWIM_PORT) has no effect: p2p.swim_enabled is off";
    expect(readSettings({ RINGRIFT_SWIM_PORT: "7946" }, "/").notices).toEqual([notice]);
    expect(readSettings({ RINGRIFT_SWIM_PORT: "7946", RINGRIFT_SWIM_ENABLED: "1" }, "/").notices).toEqual([]);
    expect(problems({ RINGRIFT_SWIM_PORT: "many" })[0]).toContain(`RINGRIFT_SWIM_PORT="many" is not`);
  });

  test("nothing is said where nothing is set", () => {
    expect(readSettings({}, "/").notices).toEqual([]);
  });
});

describe("secrets", () => {
  const SECRET = "correct-horse-battery-staple";

  test("come from a file, and are in no printed form", () => {
    const file = join(folder(), "token");
    writeFileSync(file, `${SECRET}\n`);
    const settings = readSettings({ RINGRIFT_TOKEN_FILE: file }, "/");
    expect(settings.token?.reveal()).toBe(SECRET);
    for (const printed of [JSON.stringify(settings), inspect(settings, { depth: 9 }), `${settings.token}`])
      expect(printed).not.toContain(SECRET);
  });

  test("are refused by value, without being repeated", () => {
    const { message } = refusal({ RINGRIFT_TOKEN: SECRET });
    expect(message).toContain("A secret comes by file: set RINGRIFT_TOKEN_FILE to its path.");
    expect(message).not.toContain(SECRET);
    expect(refusal({ RINGRIFT_TOKEN_FILE: SECRET }).message).toBe(
      "RINGRIFT_TOKEN_FILE names no file that can be read (ENOENT)",
    );
  });

  test.each([
    ["short", "names a file whose secret has fewer than 16 characters"],
    ["two lines of\ntext that is long", "names a file whose text is not one line without blanks"],
    ["x".repeat(5_000), "names a file of more than 4096 bytes"],
  ])("a file with %j is none", (text, refused) => {
    const cwd = folder();
    writeFileSync(join(cwd, "token"), text);
    expect(problems({ RINGRIFT_TOKEN_FILE: "token" }, cwd)).toEqual([`RINGRIFT_TOKEN_FILE ${refused}`]);
    expect(problems({ RINGRIFT_TOKEN_FILE: cwd })).toEqual(["RINGRIFT_TOKEN_FILE names no regular file"]);
  });

  test("that are documents may have many lines, and are bounded like the others", () => {
    const cwd = folder();
    const file = (text: string | Uint8Array) => {
      writeFileSync(join(cwd, "key"), text);
      return { RINGRIFT_FLEET_NEBIUS_KEY_FILE: "key" };
    };
    const document = JSON.stringify(
      { kid: "publickey-e00one", "private-key": "-----BEGIN PRIVATE KEY-----\nabc\n" },
      null,
      2,
    );
    expect(readSettings(file(`${document}\n`), cwd).fleet.nebius.key?.reveal()).toBe(document);
    expect(problems(file("x".repeat(20_000)), cwd)).toEqual([
      "RINGRIFT_FLEET_NEBIUS_KEY_FILE names a file of more than 16384 bytes",
    ]);
    expect(problems(file(Uint8Array.from({ length: 64 }, (_, n) => n)), cwd)).toEqual([
      "RINGRIFT_FLEET_NEBIUS_KEY_FILE names a file that holds more than plain text",
    ]);
  });
});
