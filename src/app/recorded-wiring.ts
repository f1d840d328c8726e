import { existsSync, readFileSync } from "node:fs";
import type { RecordedWiring } from "../daemons/index.ts";

const FILE = new URL("../../docs/reference/wiring.json", import.meta.url);

/** The wiring that was printed with this package; undefined where the docs were left out, and nothing needs them. */
export const readRecordedWiring = (): RecordedWiring | undefined =>
  existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as RecordedWiring) : undefined;
