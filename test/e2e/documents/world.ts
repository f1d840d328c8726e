/**
 * The code blocks of the two documents on events (003) and on the API (004) of the Python system, each with a twin in our
 * idiom. A block whose part exists runs. One whose part does not is asked for all the same, and is refused with a typed error
 * that names the stage which brings the part: whoever builds it finds the test red, and turns the refusal into a run.
 */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../../../src/app/cli.ts";
import { connect } from "../../../src/client.ts";
import {
  type BootstrapOptions,
  bootstrapCoordination,
  readSettings,
  seededRandom,
  silentLog,
  systemClock,
} from "../../../src/index.ts";
import { owned } from "../../support/process.ts";
import { recordedTerminal } from "../../support/terminal.ts";
import { HEADINGS } from "./headings.ts";

type Coordination = Awaited<ReturnType<typeof boot>>;

export interface World {
  readonly coordination: Coordination;
  readonly client: ReturnType<typeof connect>;
  readonly dataDir: string;
  /** A command of `ringrift`, in this process; what it printed. */
  ringrift(...args: string[]): Promise<string>;
  /** A route on the port, as curl asks it. */
  curl(path: string): Promise<Record<string, unknown>>;
}

export type Twin = (world: World) => unknown;

export const boot = (dataDir: string, more: Partial<BootstrapOptions> = {}) =>
  bootstrapCoordination({
    settings: readSettings({}, dataDir, {
      dataDir,
      port: 0,
      router: { maxAttempts: 1, retryFirstMs: 1, retryMostMs: 1 },
    }),
    log: silentLog(),
    ...more,
  });

const ports = { clock: systemClock(), random: seededRandom(1), actor: "tester" };

/** A test for each block of a document, in its order; each of `sections` begins with the heading of its block. */
export function walk<const S extends readonly string[]>(
  document: keyof typeof HEADINGS,
  sections: S,
  twins: Record<S[number], Twin>,
) {
  const own = owned();
  let world: World;
  beforeAll(async () => {
    const dataDir = join(own.folder(), "data");
    const coordination = await boot(dataDir);
    const client = connect({ dataDir, source: "beside" });
    world = {
      coordination,
      client,
      dataDir,
      async ringrift(...args) {
        const { io, said } = recordedTerminal({ env: { NO_COLOR: "1" }, columns: 200 });
        const code = await runCli(["--data-dir", dataDir, ...args], io, ports);
        expect([code, said.err]).toEqual([0, ""]);
        return said.out;
      },
      async curl(path) {
        const answer = await fetch(`http://127.0.0.1:${coordination.api.port}${path}`);
        return (await answer.json()) as Record<string, unknown>;
      },
    };
  });
  afterAll(async () => {
    await world.client.close();
    await world.coordination.shutdown();
    await own.end();
  });
  test.each(sections.map((section) => [section]))(`${document}, %s`, async (section) => {
    await twins[section as S[number]](world);
  });
  test(`no block of ${document} is skipped`, () => {
    expect(Object.keys(twins)).toEqual(sections);
    expect(sections.map((section) => section.split(": ")[0])).toEqual(HEADINGS[document]);
  });
}
