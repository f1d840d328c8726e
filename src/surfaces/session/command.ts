import { spawn } from "node:child_process";
import type { Command } from "commander";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { duration } from "../cli/text.ts";
import { oneOf } from "../cli/values.ts";
import { TOKEN_SCOPES } from "../tokens/wire.ts";
import { makeSessionCode } from "./wire.ts";

interface OpenOptions {
  readonly scope: (typeof TOKEN_SCOPES)[number];
  readonly print?: true;
}

/** Asks the desktop to show an address; where there is none, nothing happens. */
function show(url: string): void {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}

/** `ringrift open`: the page in a browser, with the right to change things. */
export function registerOpen(command: Command, shell: Shell): void {
  command
    .option(
      "--scope <scope>",
      `what the browser may do: ${TOKEN_SCOPES.join(", ")}`,
      oneOf("--scope", TOKEN_SCOPES),
      "operator",
    )
    .option("--print", "print the address only; do not start a browser")
    .action(({ scope, print }: OpenOptions) =>
      showAnswer(
        shell,
        makeSessionCode,
        { body: { scope, label: `browser of ${shell.actor}`.slice(0, 200) } },
        (made) => {
          const { DISPLAY, WAYLAND_DISPLAY } = shell.io.env;
          const hasDesktop = process.platform === "darwin" || (DISPLAY ?? WAYLAND_DISPLAY ?? "") !== "";
          if (print !== true && shell.io.isTerminal && hasDesktop) show(made.url);
          shell.note(
            `Open this address in a browser. It is good once, for ${duration(Math.max(0, made.expires_at - shell.clock.now()))}.`,
          );
          return made.url;
        },
      ),
    );
}
