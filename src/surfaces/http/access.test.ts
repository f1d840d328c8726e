import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { routerOver } from "../../../test/support/router.ts";
import { builtinRows } from "../../events/index.ts";
import { systemClock } from "../../kernel/index.ts";
import type { EventRouter, RouterSettings } from "../../router/index.ts";
import { createApi } from "./api.ts";
import { serveApi } from "./server.ts";

const serving = async (settings: Partial<RouterSettings> = {}) => {
  const router = routerOver(builtinRows, settings).router as unknown as EventRouter;
  const folder = mkdtempSync(join(tmpdir(), "ringrift-api-"));
  const api = createApi({ router, clock: systemClock(), token: "secret", status: () => ({}), audit: () => ({}) });
  const listening = await serveApi(api, { socketPath: join(folder, "s.sock"), port: 0 });
  onTestFinished(async () => {
    await listening.close();
    await router.stop();
    await router.store.close();
    rmSync(folder, { recursive: true });
  });
  return { router, listening };
};

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
  expect(router.getStats().total_events).toBe(0);
});

test("the Unix socket needs no token, the port does", async () => {
  const { router, listening } = await serving();
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
  expect(router.getStats().total_events).toBe(1);
});

test("a stream of a name that is refused says so and leaves no listener behind", async () => {
  const { router, listening } = await serving({ strictNames: true });
  const answer = await fetch(
    `http://127.0.0.1:${listening.port}/v1/stream?event_type=NEW_GAMES_AVAILABLE&event_type=NO_SUCH_EVENT`,
  );
  expect(answer.status).toBe(422);
  await answer.text();
  expect(router.listSubscribers()).toEqual({});
});
