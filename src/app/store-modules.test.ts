import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";

/** Loads a module on a thread of its own and tells all that was loaded with it. */
const LOADING = `
  const { registerHooks } = require("node:module");
  const { parentPort, workerData } = require("node:worker_threads");
  const seen = [];
  registerHooks({ resolve(specifier, context, next) { const found = next(specifier, context); seen.push(found.url); return found; } });
  import(workerData).then(() => parentPort.postMessage(seen));
`;

test("the writer's thread loads the tables of the rooms, and neither the router, the catalog nor a schema", async () => {
  const thread = new Worker(LOADING, { eval: true, workerData: new URL("./store-modules.ts", import.meta.url).href });
  const { promise, resolve, reject } = Promise.withResolvers<string[]>();
  thread.once("message", resolve).once("error", reject);
  const loaded = await promise;
  await thread.terminate();
  expect(loaded.some((url) => url.endsWith("/work/tables.ts"))).toBe(true);
  // Every start of a main process waits for it: what tables need of the router is in store.port.ts and sql-rows.ts.
  const heavy = /\/node_modules\/|\/src\/(router\/(index|router)|events\/index|[^/]+\/units)\.ts$/;
  expect(loaded.filter((url) => heavy.test(url))).toEqual([]);
});
