import type { FleetConsole } from "../../cluster/fleet/index.ts";
import type { Why } from "../../surfaces/index.ts";

/** Of a rented node: what it costs, and why it is kept or goes. It holds nobody up, so it is no gate that fails. */
export function withRented(why: Why, nodeId: string, { whyKept }: Pick<FleetConsole, "whyKept">): Why {
  const kept = whyKept(nodeId);
  if (kept === undefined) return why;
  const { row, gates } = kept;
  const open = gates.filter(({ holds }) => !holds);
  const [first] = open;
  const stays =
    row.state !== "active"
      ? `it is ${row.state}: ${row.return_reason ?? row.reason}`
      : first === undefined
        ? "it has nothing to do, and goes"
        : `it stays: ${open.map(({ gate, actual, required }) => `${gate} ${actual}, ${required} to go`).join("; ")}`;
  return {
    ...why,
    gates: [
      ...why.gates,
      {
        gate: "rented",
        passed: true,
        actual: `at ${row.provider} for ${row.price_usd_hour} USD an hour, ${row.cost_usd.toFixed(4)} USD so far; ${stays}`,
        required: "returned when it is idle",
        since: row.requested_at,
        hint: null,
      },
    ],
  };
}
