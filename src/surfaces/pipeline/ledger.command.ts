import type { Command } from "commander";
import { askEither } from "../cli/answers.ts";
import { answer, negative, type Shell } from "../cli/shell.ts";
import { right, tableLines } from "../cli/table.ts";
import { number, plural, printable } from "../cli/text.ts";
import type { Answer } from "../http/wire.ts";
import { getLedger } from "./wire.ts";
import { booksOffBy, rejectedGames } from "./words.ts";

type LedgerLine = Answer<typeof getLedger>["books"][number];

/** Rejected ones by their reason, and what would be lost with a rented node. */
const notes = ({ rejected, at_risk }: LedgerLine): string =>
  [
    ...(at_risk === 0 ? [] : [`${number(at_risk)} AT RISK: on nodes that may vanish`]),
    ...Object.entries(rejected).map(([reason, games]) => `${number(games)} ${printable(reason)}`),
  ].join(", ");

function ledgerLines(books: readonly LedgerLine[], shell: Pick<Shell, "paint" | "width">): string[] {
  const { paint } = shell;
  const rows = books.map((book) => {
    const off = booksOffBy(book);
    return [
      paint.bold(printable(book.config_key)),
      right(number(book.produced)),
      right(number(book.durable)),
      right(number(book.in_flight)),
      right(number(rejectedGames(book))),
      book.balanced
        ? paint.green("balanced")
        : paint.red(`${plural(Math.abs(off), "game")} ${off < 0 ? "missing" : "too many"}`),
      (book.at_risk > 0 ? paint.red : paint.dim)(notes(book)),
    ];
  });
  const head = ["CONFIG", right("PRODUCED"), right("DURABLE"), right("IN FLIGHT"), right("REJECTED"), "", "WHY"];
  return tableLines([head, ...rows], shell);
}

const show = async (shell: Shell) => {
  const { books } = await askEither(shell, (main) => main.call(getLedger));
  answer(shell, { books }, () => (books.length === 0 ? "no game has been produced yet" : ledgerLines(books, shell)));
  if (books.some(({ balanced }) => !balanced)) throw negative();
};

/** `ringrift ledger`: what became of every game. */
export function registerLedger(command: Command, shell: Shell): void {
  command.action(() => show(shell));
}
