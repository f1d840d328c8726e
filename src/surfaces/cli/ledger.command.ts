import type { Command } from "commander";
import type { BooksView } from "../../pipeline/snapshot.ts";
import { booksOffBy, rejectedGames } from "./loop-words.ts";
import { askMain } from "./main-process.ts";
import { negative, type Shell } from "./shell.ts";
import { type Cell, tableLines } from "./table.ts";
import { number, plural, printable } from "./text.ts";

const right = (text: string): Cell => ({ text, align: "right" });

function ledgerLines(books: readonly BooksView[], shell: Pick<Shell, "paint" | "width">): string[] {
  const { paint } = shell;
  const rows = books.map((book): Cell[] => {
    const reasons = Object.entries(book.rejected).map(([reason, games]) => `${number(games)} ${printable(reason)}`);
    const off = booksOffBy(book);
    return [
      { text: printable(book.config_key), paint: paint.bold },
      right(number(book.produced)),
      right(number(book.durable)),
      right(number(book.in_flight)),
      right(number(rejectedGames(book))),
      book.balanced
        ? { text: "balanced", paint: paint.green }
        : { text: `${plural(Math.abs(off), "game")} ${off < 0 ? "missing" : "too many"}`, paint: paint.red },
      { text: reasons.join(", "), paint: paint.dim },
    ];
  });
  const head = ["CONFIG", right("PRODUCED"), right("DURABLE"), right("IN FLIGHT"), right("REJECTED"), "", "WHY"];
  return tableLines([head, ...rows], shell);
}

const show = (shell: Shell) =>
  askMain(shell.main, async (main) => {
    const { books } = await main.get<{ books: BooksView[] }>("/v1/ledger");
    if (shell.json) shell.print({ books });
    else if (books.length === 0) shell.say("no game has been produced yet");
    else for (const line of ledgerLines(books, shell)) shell.say(line);
    if (books.some(({ balanced }) => !balanced)) throw negative();
  });

/** `ringrift ledger`: what became of every game. */
export function registerLedger(program: Command, shell: Shell): void {
  program
    .command("ledger")
    .description(
      "the books: games produced = durable + in flight + rejected; exit code 1 when something does not balance",
    )
    .action(() => show(shell));
}
