/**
 * The questions of an operator, each answered by one command. Faults are planted in one running system, and the answer must
 * contain what was planted.
 */
import { chmodSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { runCli } from "../../src/app/cli.ts";
import { seededRandom, systemClock } from "../../src/kernel/index.ts";
import { connect } from "../../src/surfaces/index.ts";
import { look, openBrowser, openTab, type Tab } from "../support/browser.ts";
import { CONFIG, planned, QUICK, type RunningLoop, startLoop } from "../support/loop.ts";
import { joinNode } from "../support/node-client.ts";
import { PATIENT, patience } from "../support/patience.ts";
import { owned } from "../support/process.ts";
import { recordedTerminal } from "../support/terminal.ts";

const own = owned();
const HELD = "hex7_2p";
const ENV = {
  RINGRIFT_NODE_ID: "desk",
  RINGRIFT_EVENT_MAX_ATTEMPTS: "2",
  RINGRIFT_EVENT_RETRY_FIRST: "0.01",
  RINGRIFT_EVENT_RETRY_MOST: "0.01",
};
const ports = { clock: systemClock(), random: seededRandom(1), actor: "tester" };
let loop: RunningLoop;
let failedJob = "";
let aGame = "";

async function runWith(env: Readonly<Record<string, string>>, args: readonly string[]) {
  const { io, said } = recordedTerminal({ env: { NO_COLOR: "1", ...ENV, ...env }, cwd: loop.dataDir });
  const code = await runCli(["--data-dir", loop.dataDir, ...args], io, ports);
  return { code, ...said };
}

const run = (...args: readonly string[]) => runWith({}, args);

const json = async <T>(...args: readonly string[]) => JSON.parse((await run("--json", ...args)).out) as T;

beforeAll(async () => {
  loop = await startLoop(own, {
    plans: [...planned({ ...QUICK, most_iterations: 1 }), ...planned({ ...QUICK, most_iterations: 1 }, [HELD])],
    slots: 2,
    env: ENV,
  });
  // Planted: a config that somebody holds, and says why.
  await vi.waitFor(
    async () => expect(await run("pause", HELD, "--reason", "the disk is being swapped")).toMatchObject({ code: 0 }),
    PATIENT,
  );
  // A job that nobody can do, a stage that failed, a consumer that cannot write, a folder that others may read.
  const { added } = await json<{ added: { work_id: string }[] }>(
    ...["queue", "add", "evaluation", "--config-key", CONFIG, "--payload", '{"parameters":{"nonsense":-1}}'],
  );
  failedJob = added[0]!.work_id;
  const client = connect({ dataDir: loop.dataDir });
  const exporter = client.subscribe(
    { consumer: "exporter", eventTypes: ["TRAINING_FAILED"], start: "earliest" },
    () => {
      throw new Error("cannot write '/data/out.npz' (errno 28)");
    },
  );
  // Of a config that nobody trains: a run that ends well would close the alert.
  await client.publish("TRAINING_FAILED", { config_key: "hex8_2p", job_id: "j1", error: "no GPU", retryable: true });
  chmodSync(loop.dataDir, 0o755);
  await loop.complete();
  await vi.waitFor(async () => {
    expect((await run("dlq")).out).toMatch(/exporter/);
    expect((await run("queue", "show", failedJob)).out).toMatch(/failed/);
    expect((await run("alerts")).out).toMatch(/Training of hex8_2p failed/);
  }, PATIENT);
  // A job for a machine that nobody has.
  await run("queue", "add", "evaluation", "--config-key", CONFIG, "--node", "nowhere");
  await exporter.stop();
  await client.close();
  // A machine that has joined, under a name of its own.
  const token = (await run("token", "create", "box2", "--scope", "worker")).out.trim();
  const box = await joinNode({ host: "127.0.0.1", port: loop.main.api.port }, token, "box2");
  const settings = [{ key: "worker.nice", value: 5 }];
  await box.send("POST", "/v1/node-settings", { node_id: box.nodeId, incarnation: 1, settings });
  // A lock that somebody holds while the questions are asked.
  await box.send("POST", "/v1/locks/acquire", { name: "nightly-export", holder: "box2", ttl_seconds: 3_600 });
  // It is online when its first beat has been written down.
  await vi.waitFor(async () => expect((await run("resources")).out).toMatch(/^ +box2 +online /m), PATIENT);
  const { segments } = await json<{ segments: { sha256: string }[] }>("records", "list");
  aGame = `${segments[0]!.sha256.slice(0, 12)}#0`;
}, patience(300_000));
afterAll(async () => {
  await loop.end();
  await own.end();
});

/** What an answer must contain; what is known only by then is asked for then. */
type Contains = RegExp | (() => RegExp | Promise<RegExp>);

interface Question {
  readonly question: string;
  readonly command: () => readonly string[];
  readonly contains: readonly Contains[];
  /** 1 where the answer is that something is not as it should be. */
  readonly code: 0 | 1;
  readonly env: Readonly<Record<string, string>>;
}

const ask = (question: string, command: Question["command"], ...contains: readonly Contains[]): Question => ({
  question,
  command,
  contains,
  code: 0,
  env: {},
});
/** One whose answer is a "no". */
const not = (question: Question): Question => ({ ...question, code: 1 });

interface DeskNode {
  readonly work: { readonly busy_seconds: number; readonly games: number };
  readonly capabilities: { readonly cpu: number };
}

/** The line of a process: its id, its memory, its open files. */
const processRow = (pid: number | undefined) => new RegExp(`^ *${pid} +[\\d.]+ [MG]B +\\d+ `, "m");

const questions: readonly Question[] = [
  ask(
    "1. is it getting stronger",
    () => ["pipeline"],
    /othello6_2p +complete +\d+ .*#1 (promoted|rejected|inconclusive).*Elo/,
    // All games are of the last day; a plan of one round that is done, and one that nobody can foretell.
    /othello6_2p .* 32 +32 +[\d.]+ (ms|s|min) .*too early +1 round: reached/,
    /hex7_2p +paused .* 1 round: too early .*the disk is being swapped/,
  ),
  not(
    ask("2. why is nothing happening", () => ["why", HELD], /the disk is being swapped/, /'ringrift resume hex7_2p'/),
  ),
  not(
    ask(
      "2. and of everything",
      () => ["why"],
      /^needs attention: \d+ things need a look$/m,
      /^ +! hex7_2p is paused: the disk is being swapped$/m,
      /^ +! \d+ error alerts are open$/m,
      /^ +· 1 dead letter waits$/m,
      /^hex7_2p \(config\): hex7_2p stands at iteration 0, /m,
      /^othello6_2p \(config\): othello6_2p is complete after 1 iterations, /m,
    ),
  ),
  ask(
    "2. and of a file",
    () => ["why", aGame],
    /^[0-9a-f]{12} \(games\): games [0-9a-f]{12} is safe: 1 of 1 copy, for /m,
    /✓ verdict +judged good/,
    /✓ copy on desk +it counts/,
  ),
  ask("3. where are my games", () => ["ledger"], /othello6_2p +32 +32 +0 +0 +balanced/),
  ask(
    "4. one truth about the cluster",
    () => ["nodes"],
    /desk +online .* desk$/m,
    /coordinator desk, version \d+\.\d+\.\d+, the only one; \d of 2 nodes online/,
  ),
  ask("5. trace of a game", () => ["trace", aGame], /games .* 8 games, by desk/, /job w\d+/, /model /),
  ask("6. errors: what failed", () => ["queue", "list", "--state", "failed"], /nonsense/),
  ask(
    "6. errors: by kind, first and last seen, where",
    () => ["queue", "failures"],
    () => new RegExp(`^ *1 +evaluation +\\S+( \\S+)? ago +\\S+( \\S+)? ago +${failedJob} +desk +.*nonsense`, "m"),
    /'ringrift queue show <job>' has the end of its standard error/,
  ),
  ask("6. errors: what could not be delivered", () => ["dlq"], /^LETTERS .* FIRST +LAST/m, /exporter/, /cannot write/),
  ask("7. absence and alarms", () => ["alerts"], /error +open .*Training of hex8_2p failed/),
  ask(
    "7. a time of maintenance, in which nobody is told",
    () => ["alerts", "mute", "2h", "--reason", "disks are swapped", "--dry-run"],
    /^no alerts would be sent for 2 h; nothing was changed: this was a dry run$/m,
  ),
  ask(
    "8. safe verbs",
    () => ["nodes", "cordon", "box2", "--dry-run", "--reason", "just looking"],
    /^box2 would get no new work; .* \(it has none\); nothing was changed: this was a dry run$/m,
  ),
  ask(
    "9. explain: effective settings with origin",
    () => ["config", "show", "--origin"],
    /node_id +desk .*RINGRIFT_NODE_ID/,
  ),
  // Planted: whoever would start it from here has set another value.
  {
    ...not(
      ask(
        "9. explain: what a restart would change",
        () => ["config", "diff"],
        /^KEY +RUNNING +AFTER A RESTART +FROM$/m,
        /^router\.max_attempts +2 +7 +.*RINGRIFT_EVENT_MAX_ATTEMPTS/m,
      ),
    ),
    env: { RINGRIFT_EVENT_MAX_ATTEMPTS: "7" },
  },
  not(
    ask(
      "9. explain: where nodes differ",
      () => ["config", "diff", "--nodes"],
      /KEY +main process +box2/,
      /worker\.nice +default +5/,
      /router\.max_attempts +2 +default/,
    ),
  ),
  ask(
    "9. explain: what the scheduler does next",
    () => ["queue", "next"],
    /desk +now/,
    /w\d+ \(evaluation\) waits: desk: the job is for other nodes/,
  ),
  ask("10. preflight for a night alone", () => ["doctor"], /is open to others \(0755\)/),
  not(
    ask(
      "10. hand-over after it",
      () => ["handover", "--since", "1h"],
      /hex7_2p +paused/,
      /training runs? (was|were) completed/,
      /pause +the disk is being swapped/,
      /Training of hex8_2p failed/,
    ),
  ),
  ask(
    "11. cost and idleness",
    () => ["nodes", "show", "desk"],
    // Planted: one job that nobody can do.
    /last day +\d+ jobs done, 1 failed, /,
    async () => {
      const { work, capabilities } = (await json<{ node: DeskNode }>("nodes", "show", "desk")).node;
      // Those of the plan; those that judged its models are no games of self-play.
      expect(work.games).toBe(QUICK.games_per_iteration);
      const hours = work.busy_seconds / 3_600;
      const each = ((1_000 * hours) / work.games).toFixed(2);
      const idle = `idle \\d+ % of ${capabilities.cpu} processors`;
      return new RegExp(`${hours.toFixed(2)} processor-hours in the last day, ${each} for 1,000 games; ${idle}`);
    },
  ),
  ask(
    "12. resources",
    () => ["resources"],
    () => processRow(process.pid),
    () => processRow(loop.workerPid()),
    /main loop +delay in the last minute/,
    /transfers +0 uploads/,
    /^pools +\d+ commits? for the writer, \d+ reads? for the reader$/m,
    // Planted: a lock that somebody holds.
    /^grants +0 jobs held by nodes, \d*[1-9]\d* locks? held, 0 files to fetch \(limit [\d,]+\)$/m,
    // It says nothing any more, so on a busy machine it may be doubted by now.
    /^ +desk +online [\s\S]*^ +box2 +(online|suspect) /m,
  ),
  ask(
    "13. events: how often, from whom, who is behind",
    () => ["events", "stats"],
    /TRAINING_FAILED +1 /,
    /exporter .*1 dead letter/,
  ),
  ask("13. events", () => ["events", "history", "--type", "TRAINING_FAILED"], /TRAINING_FAILED.*no GPU/),
];

test.each(questions)("$question", async ({ command, contains, code: wanted, env }) => {
  const { code, out, err } = await runWith(env, command());
  for (const pattern of contains) expect(out).toMatch(pattern instanceof RegExp ? pattern : await pattern());
  expect(code, err).toBe(wanted);
});

/** The same on the page: at most two clicks from home, and what it says is what the command says at that moment. */
interface PageQuestion {
  readonly question: string;
  /** What is clicked, one after the other. */
  readonly clicks: readonly string[];
  /** What the command says, as it must stand on the page. */
  readonly says: () => Promise<readonly string[]>;
}
const nav = (to: string) => `#nav a[href="${to}"]`;
const inMain = (to: string) => `main a[href="${to}"]`;
const page = (question: string, clicks: readonly string[], says: PageQuestion["says"]): PageQuestion => ({
  question,
  clicks,
  says,
});

const pageQuestions: readonly PageQuestion[] = [
  page("1. is it getting stronger", [], async () => {
    const { configs } = await json<{ configs: { config_key: string; state: string; iteration: number }[] }>("pipeline");
    return configs.flatMap(({ config_key, state }) => [config_key, state]);
  }),
  page("1. how fast, how old, until when", [inMain(`/configs/${CONFIG}`)], async () => {
    type Outlook = { games_per_day: number };
    const { configs } = await json<{ configs: { config_key: string; outlook: Outlook }[] }>("pipeline");
    const { outlook } = configs.find(({ config_key }) => config_key === CONFIG)!;
    return [
      `games of a day${outlook.games_per_day}`,
      "newest games",
      "target1 round: reached",
      "trend of the Elotoo early",
    ];
  }),
  page("2. why is nothing happening", [nav("/why"), inMain(`/why/${HELD}`)], async () => {
    const { verdict, gates } = await json<{ verdict: string; gates: { gate: string }[] }>("why", HELD);
    return [verdict, ...gates.map(({ gate }) => gate)];
  }),
  page("3. where are my games", [inMain(`/configs/${CONFIG}`)], async () => {
    const { books } = await json<{
      books: { config_key: string; produced: number; durable: number; in_flight: number }[];
    }>("ledger");
    const { produced, durable, in_flight } = books.find(({ config_key }) => config_key === CONFIG)!;
    return [`${produced} produced = ${durable} durable + ${in_flight} in flight`];
  }),
  page("4. one truth about the cluster", [nav("/nodes")], async () => {
    const { nodes } = await json<{ nodes: { label: string; state: string; version: string }[] }>("nodes");
    return nodes.flatMap(({ label, state, version }) => [label, state, version]);
  }),
  page("4. who leads, and what is held", [nav("/cluster")], async () => {
    const { name } = await json<{ name: string }>("cluster", "status");
    const { locks } = await json<{ locks: { name: string; holder: string }[] }>("locks");
    expect(locks.map(({ name: lock }) => lock)).toContain("nightly-export");
    return [`is that of ${name}`, ...locks.flatMap(({ name: lock, holder }) => [lock, holder])];
  }),
  page("5. trace", [nav("/models"), "main .rows tbody a.mono"], async () => {
    const { models } = await json<{ models: { model_id: string }[] }>("models");
    const { nodes } = await json<{ nodes: { id: string; kind: string }[] }>("trace", models[0]!.model_id);
    return nodes.slice(0, 20).map(({ id, kind }) => `${kind} ${id.slice(0, 10)}`.slice(0, 20));
  }),
  page("6. errors", [nav("/dead-letters")], async () => {
    const { groups } = await json<{ groups: { consumer: string; event_type: string }[] }>("dlq");
    expect(groups.length).toBeGreaterThan(0);
    return groups.flatMap(({ consumer, event_type }) => [consumer, event_type]);
  }),
  page("6. failures by kind", [nav("/work")], async () => {
    const { failures } = await json<{ failures: { work_type: string; error: string; work_id: string }[] }>(
      "queue",
      "failures",
    );
    expect(failures.map(({ work_id }) => work_id)).toContain(failedJob);
    return ["What fails", ...failures.flatMap(({ work_type, error }) => [work_type, error])];
  }),
  page(
    "6. what a job said",
    [nav("/work"), `main .rows-scroll[aria-label="Failures by kind and cause"] a`],
    async () => {
      const { job } = await json<{ job: { failure: { error: string } } }>("queue", "show", failedJob);
      expect(job.failure.error).toContain("nonsense");
      return [failedJob, job.failure.error];
    },
  ),
  page("7. absence and alarms", [nav("/alerts")], async () => {
    const { alerts } = await json<{ alerts: { title: string; status: string }[] }>("alerts");
    const open = alerts.filter(({ status }) => status === "open").map(({ title }) => title);
    expect(open).toContain("Training of hex8_2p failed");
    return open;
  }),
  page("8. safe verbs", [inMain(`/configs/${HELD}`), "main button:text-is('Resume')"], async () => {
    const { changes } = await json<{ changes: { what: string }[] }>("resume", HELD, "--dry-run");
    return changes.map(({ what }) => `${what}:`);
  }),
  page("9. explain: settings with their origin", [nav("/settings")], async () => {
    const { settings } = await json<{ settings: { key: string; origin: { kind: string } }[] }>("config", "show");
    return settings.filter(({ origin }) => origin.kind !== "default").map(({ key }) => key);
  }),
  page("9. explain: where nodes differ", [nav("/settings")], async () => {
    const { differences } = await json<{ differences: { key: string; values: { value?: unknown }[] }[] }>(
      ...["config", "diff", "--nodes"],
    );
    expect(differences).toContainEqual({ key: "worker.nice", values: [{}, { value: 5 }] });
    return differences.flatMap(({ key, values }) => [
      key,
      ...values.map(({ value }) => (value === undefined ? "default" : String(value))),
    ]);
  }),
  page("9. explain: what the scheduler does next", [nav("/work")], async () => {
    const { untaken } = await json<{ untaken: { work_id: string; reason: string }[] }>("queue", "next");
    expect(untaken).toContainEqual(expect.objectContaining({ reason: expect.stringContaining("for other nodes") }));
    return untaken.flatMap(({ work_id, reason }) => [work_id, reason]);
  }),
  page("9. explain: what steers", [nav("/cluster")], async () => {
    const { configs } = await json<{ configs: { config_key: string; factors: { name: string }[] }[] }>(
      "steering",
      "show",
    );
    return configs.flatMap(({ config_key, factors }) => [config_key, ...factors.map(({ name }) => name)]);
  }),
  page("10. hand-over", [nav("/handover")], async () => {
    interface Told {
      readonly configs: { config_key: string; state: string }[];
      readonly done: { event_type: string }[];
      readonly open_alerts: { title: string }[];
      readonly people: { path: string; reason: string | null }[];
      readonly needs: { what: string; todo: string }[];
    }
    const { configs, done, open_alerts, people, needs } = await json<Told>("handover");
    expect(people).toContainEqual(
      expect.objectContaining({ path: `/v1/loop/${HELD}/pause`, reason: "the disk is being swapped" }),
    );
    return [
      ...configs.flatMap(({ config_key, state }) => [config_key, state]),
      ...done.map(({ event_type }) => event_type),
      ...open_alerts.map(({ title }) => title),
      ...people.flatMap(({ path, reason }) => [path, reason ?? ""]),
      ...needs.map(({ what }) => what),
    ];
  }),
  page("11. idleness, and the cost of games", [nav("/nodes"), "main .rows tbody a:text-is('desk')"], async () => {
    const { out } = await run("nodes", "show", "desk");
    const cost = /[\d.]+ processor-hours in the last day, [\d.]+ for 1,000 games; idle \d+ % of \d+ processors/.exec(
      out,
    );
    return [cost![0]];
  }),
  page("11. cost of rented machines", [nav("/cluster")], async () => {
    const fleet = await json<{ rate_usd_hour: number; budget_usd_hour: number }>("fleet", "status");
    return [`${fleet.rate_usd_hour.toFixed(2)} USD of ${fleet.budget_usd_hour.toFixed(2)} USD`];
  }),
  page("12. resources", [nav("/nodes")], async () => {
    interface Used {
      readonly processes: { pid: number }[];
      readonly grants: { jobs: number; locks: number };
      readonly transfers: { max_at_once: number };
    }
    const { processes, grants, transfers } = await json<Used>("resources");
    expect(grants.locks).toBeGreaterThan(0);
    return [
      ...processes.map(({ pid }) => String(pid)),
      `${grants.jobs} job`,
      `${grants.locks} lock`,
      `(limit ${transfers.max_at_once}`,
    ];
  }),
  page("13. events", [nav("/journal"), "main .tabs a:text-is('consumers')"], async () => {
    const { consumers } = await json<{ consumers: { consumer: string; dead_letters: number }[] }>("events", "stats");
    expect(consumers.find(({ consumer }) => consumer === "exporter")).toMatchObject({ dead_letters: 1 });
    return consumers.map(({ consumer }) => consumer);
  }),
];

describe("on the page", () => {
  let browser: Browser | undefined;
  let tab: Tab;
  beforeAll(async () => {
    browser = await openBrowser();
    if (browser === undefined) return;
    tab = await openTab(browser);
    await look(tab.page, (await run("open", "--print")).out.trim());
  });
  afterAll(() => browser?.close());

  test.each(pageQuestions)("$question", async ({ clicks, says }) => {
    if (browser === undefined) return;
    expect(clicks.length).toBeLessThanOrEqual(2);
    await tab.page.keyboard.press("Escape");
    await tab.page.click(".brand");
    for (const selector of clicks) await tab.page.click(selector);
    // Both are asked until they speak of the same moment.
    await vi.waitFor(async () => {
      const text = (await tab.page.textContent("main"))!;
      for (const said of await says()) expect(text).toContain(said);
    }, PATIENT);
    expect(tab.troubles).toEqual([]);
  });

  test("what needs you leads to where it is told, and so does each step on the way to a root", async () => {
    if (browser === undefined) return;
    const { page: seen, troubles } = tab;
    const home = new URL(seen.url()).origin;
    const linksOn = async (address: string, selector: string) => {
      await look(seen, home + address);
      return seen.$$eval(selector, (links) => links.map((link) => link.getAttribute("href")!));
    };
    const causes = await linksOn("/", "main .causes a");
    expect(causes).toEqual(expect.arrayContaining(["/alerts", "/dead-letters", `/why/${HELD}`]));
    const steps = await linksOn(`/why/${failedJob}`, "main .graph a");
    for (const address of new Set([...causes, ...steps])) {
      await look(seen, home + address);
      expect(await seen.locator("main .error").allTextContents(), address).toEqual([]);
    }
    expect(troubles).toEqual([]);
  });
});

/** A list, where ids stand in its lines, and the commands that take one. */
const LISTS: readonly (readonly [list: readonly string[], id: RegExp, takers: readonly (readonly string[])[]])[] = [
  [["queue"], /^(w\d+)\b/, [["queue", "show"], ["why"], ["trace"]]],
  [["events", "history", "--limit", "30"], /\b([0-9a-f]{8})\b/, [["events", "trace"]]],
  [["alerts", "list", "--all"], /^([\w-]{8})\b/, [["alerts", "show"]]],
  [["models"], /^([0-9a-f]{10})\b/, [["models", "show"], ["trace"]]],
  [["artifacts"], /^([0-9a-f]{12})\b/, [["artifacts", "show"], ["trace"]]],
  [["records", "list"], /^([0-9a-f]{12})\b/, [["trace"]]],
  [["nodes"], /^(desk|box2)\b/, [["nodes", "show"], ["why"]]],
  [["nodes"], /\b(n[0-9a-f]{7,16})\b/, [["nodes", "show"], ["why"]]],
  [["dlq", "--pending"], /^(\d+)\b/, [["dlq", "show"]]],
  [["pipeline", CONFIG, "--history"], /\b([0-9a-f]{12})\b/, [["trace"]]],
  [["daemons", "list"], /^(dlq_retry)\b/, [["daemons", "show"], ["why"]]],
];

test.each(LISTS)("%j prints ids that every command takes back", async (list, id, takers) => {
  const { out } = await run(...list);
  const ids = new Set(
    out.split("\n").flatMap((line) => {
      const [, found] = id.exec(line) ?? [];
      return found === undefined ? [] : [found];
    }),
  );
  expect(ids.size, out).toBeGreaterThan(0);
  for (const each of [...ids].slice(0, 5))
    for (const taker of takers) {
      const answer = await run(...taker, each);
      // 1 is the answer of `why` about what does not go on.
      expect([0, ...(taker[0] === "why" ? [1] : [])], `${taker.join(" ")} ${each}: ${answer.err}`).toContain(
        answer.code,
      );
    }
});

test("the ids in a trace are taken back by a trace", async () => {
  const { out } = await run("trace", aGame);
  const ids = [...out.matchAll(/\b([0-9a-f]{10}|w\d+)\b/g)].map(([, id]) => id!);
  expect(ids.length).toBeGreaterThan(2);
  for (const id of new Set(ids)) {
    const { code, err } = await run("trace", id);
    expect(code, `${id}: ${err}`).toBe(0);
  }
});

test("a start that several ids share is an error that names them", async () => {
  for (const label of ["twin", "twin"]) await run("token", "create", label);
  const { code, err } = await run("token", "revoke", "twin");
  expect(code).not.toBe(0);
  expect(err).toMatch(/2 tokens are called 'twin'[\s\S]*Say which: [0-9a-f]{16}, [0-9a-f]{16}\./);
});

test("what was asked for and why is in the record of writes", async () => {
  const { out } = await run("logs", "--writes");
  expect(out).toMatch(/200 .*POST \/v1\/loop\/hex7_2p\/pause +the disk is being swapped/);
  expect(out).toMatch(/dry run .*POST \/v1\/nodes\/\w+\/cordon +just looking/);
  expect((await run("nodes", "show", "box2")).out).not.toMatch(/cordoned/);
});
