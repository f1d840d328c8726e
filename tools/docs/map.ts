/** The map of the documentation: `docs/README.md` names every page there is. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Pages and printed files that the map does not name, relative to `docs/`. */
export function missingFromMap(docs: string): string[] {
  const map = readFileSync(join(docs, "README.md"), "utf8");
  const pages = readdirSync(docs).filter((name) => name.endsWith(".md") && name !== "README.md");
  const printed = readdirSync(join(docs, "reference")).map((name) => `reference/${name}`);
  return [...pages, ...printed].filter((name) => !map.includes(`](${name})`) && !map.includes(`](${name}#`));
}
