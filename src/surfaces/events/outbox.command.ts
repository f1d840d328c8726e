import type { Command } from "commander";
import { OperatingError } from "../../kernel/index.ts";
import { answer, type Shell } from "../cli/shell.ts";
import { tableLines } from "../cli/table.ts";
import { ago, plural, printable } from "../cli/text.ts";
import type { NodeOutboxes, OpenNodeOutbox } from "./node-outbox.port.ts";

interface OutboxOptions {
  readonly retry?: string | true;
  readonly discard?: string | true;
}

const SHOWN_REFUSED = 100;

const idOf = (given: string | true): string | undefined => (given === true ? undefined : given);

type Books = ReturnType<OpenNodeOutbox["outbox"]["status"]>;
type Refused = ReturnType<OpenNodeOutbox["outbox"]["refused"]>;

const seconds = (ms: number | null) => (ms === null ? null : ms / 1_000);

const report = ({ outbox, url, worker }: OpenNodeOutbox, books: Books, refused: Refused) => ({
  node_id: outbox.nodeId,
  url,
  worker,
  ...books,
  oldest_at: seconds(books.oldest_at),
  forwarded_at: seconds(books.forwarded_at),
  refused_events: refused.map((each) => ({
    ...each,
    kept_at: seconds(each.kept_at),
    refused_at: seconds(each.refused_at),
  })),
});

function lines({ outbox, label, url, worker }: OpenNodeOutbox, books: Books, refused: Refused, shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const since = (ms: number | null, word: string) => (ms === null ? "" : `, ${word} ${ago(ms, now)}`);
  const rows = refused.map((each) => [
    paint.yellow(`  ${each.event_id}`),
    printable(each.event_type),
    ago(each.refused_at, now),
    `${each.code}: ${printable(each.reason)}`,
  ]);
  return [
    `outbox of ${printable(label)} (${outbox.nodeId}) for ${url}`,
    `  ${plural(books.waiting, "event waits", "events wait")}${since(books.oldest_at, "the oldest from")}`,
    `  ${plural(books.forwarded, "event")} forwarded${since(books.forwarded_at, "the last")}`,
    ...(books.discarded === 0 ? [] : [`  ${plural(books.discarded, "event")} discarded`]),
    ...(worker === "away" ? [paint.yellow("  no worker runs on this folder; 'ringrift worker' sends what waits")] : []),
    ...(books.refused === 0
      ? []
      : [paint.red(`  ${plural(books.refused, "event")} refused by the main process:`), ...tableLines(rows, shell)]),
  ];
}

function show(node: OpenNodeOutbox, shell: Shell): void {
  const [books, refused] = [node.outbox.status(), node.outbox.refused(SHOWN_REFUSED)];
  answer(shell, report(node, books, refused), () => lines(node, books, refused, shell));
}

/** `ringrift events outbox`: what a joined node keeps for its main process. */
export function registerEventsOutbox(events: Command, shell: Shell, outboxes: NodeOutboxes): void {
  events
    .command("outbox")
    .description("on a joined node: show the events that wait for the main process, and those that it refused")
    .option("--retry [id]", "send refused events again: all of them, or one")
    .option("--discard [id]", "discard refused events: all of them, or one")
    .action(async ({ retry, discard }: OutboxOptions) => {
      if (retry !== undefined && discard !== undefined)
        throw OperatingError.invalid("USAGE", "give --retry or --discard, not both");
      await using node = await outboxes.open();
      if (node === undefined)
        throw OperatingError.conflict(
          "NOT_A_NODE",
          `${shell.main.dataDir} is not the folder of a node that has joined`,
          {
            hint: "Only a machine that has joined another main process has an outbox: 'ringrift join <url> <token>'.",
          },
        );
      if (retry === undefined && discard === undefined) return show(node, shell);
      const count =
        retry === undefined ? await node.outbox.discard(idOf(discard!)) : await node.outbox.retry(idOf(retry));
      const done = retry === undefined ? "discarded" : "sent_again";
      if (shell.json) return shell.print({ [done]: count });
      shell.say(`${plural(count, "event")} ${retry === undefined ? "given up" : "to be sent once more"}`);
    });
}
