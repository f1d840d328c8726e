import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { sumOf } from "../../kernel/index.ts";
import { answer, negative, number, plural, printable, type Shell } from "../../surfaces/commands/index.ts";
import { type ImportVerdicts, importFiles, MAX_IMPORTED } from "../../surfaces/imports/wire.ts";
import { artifactsOver, openLink } from "../../surfaces/index.ts";
import type { StructureReader } from "../../workloads/arena/index.ts";
import { findFiles, type Refused } from "./import/find-files.ts";
import { readSegments, type Segment } from "./import/read-segments.ts";

interface Options {
  readonly configKey?: string;
  readonly producer: string;
  readonly dryRun?: boolean;
}

const SAY_EVERY_MS = 2_000;

/** A line now and then while something takes long. */
function progress(shell: Shell) {
  let saidAt = shell.clock.monotonic();
  return (words: string): void => {
    if (shell.clock.monotonic() - saidAt < SAY_EVERY_MS) return;
    saidAt = shell.clock.monotonic();
    shell.note(words);
  };
}

const fileOf = (segment: Segment, producer: string) => {
  const { sha256, kind, config_key, games, rows, rules_version, rows_of } = segment;
  const about = { sha256, kind, config_key: config_key as never, games, rows, producer, rules_version };
  return rows_of === undefined ? about : { ...about, rows_of };
};

type Verdict = ImportVerdicts[number];

/** Sends what is new, and has the main process read and enter it, a few files at a time. */
async function handOver(shell: Shell, segments: readonly Segment[], options: Options): Promise<Verdict[]> {
  const { clock, io } = shell;
  const say = progress(shell);
  using main = await shell.main.need();
  const call = async (some: readonly Segment[], dry_run: boolean) =>
    (await main.call(importFiles, { body: { files: some.map((one) => fileOf(one, options.producer)), dry_run } }))
      .files;
  const link = openLink({ target: { socketPath: () => main.endpoint.socket_path }, clock });
  try {
    const verdicts: Verdict[] = [];
    for (let at = 0; at < segments.length; at += MAX_IMPORTED) {
      const some = segments.slice(at, at + MAX_IMPORTED);
      const seen = await call(some, true);
      if (options.dryRun === true) {
        verdicts.push(...seen);
        continue;
      }
      for (const [n, { path, sha256, bytes, kind }] of some.entries()) {
        say(`${at + n} of ${plural(segments.length, "file")} sent`);
        if (seen[n]!.state === "new")
          await artifactsOver(link).upload({ file: path, name: sha256, kind, sha256, bytes }, io.signal);
      }
      verdicts.push(...(await call(some, false)));
    }
    return verdicts;
  } finally {
    link.close();
  }
}

const NONE = { imported: 0, new: 0, known: 0, refused: 0 };

async function run(folder: string, options: Options, shell: Shell, reader: StructureReader): Promise<void> {
  const { dryRun = false, configKey } = options;
  const found = await findFiles(resolve(shell.io.cwd, folder));
  const scratch = mkdtempSync(join(tmpdir(), "ringrift-import-"));
  try {
    const say = progress(shell);
    const read = await readSegments(found, reader, {
      scratch,
      configKey,
      signal: shell.io.signal,
      onFile: (done, games) => say(`${done} of ${plural(found.files.length, "file")} read, ${number(games)} games`),
    });
    const verdicts = read.segments.length === 0 ? [] : await handOver(shell, read.segments, options);
    const segments = read.segments.map(({ path: _, ...segment }, n) => ({ ...segment, ...verdicts[n]! }));
    const refused: Refused[] = [
      ...found.refused,
      ...read.refused,
      ...segments.flatMap(({ from, state, why }) =>
        state === "refused" ? [{ path: from, code: "IMPORT_REFUSED", why: why ?? "" }] : [],
      ),
    ];
    const of = (state: string) => segments.filter((one) => one.state === state);
    const states = {
      ...NONE,
      ...Object.fromEntries([...Map.groupBy(segments, (one) => one.state)].map(([k, v]) => [k, v.length])),
    };
    const games = sumOf(
      of(dryRun ? "new" : "imported").filter((one) => one.rows_of === undefined),
      (one) => one.games,
    );
    const report = {
      folder: found.root,
      dry_run: dryRun,
      files: found.files.length,
      games,
      ...states,
      segments,
      refused,
    };
    answer(shell, report, () => [
      `${dryRun ? "would import" : "imported"} ${plural(of(dryRun ? "new" : "imported").length, "segment")} with ${number(games)} games`,
      ...(states.known === 0 ? [] : [`${plural(states.known, "segment")} known already`]),
      ...(refused.length === 0 ? [] : [`${plural(refused.length, "file")} refused:`]),
      ...refused.map(({ path, code, why }) => `  ${printable(path)}: ${code}, ${printable(why)}`),
      ...(dryRun ? ["nothing was changed: this was a dry run"] : []),
    ]);
    if (refused.length > 0) throw negative();
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** `ringrift import`: games and rows that were made elsewhere become segments. */
export function registerImport(command: Command, shell: Shell, openReader: () => StructureReader): void {
  command
    .argument("<folder>", "the folder that holds them")
    .option("--config-key <config>", "only games of this config")
    .option("--producer <name>", "who made them, as the books shall call it", "import")
    .option("--dry-run", "only say what would be imported, and what would be refused")
    .action(async (folder: string, options: Options) => {
      const reader = openReader();
      try {
        await run(folder, options, shell, reader);
      } finally {
        await reader.close();
      }
    });
}
