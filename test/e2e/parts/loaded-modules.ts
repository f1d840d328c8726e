/**
 * Starts the main process here once for each of the given environments, ends it, and prints which packages of OpenTelemetry
 * beyond its bare API were loaded by then.
 */
import { registerHooks } from "node:module";
import { silentLog } from "../../../src/kernel/index.ts";

const loaded = new Set<string>();
registerHooks({
  load(url, context, nextLoad) {
    const [, name] = /@opentelemetry\/([\w-]+)\//.exec(url) ?? [];
    if (name !== undefined && name !== "api") loaded.add(name);
    return nextLoad(url, context);
  },
});
const { bootstrapCoordination } = await import("../../../src/app/bootstrap.ts");
const { readSettings } = await import("../../../src/app/settings.ts");
const { startTelemetry } = await import("../../../src/app/telemetry/telemetry.ts");
const ours = { ...process.env };
for (const env of JSON.parse(process.argv[2]!) as readonly NodeJS.ProcessEnv[]) {
  process.env = { ...ours, ...env };
  const main = await bootstrapCoordination({
    settings: readSettings({}, process.cwd(), { dataDir: process.cwd(), port: 0 }),
    log: silentLog(),
    telemetry: (log) => startTelemetry(process.env, "test", log),
  });
  await main.shutdown();
  process.stdout.write(`${JSON.stringify([...loaded].sort())}\n`);
}
