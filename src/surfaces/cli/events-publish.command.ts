import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Catalog } from "../../events/index.ts";
import { messageOf, OperatingError } from "../../kernel/index.ts";
import { canonicalName } from "./event-names.ts";
import type { CliIo } from "./io.ts";
import { payloadOfJson, payloadOfWords } from "./payload-words.ts";
import type { Shell } from "./shell.ts";

interface PublishOptions {
  readonly file?: string;
  readonly source: string;
}

const MOST_INPUT_CHARACTERS = 4 * 1024 * 1024;

async function readInput(io: CliIo): Promise<string> {
  let text = "";
  for await (const part of io.stdin) {
    text += String(part);
    if (text.length > MOST_INPUT_CHARACTERS) throw new OperatingError("INVALID_PAYLOAD", "the input is too large");
  }
  return text;
}

async function readPayloadFile(file: string, io: CliIo): Promise<string> {
  if (file === "-") return readInput(io);
  try {
    return readFileSync(resolve(io.cwd, file), "utf8");
  } catch (cause) {
    throw new OperatingError("FILE_NOT_FOUND", `cannot read ${file}: ${messageOf(cause)}`, { cause });
  }
}

export function registerEventsPublish(events: Command, shell: Shell, catalog: Catalog): void {
  events
    .command("publish")
    .description("publish an event; needs the running process, and answers once the event is on disk")
    .argument("<name>", "the event in any spelling")
    .argument("[payload...]", "one JSON object, or words like config_key=hex8_2p games=100")
    .option("--file <path>", "take the payload from this JSON file; - reads standard input")
    .option("--source <name>", "who says it", "cli")
    .action(async (spelling: string, words: string[], options: PublishOptions) => {
      const name = canonicalName(catalog, spelling, shell.note);
      if (options.file !== undefined && words.length > 0)
        throw new OperatingError("USAGE", "give the payload as arguments or with --file, not both");
      const payload =
        options.file === undefined
          ? payloadOfWords(words, catalog.row(name))
          : payloadOfJson(
              await readPayloadFile(options.file, shell.io),
              options.file === "-" ? "the input" : options.file,
            );
      const journal = await shell.journals.live();
      try {
        const receipt = await journal.publish(name, payload, options.source);
        if (shell.json) return shell.print(receipt);
        const { paint } = shell;
        const id = paint.yellow(receipt.event_id);
        if (receipt.suppressed !== null)
          return shell.say(`suppressed ${paint.cyan(receipt.event_type)}: repeats ${id}`);
        const where = receipt.seq === null ? "not journaled" : `journal ${receipt.seq}`;
        shell.say(`published ${paint.cyan(receipt.event_type)}  ${id}  ${where}`);
      } finally {
        journal.close();
      }
    });
}
