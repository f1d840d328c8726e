/**
 * A contributor's day, in a scratch copy of the repository: an event, a unit that hears two and emits it and keeps a table,
 * a setting, and a route with its command. Each may touch few files, and what comes of it must run.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { connect } from "../../src/client.ts";
import { typeErrors } from "../../tools/parts/type-errors.ts";
import { COMPILE_CACHE } from "../support/compiled.ts";
import { PATIENT } from "../support/patience.ts";
import { environment, owned } from "../support/process.ts";
import { ask } from "../support/surface.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const COPIED = [
  ...["src", "bin", "tools", "test/fixtures", "test/support", "docs/reference"],
  ...["package.json", "tsconfig.json", "vitest.config.ts", "biome.json", ".gitignore"],
];

function scratchCopy(folder: string): void {
  for (const each of COPIED) {
    mkdirSync(dirname(join(folder, each)), { recursive: true });
    cpSync(join(ROOT, each), join(folder, each), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
}

/** What is compiled of the copy goes with it. */
const compiledIn = (folder: string) => ({ [COMPILE_CACHE]: join(folder, "compiled") });

/** The text of every source, by its path. */
const sourcesIn = (folder: string): Map<string, string> =>
  new Map(
    readdirSync(join(folder, "src"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        return [relative(folder, path), readFileSync(path, "utf8")];
      }),
  );

/** One step of the day: what was written by hand, and all that changed; tests are not counted. */
function step(folder: string, work: (edit: (path: string, before: string, after: string) => void) => void) {
  const before = sourcesIn(folder);
  const byHand = new Set<string>();
  work((path, old, next) => {
    const text = readFileSync(join(folder, path), "utf8");
    expect(text, `${path} holds what is edited there`).toContain(old);
    writeFileSync(
      join(folder, path),
      text.replace(old, () => next),
    );
    byHand.add(path);
  });
  const changed = [...sourcesIn(folder)].filter(([path, text]) => before.get(path) !== text).map(([path]) => path);
  return { byHand: [...byHand].sort(), changed: changed.filter((path) => !path.endsWith(".test.ts")).sort() };
}

function run(folder: string, script: string, ...args: string[]): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, script), ...args], {
    cwd: folder,
    encoding: "utf8",
    env: environment(compiledIn(folder)),
  });
  return { code: status, output: `${stdout}${stderr}` };
}

const UNIT = "src/work/units/milestone-watch/milestone-watch.unit.ts";
const CATALOG = "src/events/catalog/work-queue.ts";
const QUEUE = "src/surfaces/queue";

const EVENT = `  WORK_MILESTONE_REACHED: {
    about: "So many items of a kind have ended.",
    class: "durable",
    orderKey: "work_type",
    payload: () => ({ ...fields("work_type"), ended: some("items of the kind that have ended so far") }),
  },
`;
const SETTING = `  milestoneJobs: whole({
    key: "work.milestone_jobs",
    variable: "RINGRIFT_WORK_MILESTONE_JOBS",
    min: 1,
    max: 1_000_000,
    unit: "jobs",
    default: 1_000,
    about: "After so many jobs of a kind have ended, it is told.",
  }),
`;
const WIRE = `
export const listMilestones = defineRoute("listMilestones", "GET /v1/work/milestones", {
  tag,
  summary: "How many jobs of each kind have ended.",
  about: "One row for each kind.",
  answer: () => z.object({ milestones: z.array(z.object({ work_type: z.string(), ended: z.int() })) }),
});
`;
const HANDLER = `  handle(wire.listMilestones, ({ ports }) => ({
    milestones: ports.router.store
      .read<{ key: string; value: string }>("SELECT key, value FROM state_rows WHERE table_name = 'work_milestones'")
      .map(({ key, value }) => ({ work_type: key, ended: (JSON.parse(value) as { ended: number }).ended })),
  })),
`;
const COMMAND = `  queue
    .command("milestones")
    .description("how many jobs of each kind have ended")
    .action(() =>
      showAnswer(shell, listMilestones, {}, ({ milestones }) =>
        milestones.map(({ work_type, ended }) => \`\${work_type} \${ended}\`),
      ),
    );
`;

test("an event, a unit, a setting, and a route with its command take few files, and run", async () => {
  const own = owned(onTestFinished);
  const folder = own.folder();
  scratchCopy(folder);

  const event = step(folder, (edit) => edit(CATALOG, "  WORK_QUEUED: {", `${EVENT}  WORK_QUEUED: {`));
  expect(event.byHand.length).toBeLessThanOrEqual(2);
  expect(event.changed.length).toBeLessThanOrEqual(3);

  const setting = step(folder, (edit) =>
    edit("src/work/settings.ts", "export const workSettings = {\n", `export const workSettings = {\n${SETTING}`),
  );
  expect(setting.byHand).toEqual(setting.changed);
  expect(setting.changed.length).toBeLessThanOrEqual(1);

  const unit = step(folder, (edit) => {
    const made = run(
      folder,
      "tools/new-unit.ts",
      "milestone_watch",
      ...["--room", "work", "--hears", "work_completed,WORK_FAILED", "--emits", "WORK_MILESTONE_REACHED"],
    );
    expect(made, made.output).toMatchObject({ code: 0 });
    edit(UNIT, `{ by: "the_unit_that_is_to_hear_it" }`, `{ outside: "operators read it in 'ringrift events tail'" }`);
    edit(
      UNIT,
      "export const milestoneWatch = () =>",
      `export const milestoneWatch = ({ settings }: Pick<WorkServices, "settings">) =>`,
    );
    for (const name of ["WORK_COMPLETED", "WORK_FAILED"]) {
      edit(UNIT, `${name}()`, `${name}({ payload: { work_type } }, { rows, emit })`);
      edit(
        UNIT,
        `throw new Error("what it does on ${name} is not written yet");`,
        `const ended = (rows.get(milestones, work_type)?.ended ?? 0) + 1;
        rows.put(milestones, work_type, { ended });
        if (ended % settings.milestoneJobs === 0) emit.WORK_MILESTONE_REACHED({ work_type, ended });`,
      );
    }
    edit(UNIT, "    ...wiring,\n", "    ...wiring,\n    state: { tables: { milestones } },\n");
    edit(
      UNIT,
      "const wiring = {",
      `import { defineTable } from "../../../router/index.ts";
import type { WorkServices } from "../../services.ts";

const milestones = defineTable<{ ended: number }>("work_milestones");

const wiring = {`,
    );
    edit("src/work/units.ts", "milestoneWatch(),", "milestoneWatch(services),");
  });
  expect(unit.byHand.length).toBeLessThanOrEqual(2);
  expect(unit.changed.length).toBeLessThanOrEqual(4);

  const route = step(folder, (edit) => {
    edit(`${QUEUE}/wire.ts`, "\nexport const claimWork = ", `${WIRE}\nexport const claimWork = `);
    const routes = "const operatorRoutes: readonly Route[] = [\n";
    edit(`${QUEUE}/routes.ts`, routes, `${routes}${HANDLER}`);
    edit(`${QUEUE}/command.ts`, "getWorkStats,", "getWorkStats, listMilestones,");
    edit(`${QUEUE}/command.ts`, '  queue\n    .command("stats")', `${COMMAND}  queue\n    .command("stats")`);
  });
  expect(route.byHand.length).toBeLessThanOrEqual(3);
  expect(route.changed.length).toBeLessThanOrEqual(4);

  const changed = [...event.changed, ...setting.changed, ...unit.changed, ...route.changed];
  const judged = [...new Set([...changed, "src/app/registry.ts", "src/app/cli.ts"])].map((path) => join(folder, path));
  expect(typeErrors(judged, { root: folder })).toEqual([]);

  const main = own.startNode(join(folder, "bin", "ringrift.js"), ["up", "--port", "0"], {
    cwd: folder,
    env: { ...compiledIn(folder), RINGRIFT_WORK_MILESTONE_JOBS: "2" },
  });
  await main.waitForLine(/^ready /);
  const dataDir = join(folder, ".ringrift");
  const client = connect({ dataDir });
  onTestFinished(() => client.close());
  const failed = { work_type: "selfplay", error: "no GPU", attempts: 1 };
  for (const work_id of ["w900", "w901"]) await client.publish("WORK_FAILED", { ...failed, work_id } as never);
  const { socket_path: socketPath } = JSON.parse(readFileSync(join(dataDir, "endpoint.json"), "utf8"));
  await vi.waitFor(async () => {
    const { json } = await ask({ socketPath }, "/v1/events?event_type=WORK_MILESTONE_REACHED");
    expect(json.events).toMatchObject([{ data: { work_type: "selfplay", ended: 2 } }]);
  }, PATIENT);
  const shown = own.startNode(join(folder, "bin", "ringrift.js"), ["queue", "milestones", "--json"], {
    cwd: folder,
    env: compiledIn(folder),
  });
  expect((await shown.exited).code, shown.stderr()).toBe(0);
  expect(JSON.parse(shown.stdout()).milestones).toEqual([{ work_type: "selfplay", ended: 2 }]);
  await main.stop();
});
