import { handle, type Route } from "../http/route.ts";
import { getHealth } from "./wire.ts";

export const healthRoutes: readonly Route[] = [handle(getHealth, ({ ports }) => ports.health())];
