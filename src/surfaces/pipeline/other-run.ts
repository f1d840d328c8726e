/**
 * Another run of a config, out of what `ringrift pipeline --json` printed there: what two runs are compared by and no more. A file is
 * a stranger's, so every field is looked at. Pure.
 */
import type { ConfigSnapshot } from "../../pipeline/snapshot.ts";
import type { Shown } from "./strength.ts";

/** What two configs, or two runs of one, can be compared by. */
export interface Compared extends Shown {
  readonly config_key: string;
  readonly state: string;
  readonly iteration: number;
  readonly verdicts: Readonly<Record<"promote" | "reject" | "inconclusive", number>>;
  readonly games: number;
  readonly rows: number;
  readonly quality: { readonly score: number } | null;
  readonly losses: readonly Pick<ConfigSnapshot["losses"][number], "loss" | "policy_loss" | "value_loss">[];
  readonly books: { readonly balanced: boolean };
}

/** A long run has some thousands of gates; a file beyond this is none of ours. */
const MAX_ROWS = 100_000;
export const MAX_RUN_BYTES = 64 * 1024 * 1024;

class Unfit extends Error {}

type Fields = Readonly<Record<string, unknown>>;
const wrong = (name: string): never => {
  throw new Unfit(`its '${name}' is not what it should be`);
};
const fields = (value: unknown, name: string): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : wrong(name);
const list = <T>(value: unknown, name: string, read: (one: Fields) => T): T[] =>
  Array.isArray(value) && value.length <= MAX_ROWS ? value.map((one) => read(fields(one, name))) : wrong(name);
const number = (of: Fields, name: string): number =>
  typeof of[name] === "number" && Number.isFinite(of[name]) ? (of[name] as number) : wrong(name);
const text = (of: Fields, name: string): string => (typeof of[name] === "string" ? (of[name] as string) : wrong(name));
const orNull = <T>(value: unknown, read: (value: unknown) => T): T | null => (value == null ? null : read(value));

function comparedIn(config: Fields): Compared {
  const verdicts = fields(config.verdicts, "verdicts");
  return {
    config_key: text(config, "config_key"),
    state: text(config, "state"),
    iteration: number(config, "iteration"),
    champions: list(config.champions, "champions", (one) => ({
      model: text(one, "model"),
      generation: number(one, "generation"),
      iteration: number(one, "iteration"),
    })),
    ladder: list(config.ladder, "ladder", (one) => ({
      player: text(one, "player"),
      name: text(one, "name"),
      elo: number(one, "elo"),
      low: number(one, "low"),
      high: number(one, "high"),
      games: number(one, "games"),
      is_anchor: one.is_anchor === true,
    })),
    gates: list(config.gates, "gates", (one) => ({
      candidate: text(one, "candidate"),
      opponent: text(one, "opponent"),
      verdict: orNull(one.verdict, () => text(one, "verdict")),
      elo: orNull(one.elo, (elo) => ({ estimate: number(fields(elo, "elo"), "estimate") })),
    })),
    verdicts: {
      promote: number(verdicts, "promote"),
      reject: number(verdicts, "reject"),
      inconclusive: number(verdicts, "inconclusive"),
    },
    games: number(config, "games"),
    rows: number(config, "rows"),
    quality: orNull(config.quality, (quality) => ({ score: number(fields(quality, "quality"), "score") })),
    losses: list(config.losses, "losses", (one) => ({
      policy_loss: number(one, "policy_loss"),
      value_loss: number(one, "value_loss"),
      loss: orNull(one.loss, () => number(one, "loss")),
    })),
    books: { balanced: fields(config.books, "books").balanced === true },
  };
}

/** The run of this config in such a file, or what is wrong with the file. */
export function otherRun(content: string, configKey: string): Compared | { readonly problem: string } {
  try {
    const said = fields(JSON.parse(content), "answer");
    const configs =
      said.config === undefined ? list(said.configs, "configs", (config) => config) : [fields(said.config, "config")];
    const found = configs.find((config) => config.config_key === configKey);
    if (found === undefined) return { problem: `it holds no run of ${configKey}` };
    return comparedIn(found);
  } catch (thrown) {
    if (thrown instanceof Unfit) return { problem: thrown.message };
    if (thrown instanceof SyntaxError) return { problem: "it is no JSON" };
    throw thrown;
  }
}
