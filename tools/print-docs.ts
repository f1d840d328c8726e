/**
 * Prints `docs/reference/` from the code. With --check it writes nothing and fails when a page is not what the code prints,
 * or when a file lies there that nobody prints. Both fail on a page that the map, docs/README.md, does not name.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readVersion } from "../src/app/version.ts";
import { asyncApiDocument, builtinRows } from "../src/events/index.ts";
import { allRoutes, openApiDocument } from "../src/surfaces/index.ts";
import { missingFromMap } from "./docs/map.ts";
import { ROOT, reportAndExit, say } from "./parts/root.ts";
import { shortDiff } from "./parts/short-diff.ts";
import { printAuditPage, printWiring } from "./reference/audit.ts";
import { printCommands } from "./reference/cli.ts";
import { printConfigSchema } from "./reference/config-schema.ts";
import { errorsIn, printErrors } from "./reference/errors.ts";
import { printEventMap } from "./reference/event-map.ts";
import { printReference } from "./reference/events.ts";
import { printRoutes } from "./reference/http.ts";
import { printSettings } from "./reference/settings.ts";
import { printSubscriptions } from "./reference/subscriptions.ts";
import { causesIn, printSymptoms } from "./reference/symptoms.ts";

interface Page {
  readonly file: string;
  readonly print: () => string | Promise<string>;
}

/** A new page is a new row. */
const pages: readonly Page[] = [
  { file: "events.md", print: () => printReference(builtinRows) },
  {
    file: "asyncapi.json",
    print: () => `${JSON.stringify(asyncApiDocument(builtinRows, { version: readVersion() }), null, 2)}\n`,
  },
  {
    file: "openapi.json",
    print: async () => `${JSON.stringify(await openApiDocument(allRoutes, readVersion()), null, 2)}\n`,
  },
  { file: "http.md", print: printRoutes },
  { file: "cli.md", print: printCommands },
  { file: "settings.md", print: printSettings },
  { file: "config.schema.json", print: printConfigSchema },
  { file: "audit.md", print: printAuditPage },
  { file: "wiring.json", print: printWiring },
  { file: "symptoms.md", print: () => printSymptoms(causesIn(join(ROOT, "src"))) },
  { file: "subscriptions.md", print: printSubscriptions },
  { file: "event-map.md", print: printEventMap },
  { file: "errors.md", print: () => printErrors(errorsIn(join(ROOT, "src"))) },
];

const folder = join(ROOT, "docs", "reference");

/** A page that nobody finds is not there: how many the map does not name. */
function lostPages(): number {
  const lost = missingFromMap(join(ROOT, "docs"));
  for (const name of lost) say(`docs/${name}: the map does not name it; add it to docs/README.md`);
  return lost.length;
}

async function write(): Promise<number> {
  mkdirSync(folder, { recursive: true });
  for (const { file, print } of pages) writeFileSync(join(folder, file), await print());
  say(`${pages.length} pages printed`);
  return lostPages() === 0 ? 0 : 1;
}

async function check(): Promise<number> {
  const stray = (existsSync(folder) ? readdirSync(folder) : []).filter(
    (name) => !pages.some(({ file }) => file === name),
  );
  for (const name of stray)
    say(`docs/reference/${name}: nobody prints it; delete it, or add it to tools/print-docs.ts`);
  let wrong = stray.length + lostPages();
  for (const { file, print } of pages) {
    const path = join(folder, file);
    const printed = await print();
    const stored = existsSync(path) ? readFileSync(path, "utf8") : undefined;
    if (stored === printed) continue;
    wrong += 1;
    if (stored === undefined) say(`docs/reference/${file}: missing`);
    else say(`docs/reference/${file}: differs from what the code prints\n${shortDiff(stored, printed)}`);
  }
  if (wrong > 0) say("Print it again with 'npm run docs' and commit the result.");
  say(`${pages.length} pages, ${wrong} wrong`);
  return wrong === 0 ? 0 : 1;
}

await reportAndExit(() => (process.argv.includes("--check") ? check() : write()));
