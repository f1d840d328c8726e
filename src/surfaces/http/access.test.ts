import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { runSurface } from "../../../test/support/surface.ts";
import type { Store } from "../../router/index.ts";

const serving = async (env: Record<string, string> = {}) => {
  const surface = await runSurface(env);
  onTestFinished(() => surface.end());
  return { ...surface, router: surface.coordination.router, listening: surface.coordination.api };
};

/** How much of what is sent below was taken; the process has things of its own to say. */
const published = ({ store }: { readonly store: Pick<Store, "read"> }): number =>
  store.read("SELECT 1 FROM events WHERE event_type = 'NEW_GAMES_AVAILABLE'").length;

const body = JSON.stringify({
  specversion: "1.0",
  id: "intruder",
  source: "nobody",
  type: "NEW_GAMES_AVAILABLE",
  data: { config_key: "hex8_2p", new_games: 1, total_games: 1 },
});
const post = `POST /v1/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

test("a caller on the port that hangs up at once is not taken for one on the Unix socket", async () => {
  const { router, listening } = await serving();
  const before = published(router);
  for (let round = 0; round < 20; round += 1)
    await new Promise<void>((resolve) => {
      const caller = connect(listening.port, "127.0.0.1", () => {
        caller.write(post);
        caller.resetAndDestroy();
      });
      caller.once("close", () => resolve());
    });
  const answer = await fetch(`http://127.0.0.1:${listening.port}/v1/events/intruder`);
  expect(answer.status).toBe(404);
  expect(published(router)).toBe(before);
});

test("the Unix socket needs no token, the port does", async () => {
  const { router, listening } = await serving();
  const before = published(router);
  const refused = await fetch(`http://127.0.0.1:${listening.port}/v1/events`, { method: "POST", body });
  expect(refused.status).toBe(401);
  const answer = await new Promise<string>((resolve) => {
    const caller = connect(listening.socketPath, () => void caller.write(post));
    caller.setEncoding("utf8");
    caller.once("data", (part: string) => {
      caller.destroy();
      resolve(part);
    });
  });
  expect(answer).toMatch(/^HTTP\/1.1 200/);
  expect(published(router)).toBe(before + 1);
});

test("a stream of a name that is refused says so and leaves no listener behind", async () => {
  const { router, listening } = await serving({ RINGRIFT_EVENT_VALIDATION_STRICT: "1" });
  const answer = await fetch(
    `http://127.0.0.1:${listening.port}/v1/stream?event_type=NEW_GAMES_AVAILABLE&event_type=NO_SUCH_EVENT`,
  );
  expect(answer.status).toBe(422);
  await answer.text();
  expect(Object.values(router.listSubscribers()).flat()).not.toContain("stream");
});
