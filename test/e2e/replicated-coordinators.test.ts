/** Three processes with databases of their own over three real nats-servers: whoever leads is killed, and nothing acknowledged is lost. */
import { expect, test } from "vitest";
import { run, tiny } from "../soak/fail-over.ts";
import { patience } from "../support/patience.ts";

test(
  "a leader that is killed is followed by another, all servers start again, and every replica has what was acknowledged",
  async ({ skip }) => {
    const { done } = await run(tiny);
    if (done === undefined) return skip();
    expect(done).toMatchObject({ kills: 1, harms: { all_servers: { times: 1 } } });
    expect(done.acked).toBeGreaterThan(80);
  },
  patience(180_000),
);
