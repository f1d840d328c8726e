import type { Command } from "commander";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { printable } from "../cli/text.ts";
import { sentence } from "../cli/values.ts";
import { nodeDetails, nodeLines } from "./view.ts";
import { cordonNode, drainNode, forgetNode, getNode, listNodes, uncordonNode } from "./wire.ts";

const list = (shell: Shell) =>
  showAnswer(shell, listNodes, {}, ({ nodes }) => {
    const lines = nodeLines(nodes, shell);
    if (!nodes.every(({ local }) => local)) return lines;
    const hint = [
      "Add a machine: make a token here with 'ringrift token create <label> --scope worker',",
      "then run 'ringrift join <url> <token>' there.",
    ];
    return [...lines, "", ...hint.map(shell.paint.dim)];
  });

/** What may be decided about a node: how it is asked for, and what is said once it is so. */
const VERBS = {
  cordon: {
    route: cordonNode,
    about: "give it no new work; what it has goes on",
    done: "gets no new work; what it has goes on",
  },
  drain: {
    route: drainNode,
    about: "give it no new work, and let it give back what it has",
    done: "gets no new work and gives back what it has",
  },
  uncordon: { route: uncordonNode, about: "let it have work again", done: "takes work again" },
} as const;

/** `ringrift nodes`: the machines of the cluster. */
export function registerNodes(nodes: Command, shell: Shell): void {
  const which = ["<node>", "its id, or its label if only one has it"] as const;
  nodes
    .command("list", { isDefault: true })
    .description("list them; this is what 'ringrift nodes' does")
    .action(() => list(shell));
  nodes
    .command("show")
    .description("all of one: what it has, what it holds, what it has done")
    .argument(...which)
    .action((id: string) => showAnswer(shell, getNode, { params: { id } }, (node) => nodeDetails(node, shell), "node"));
  for (const [verb, { route, about, done }] of Object.entries(VERBS)) {
    const command = nodes
      .command(verb)
      .description(about)
      .argument(...which);
    if (route !== uncordonNode) command.option("--reason <text>", "why; kept with the node", sentence("--reason"));
    command.action((id: string, { reason }: { reason?: string }) =>
      showAnswer(
        shell,
        route,
        { params: { id }, body: { reason } },
        ({ label }) => `${printable(label)} ${done}`,
        "node",
      ),
    );
  }
  nodes
    .command("forget")
    .description("take it out for good: its key opens nothing any more, and its jobs come back")
    .argument(...which)
    .action((id: string) =>
      showAnswer(
        shell,
        forgetNode,
        { params: { id } },
        ({ label }) => `${printable(label)} is forgotten: its key opens nothing any more, and its jobs come back`,
        "forgotten",
      ),
    );
}
