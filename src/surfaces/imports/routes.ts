import { handle, type Route } from "../http/route.ts";
import * as wire from "./wire.ts";

export const importRoutes: readonly Route[] = [
  handle(wire.importFiles, async ({ ports, body: { files, dry_run } }) => ({
    files: await ports.imports.take(files, dry_run),
  })),
];
