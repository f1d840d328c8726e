import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { type Catalog, liftKeys, missingFields } from "../../events/index.ts";
import { messageOf, OperatingError } from "../../kernel/index.ts";
import type { CliIo } from "../cli/io.ts";
import type { Shell } from "../cli/shell.ts";
import { plural } from "../cli/text.ts";
import { canonicalName } from "./event-names.ts";
import type { NodeOutboxes, OpenNodeOutbox } from "./node-outbox.port.ts";
import { payloadOfJson, payloadOfWords } from "./payload-argument.ts";

interface PublishOptions {
  readonly file?: string;
  readonly source: string;
}

const MAX_INPUT_CHARACTERS = 4 * 1024 * 1024;

async function readInput(io: CliIo): Promise<string> {
  let text = "";
  for await (const part of io.stdin) {
    text += String(part);
    if (text.length > MAX_INPUT_CHARACTERS) throw OperatingError.invalid("INVALID_PAYLOAD", "the input is too large");
  }
  return text;
}

async function readPayloadFile(file: string, io: CliIo): Promise<string> {
  if (file === "-") return readInput(io);
  try {
    return readFileSync(resolve(io.cwd, file), "utf8");
  } catch (cause) {
    throw OperatingError.notFound("FILE_NOT_FOUND", `cannot read ${file}: ${messageOf(cause)}`, { cause });
  }
}

/** On a node that has joined, the event is kept beside it and sent on by its worker. */
async function keep(
  { outbox, url, worker }: OpenNodeOutbox,
  [name, payload, source]: [name: string, payload: Readonly<Record<string, unknown>>, source: string],
  shell: Shell,
): Promise<void> {
  const { eventId, eventType, durability, suppressed } = await outbox.publish(name, payload, { source });
  const { waiting } = outbox.status();
  if (shell.json)
    return shell.print({ event_id: eventId, event_type: eventType, seq: null, suppressed, durability, waiting, url });
  const { paint } = shell;
  shell.say(
    `kept here ${paint.cyan(eventType)}  ${paint.yellow(eventId)}  forwarded when ${url} answers, ${plural(waiting, "event waits", "events wait")}`,
  );
  if (worker === "away") shell.note("note: no worker runs on this folder; 'ringrift worker' sends what waits");
}

export function registerEventsPublish(events: Command, shell: Shell, catalog: Catalog, outboxes: NodeOutboxes): void {
  events
    .command("publish")
    .description("publish an event, and wait until it is on disk: in the journal, or in the outbox of a joined node")
    .argument("<name>", "the event in any spelling")
    .argument("[payload...]", "one JSON object, or words like config_key=hex8_2p games=100")
    .option("--file <path>", "read the payload from this JSON file; - means standard input")
    .option("--source <name>", "name of the publisher", "cli")
    .action(async (spelling: string, words: string[], options: PublishOptions) => {
      const name = canonicalName(catalog, spelling, shell.note);
      if (options.file !== undefined && words.length > 0)
        throw OperatingError.invalid("USAGE", "give the payload as arguments or with --file, not both");
      const payload =
        options.file === undefined
          ? payloadOfWords(words, catalog.row(name))
          : payloadOfJson(
              await readPayloadFile(options.file, shell.io),
              options.file === "-" ? "the input" : options.file,
            );
      await using node = await outboxes.open();
      if (node !== undefined) return await keep(node, [name, payload, options.source], shell);
      using journal = await shell.journals.live();
      const receipt = await journal.publish(name, payload, options.source);
      if (shell.json) return shell.print(receipt);
      const { paint } = shell;
      const id = paint.yellow(receipt.event_id);
      if (receipt.suppressed !== null) return shell.say(`suppressed ${paint.cyan(receipt.event_type)}: repeats ${id}`);
      const where = receipt.seq === null ? "not journaled" : `journal ${receipt.seq}`;
      shell.say(`published ${paint.cyan(receipt.event_type)}  ${id}  ${where}`);
      const row = catalog.row(receipt.event_type);
      const missing = row === undefined ? [] : missingFields(row, liftKeys(row, payload).payload);
      if (missing.length > 0)
        shell.note(`note: it lacks ${missing.join(", ")}; units are woken by it, and take nothing from it`);
    });
}
