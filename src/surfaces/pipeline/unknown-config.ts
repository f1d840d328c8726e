import { didYouMean, OperatingError } from "../../kernel/index.ts";

/** A config that nobody trains here; the ones that are known help to find what was meant. */
export const unknownConfig = (configKey: string, known: readonly string[]): OperatingError =>
  OperatingError.notFound("CONFIG_NOT_FOUND", `no loop runs for '${configKey}'.${didYouMean(configKey, known)}`, {
    hint:
      known.length === 0
        ? "No config is trained here yet. Start one: 'ringrift train othello6_2p'."
        : `Configs here: ${known.join(", ")}.`,
  });
