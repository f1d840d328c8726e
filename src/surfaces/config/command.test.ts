import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { owned } from "../../../test/support/process.ts";
import { recordedTerminal } from "../../../test/support/terminal.ts";
import { bootstrapCoordination } from "../../app/bootstrap.ts";
import { runCli } from "../../app/commands/run.ts";
import { readSettings, settingRows } from "../../app/settings.ts";
import { seededRandom, silentLog, virtualClock } from "../../kernel/index.ts";

const ports = { clock: virtualClock(), random: seededRandom(1), actor: "tester" };

const NOTHING_RUNS = "what a start from here would have: nothing runs on this data folder\n";

/** Runs `ringrift config ...` in a folder with this file of settings and this environment. */
async function config(args: readonly string[], env: Record<string, string> = {}, file?: unknown) {
  const cwd = owned(onTestFinished).folder();
  if (file !== undefined) writeFileSync(join(cwd, "ringrift.config.json"), JSON.stringify(file, null, 2));
  const { io, said } = recordedTerminal({ env, cwd });
  const code = await runCli(["config", ...args], io, ports);
  return { code, cwd, ...said, lines: said.out.trimEnd().split("\n") };
}

describe("ringrift config show", () => {
  test("lists every setting with its value and unit", async () => {
    const { code, lines, err } = await config(["show"]);
    expect({ code, err }).toEqual({ code: 0, err: NOTHING_RUNS });
    expect(lines[0]).toMatch(/^KEY +VALUE +UNIT$/);
    expect(lines.slice(1).map((line) => line.split(" ")[0])).toEqual(settingRows.map(({ key }) => key));
    expect(lines.find((line) => line.startsWith("router.handler_timeout"))).toMatch(/ 600 +seconds$/);
  });

  test("says with --origin where each came from: flag, environment, file and line, default", async () => {
    const env = { RINGRIFT_PORT: "4000" };
    const { lines, cwd } = await config(["show", "--origin", "--data-dir", "here"], env, { router: { window: 99 } });
    const origin = (key: string) => lines.find((line) => line.startsWith(`${key} `))?.replace(/^\S+ +/, "");
    expect(origin("data_dir")).toMatch(/here +flag --data-dir$/);
    expect(origin("api.port")).toMatch(/^4000 +environment RINGRIFT_PORT$/);
    expect(origin("router.window")).toMatch(new RegExp(`^99 +deliveries +${cwd}/ringrift.config.json:3$`));
    expect(origin("router.trace")).toMatch(/^false +default$/);
    expect(origin("config")).toMatch(/ringrift.config.json +default$/);
  });

  test("shows what the process that runs has, also where a start from here would have something else", async () => {
    const own = owned(onTestFinished);
    const dataDir = own.folder();
    const main = await bootstrapCoordination({
      settings: readSettings({ RINGRIFT_EVENT_WINDOW: "77" }, dataDir, { dataDir, port: 0 }),
      log: silentLog(),
    });
    onTestFinished(() => main.shutdown());
    const of = ["--origin", "--data-dir", dataDir];
    const window = (lines: readonly string[]) => lines.find((line) => line.startsWith("router.window "));
    const running = await config(["show", ...of]);
    expect(window(running.lines)).toMatch(/ 77 +deliveries +environment RINGRIFT_EVENT_WINDOW$/);
    expect(running.err).toContain(`what the process that runs has (pid ${process.pid})`);
    const here = await config(["show", "--here", ...of], { RINGRIFT_EVENT_WINDOW: "88" });
    expect(window(here.lines)).toMatch(/ 88 +deliveries +environment RINGRIFT_EVENT_WINDOW$/);
    expect(here.err).toBe("what a start from here would have\n");
  });

  test("says that nothing runs where it shows what a start would have", async () => {
    const { err } = await config(["show"]);
    expect(err).toBe(NOTHING_RUNS);
  });

  test("prints one value alone, for scripts, by its key or its variable", async () => {
    expect(await config(["show", "api.port"])).toMatchObject({ code: 0, out: "8770\n" });
    expect(await config(["show", "RINGRIFT_PORT"])).toMatchObject({ code: 0, out: "8770\n" });
    expect(await config(["show", "api.port", "--origin"])).toMatchObject({ out: "8770\tdefault\n" });
    expect(JSON.parse((await config(["show", "router.window", "--json"])).out)).toEqual({
      key: "router.window",
      variable: "RINGRIFT_EVENT_WINDOW",
      value: 512,
      unit: "deliveries",
      sound: true,
      origin: { kind: "default", place: null },
    });
  });

  test("prints a group", async () => {
    const { lines } = await config(["show", "router"]);
    expect(lines).toHaveLength(1 + settingRows.filter(({ key }) => key.startsWith("router.")).length);
  });

  test("answers an unknown key with suggestions and exit code 3", async () => {
    const meant = async (key: string) => (await config(["show", key])).err.split("\n")[0];
    expect((await config(["show", "router.windo"])).code).toBe(3);
    expect(await meant("router.windo")).toBe("error: there is no setting 'router.windo'. Did you mean router.window?");
    expect(await meant("rooter")).toContain("Did you mean router?");
    expect(await meant("RINGRIFT_PROT")).toContain("Did you mean RINGRIFT_PORT");
  });

  test("shows what is wrong as wrong, points to the check, and refuses it as a single value", async () => {
    const env = { RINGRIFT_PORT: "many" };
    const all = await config(["show"], env);
    expect(all.code).toBe(0);
    expect(all.out).toMatch(/api\.port +\(wrong\)/);
    expect(all.err).toBe(`what a start from here would have\n1 problem: 'ringrift config check' says what is wrong\n`);
    expect(await config(["show", "api.port"], env)).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining('RINGRIFT_PORT="many" is not a whole number from 0 to 65535'),
    });
    expect(await config(["show", "node_id"], { ...env, RINGRIFT_NODE_ID: "n1" })).toMatchObject({
      code: 0,
      out: "n1\n",
    });
  });

  test("says that a secret is set, and never what it is", async () => {
    const file = join(owned(onTestFinished).folder(), "token");
    writeFileSync(file, "correct-horse-battery-staple\n");
    for (const args of [["show"], ["show", "--json"], ["show", "api.token_file", "--origin"], ["check", "--json"]]) {
      const { code, out, err } = await config(args, { RINGRIFT_TOKEN_FILE: file });
      expect(code).toBe(0);
      expect(out + err).not.toContain("horse");
      if (args[0] === "show") expect(out).toContain("(secret)");
    }
  });

  test("notes on the side what has no effect", async () => {
    const { out, err } = await config(["show", "p2p.swim_port"], { RINGRIFT_SWIM_PORT: "7946" });
    expect(out).toBe("7946\n");
    expect(err).toBe("notice: p2p.swim_port (RINGRIFT_SWIM_PORT) has no effect: p2p.swim_enabled is off\n");
  });
});

describe("ringrift config check", () => {
  test("is content with what is right, and says what it looked at", async () => {
    const { code, out, cwd } = await config(["check"], { RINGRIFT_PORT: "0" }, { node_id: "n1" });
    expect({ code, out }).toEqual({
      code: 0,
      out: `ok: 2 of ${settingRows.length} settings are set; ${cwd}/ringrift.config.json\n`,
    });
    expect((await config(["check"])).out).toMatch(/^ok: 0 of \d+ settings are set; no file\n$/);
  });

  test("lists all problems of all sources, with exit code 1", async () => {
    const env = { RINGRIFT_PORT: "many", RINGRIFT_EVENT_TRCE: "1", RINGRIFT_EVENT_RETRY_MOST: "0.5" };
    const { code, lines, cwd } = await config(["check"], env, { api: { prot: 1 }, "log.level": 7 });
    const file = join(cwd, "ringrift.config.json");
    expect(code).toBe(1);
    expect(lines).toEqual([
      "there is no setting with the variable RINGRIFT_EVENT_TRCE. Did you mean RINGRIFT_EVENT_TRACE?",
      `${file}:3: there is no setting "api.prot". Did you mean api.port?`,
      `${file}:5: log.level=7 is not one of DEBUG, INFO, WARN, ERROR, SILENT`,
      'RINGRIFT_PORT="many" is not a whole number from 0 to 65535',
      expect.stringMatching(/^router\.retry_first=1 \(default\) and router\.retry_most=0\.5 .* do not fit together\. /),
      "5 problems",
    ]);
  });

  test("says the same to a program, with the same exit code", async () => {
    const { code, out } = await config(["check", "--json"], { RINGRIFT_SWIM_PORT: "7946", RINGRIFT_PORT: "-1" });
    expect(code).toBe(1);
    expect(JSON.parse(out)).toEqual({
      ok: false,
      file: null,
      problems: [
        {
          keys: ["api.port"],
          place: "RINGRIFT_PORT",
          message: 'RINGRIFT_PORT="-1" is not a whole number from 0 to 65535',
        },
      ],
      notices: ["p2p.swim_port (RINGRIFT_SWIM_PORT) has no effect: p2p.swim_enabled is off"],
    });
  });

  test("looks at the file that --config names", async () => {
    const named = join(owned(onTestFinished).folder(), "other.json");
    writeFileSync(named, '{"api.port": 1}');
    expect((await config(["show", "api.port", "--config", named], {}, { "api.port": 2 })).out).toBe("1\n");
    expect(await config(["check", "--config", "nowhere.json"])).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^there is no file .*nowhere\.json\n1 problem\n$/),
    });
  });

  test("lets nothing from outside speak to the terminal", async () => {
    const { out } = await config(["check"], { RINGRIFT_NODE_ID: "\u001b[2J\u009b31m" }, { "\u001b[2J": 1 });
    for (const control of ["\u001b", "\u009b"]) expect(out).not.toContain(control);
  });
});
