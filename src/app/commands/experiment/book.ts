/** What is known of an experiment, on disk after every run and every match: whoever asks again goes on from there. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { OperatingError } from "../../../kernel/index.ts";
import type { Experiment } from "./definition.ts";

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const runSchema = z.object({
  /** What plays for the arm. */
  champion: sha256,
  /** Champions of the configs beside it. */
  beside: z.record(z.string(), sha256).optional(),
  iterations: z.int(),
  games: z.int(),
  promotions: z.int(),
  seconds: z.number(),
  /** What the run follows from, as a hash; runs of older versions have none. */
  follows_from: z.string().optional(),
});
const bookSchema = z.object({
  fingerprint: z.string(),
  /** By arm and seed. */
  runs: z.record(z.string(), runSchema),
  /** Blocks by score cell, from the side of the arm, by arm and seed, and by config where there are several. */
  matches: z.record(z.string(), z.object({ counts: z.array(z.int().min(0)), games: z.int().min(1) })),
});
export type Book = z.output<typeof bookSchema>;
export type FinishedRun = z.output<typeof runSchema>;

export const bookKey = (arm: string, seed: number): string => `${arm}/${seed}`;
/** The match of one config; that of the experiment's own has the name of the run. */
export const matchKey = ({ config_key }: Pick<Experiment, "config_key">, arm: string, seed: number, config: string) =>
  config === config_key ? bookKey(arm, seed) : `${bookKey(arm, seed)}/${config}`;
export const championIn = (run: FinishedRun, config: string): string => run.beside?.[config] ?? run.champion;

/**
 * A run that another experiment of this folder has made of the same plan with the same seed: it would come to the same champion, so it counts here
 * too, and its model is copied. Most experiments have the same control.
 */
export function borrowRun(place: string, followsFrom: string, modelFile: (champion: string) => string) {
  if (!existsSync(place)) return undefined;
  for (const name of readdirSync(place).sort()) {
    const file = join(place, name, "book.json");
    const parsed = existsSync(file) ? bookSchema.safeParse(JSON.parse(readFileSync(file, "utf8"))) : undefined;
    const found = Object.values(parsed?.data?.runs ?? {}).find((run) => run.follows_from === followsFrom);
    if (found === undefined) continue;
    const models = [found.champion, ...Object.values(found.beside ?? {})];
    const fileOf = (model: string) => join(place, name, "models", `${model}.model`);
    if (!models.every((model) => existsSync(fileOf(model)))) continue;
    for (const model of models) copyFileSync(fileOf(model), modelFile(model));
    return found;
  }
  return undefined;
}

export function openBook(folder: string, { name, fingerprint }: Experiment) {
  const file = join(folder, "book.json");
  mkdirSync(join(folder, "models"), { recursive: true, mode: 0o700 });
  let book: Book = { fingerprint, runs: {}, matches: {} };
  if (existsSync(file)) {
    const parsed = bookSchema.safeParse(JSON.parse(readFileSync(file, "utf8")));
    if (!parsed.success || parsed.data.fingerprint !== fingerprint)
      throw OperatingError.conflict("EXPERIMENT_DIFFERS", `'${name}' was begun with another definition`, {
        hint: `Give it another name, or remove ${folder}.`,
      });
    book = parsed.data;
  }
  const write = (next: Book) => {
    writeFileSync(`${file}.part`, `${JSON.stringify(next, undefined, 2)}\n`, { mode: 0o600, flush: true });
    renameSync(`${file}.part`, file);
    book = next;
  };
  return {
    read: (): Book => book,
    modelFile: (champion: string) => join(folder, "models", `${champion}.model`),
    ran: (arm: string, seed: number, run: FinishedRun) =>
      write({ ...book, runs: { ...book.runs, [bookKey(arm, seed)]: run } }),
    played: (key: string, counts: readonly number[], games: number) =>
      write({ ...book, matches: { ...book.matches, [key]: { counts: [...counts], games } } }),
  };
}
