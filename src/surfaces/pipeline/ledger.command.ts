import type { Command } from "commander";
import type { BooksView } from "../../pipeline/index.ts";
import { askEither } from "../cli/answers.ts";
import { answer, negative, type Shell } from "../cli/shell.ts";
import { right, tableLines } from "../cli/table.ts";
import { number, plural, printable } from "../cli/text.ts";
import { getLedger } from "./wire.ts";
import { booksOffBy, rejectedGames } from "./words.ts";

function ledgerLines(books: readonly BooksView[], shell: Pick<Shell, "paint" | "width">): string[] {
  const { paint } = shell;
  const rows = books.map((book) => {
    const reasons = Object.entries(book.rejected).map(([reason, games]) => `${number(games)} ${printable(reason)}`);
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
      paint.dim(reasons.join(", ")),
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
