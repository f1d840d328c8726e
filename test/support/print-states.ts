/** A table of states as the docs show it. */

export interface PrintedStep {
  readonly from: string | null;
  readonly action: string;
  readonly to: string;
  readonly when: string;
  /** Events of the same commit, where the table tells them. */
  readonly emits?: readonly string[];
}

/** The table as a Mermaid state diagram; `ends` are the states that nothing follows. */
export function drawStates(steps: readonly PrintedStep[], ends: readonly string[] = []): string {
  const labels = new Map<string, Set<string>>();
  for (const { from, action, to } of steps) {
    if (from === to) continue;
    const arrow = `${from ?? "[*]"} --> ${to}`;
    labels.set(arrow, (labels.get(arrow) ?? new Set()).add(action));
  }
  return [
    "stateDiagram-v2",
    ...[...labels].map(([arrow, actions]) => `    ${arrow}: ${[...actions].join(", ")}`),
    ...ends.map((state) => `    ${state} --> [*]`),
  ].join("\n");
}

/** The table as Markdown. */
export function printSteps(steps: readonly PrintedStep[]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const head = ["From", "Step", "To", "When", ...(steps.some(({ emits }) => emits) ? ["Emits"] : [])];
  const rows = steps.map(({ from, action, to, when, emits }) =>
    row([from ?? "-", action, to, when, ...(emits === undefined ? [] : [emits.join(", ") || "-"])]),
  );
  return [row(head), row(head.map(() => "---")), ...rows].join("\n");
}
