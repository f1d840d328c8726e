import type { Command } from "commander";
import { REPAIRS } from "../../cluster/recovery/rungs.ts";
import { OperatingError } from "../../kernel/index.ts";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { printable } from "../cli/text.ts";
import { oneOf, sentence, wholeNumber } from "../cli/values.ts";
import type { Answer } from "../http/wire.ts";
import { nodeHealthLines } from "./health-view.ts";
import { clusterLine, nodeDetails, nodeLines, policyWords, withdrawnLine } from "./view.ts";
import {
  cordonNode,
  drainNode,
  forgetNode,
  getNode,
  getNodeHealth,
  listNodes,
  setNodePolicy,
  uncordonNode,
} from "./wire.ts";

const list = (shell: Shell) =>
  showAnswer(shell, listNodes, {}, ({ nodes, coordinators }) => {
    const lines = [...nodeLines(nodes, shell), "", clusterLine(nodes, coordinators)];
    if (!nodes.every(({ local }) => local)) return lines;
    const hint = ["Add a machine: 'ringrift token create <label> --join' prints the command", "to run there."];
    return [...lines, ...hint.map(shell.paint.dim)];
  });

/** What may be decided about a node: how it is asked for, and what is said once it is so. */
const VERBS = {
  cordon: {
    route: cordonNode,
    about: "give a node no new work; its running jobs continue",
    done: "gets no new work; its running jobs continue",
    would: "would get no new work; its running jobs would continue",
  },
  drain: {
    route: drainNode,
    about: "give a node no new work, and let it give back its jobs",
    done: "gets no new work and gives back its jobs",
    would: "would get no new work and give back its jobs",
  },
} as const;

const forgottenLine = ({ label, jobs, applied }: Answer<typeof forgetNode>): string => {
  const held = jobs.length === 0 ? "it has no jobs" : `its jobs ${jobs.map(printable).join(", ")} go back to the queue`;
  return applied
    ? `${printable(label)} is removed: its key no longer works, and ${held}`
    : `${printable(label)} would be removed: its key would stop working, and ${held}; nothing was changed: this was a dry run`;
};

const policyLine = ({ label, policy, applied }: Answer<typeof setNodePolicy>): string => {
  const name = printable(label);
  const what = policy == null ? "everything" : policyWords(policy);
  return applied === false
    ? `the policy of ${name} would be: ${what}; nothing was changed: this was a dry run`
    : `the policy of ${name} is: ${what}`;
};

/** Kinds of work, divided by commas. */
function kindList(text: string): string[] {
  const kinds = text.split(",").map((kind) => kind.trim());
  const wrong = kinds.find((kind) => !/^[a-z][a-z0-9_]{0,63}$/.test(kind));
  if (wrong !== undefined)
    throw OperatingError.invalid("INVALID_OPTION", `--except: '${printable(wrong).slice(0, 100)}' is no kind of work`);
  return kinds;
}

interface PolicyOptions extends WithdrawOptions {
  readonly except?: string;
  readonly maxJobs?: number;
  readonly repair?: (typeof REPAIRS)[number];
}

interface WithdrawOptions {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

/** `ringrift nodes`: the machines of the cluster. */
export function registerNodes(nodes: Command, shell: Shell): void {
  const which = ["<node>", "its id, or its label if that is unique"] as const;
  nodes
    .command("list", { isDefault: true })
    .description("list all nodes; 'ringrift nodes' does the same")
    .action(() => list(shell));
  nodes
    .command("show")
    .description("show one node: its resources, its jobs, and what it has done")
    .argument(...which)
    .action((id: string) => showAnswer(shell, getNode, { params: { id } }, (node) => nodeDetails(node, shell), "node"));
  nodes
    .command("health")
    .description("show how a node does: each check, its breaker, and whether the node may get work, data and models")
    .argument(...which)
    .action((id: string) =>
      showAnswer(shell, getNodeHealth, { params: { id } }, (found) => nodeHealthLines(found, shell), "health"),
    );
  for (const [verb, { route, about, done, would }] of Object.entries(VERBS)) {
    nodes
      .command(verb)
      .description(about)
      .argument(...which)
      .option("--reason <text>", "the reason; it is kept with the node", sentence("--reason"))
      .option("--dry-run", "only show what would change")
      .action((id: string, { reason, dryRun }: WithdrawOptions) => {
        const body = { reason, dry_run: dryRun };
        return showAnswer(shell, route, { params: { id }, body }, (node) => withdrawnLine(node, done, would), "node");
      });
  }
  const triedFirst = ["--dry-run", "only show what would change"] as const;
  nodes
    .command("uncordon")
    .description("give a node work again")
    .argument(...which)
    .option(...triedFirst)
    .action((id: string, { dryRun: dry_run }: WithdrawOptions) =>
      showAnswer(
        shell,
        uncordonNode,
        { params: { id }, body: { dry_run } },
        ({ label, applied }) =>
          applied === false
            ? `${printable(label)} would take work again; nothing was changed: this was a dry run`
            : `${printable(label)} takes work again`,
        "node",
      ),
    );
  nodes
    .command("policy")
    .description("say what a node may do: kinds of work, jobs at once, repairs; without options, take it back")
    .argument(...which)
    .option("--except <kinds>", "kinds of work that it never gets, divided by commas")
    .option("--max-jobs <n>", "jobs at once", wholeNumber("--max-jobs", 1, 10_000))
    .option("--repair <step>", `the hardest step of repair: ${REPAIRS.join(", ")}`, oneOf("--repair", REPAIRS))
    .option("--reason <text>", "the reason; it is kept with the node", sentence("--reason"))
    .option(...triedFirst)
    .action((id: string, { except, maxJobs, repair, reason, dryRun: dry_run }: PolicyOptions) => {
      const body = {
        except_kinds: except === undefined ? [] : kindList(except),
        max_jobs: maxJobs ?? null,
        repair,
        reason,
        dry_run,
      };
      return showAnswer(shell, setNodePolicy, { params: { id }, body }, policyLine, "node");
    });
  nodes
    .command("forget")
    .description("remove a node for good: its key stops working, and its jobs go back to the queue")
    .argument(...which)
    .option(...triedFirst)
    .action((id: string, { dryRun: dry_run }: WithdrawOptions) =>
      showAnswer(shell, forgetNode, { params: { id }, body: { dry_run } }, forgottenLine, "forgotten"),
    );
}
