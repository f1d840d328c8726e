import { handle, type Route } from "../http/route.ts";
import { findIn } from "./find.ts";
import { findAnything } from "./wire.ts";

export const searchRoutes: readonly Route[] = [
  handle(findAnything, async ({ ports, query: { text } }) => ({ found: await findIn(ports, text) })),
];
