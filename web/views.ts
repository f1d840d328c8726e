/** Which part of the code shows which view, and how views are found. Each is loaded when somebody looks at it. */
import type { ComponentType } from "preact";
import type { View } from "../src/surfaces/web/views.ts";

/** What the address says. */
export interface ViewProps {
  readonly params: Record<string, string>;
  readonly query: URLSearchParams;
}

type Loader = () => Promise<{ default: ComponentType<ViewProps> }>;

const models: Loader = () => import("./pages/models.tsx");
const games: Loader = () => import("./pages/games.tsx");
const play: Loader = () => import("./pages/play.tsx");
const why: Loader = () => import("./pages/why.tsx");
const events: Loader = () => import("./pages/events.tsx");
const work: Loader = () => import("./pages/work.tsx");
const nodes: Loader = () => import("./pages/nodes.tsx");
const artifacts: Loader = () => import("./pages/artifacts.tsx");
const daemons: Loader = () => import("./pages/daemons.tsx");

export const loaders: Readonly<Record<View, Loader>> = {
  "/": () => import("./pages/home.tsx"),
  "/configs/:config": () => import("./pages/config.tsx"),
  "/gates": () => import("./pages/gates.tsx"),
  "/models": models,
  "/models/:id": models,
  "/games": games,
  "/games/:id": games,
  "/play": play,
  "/play/:config": play,
  "/why": why,
  "/why/:subject": why,
  "/journal": events,
  "/journal/:id": events,
  "/dead-letters": () => import("./pages/dead-letters.tsx"),
  "/work": work,
  "/work/:id": work,
  "/nodes": nodes,
  "/nodes/:id": nodes,
  "/cluster": () => import("./pages/cluster.tsx"),
  "/artifacts": artifacts,
  "/artifacts/:id": artifacts,
  "/daemons": daemons,
  "/daemons/:id": daemons,
  "/wiring": () => import("./pages/wiring.tsx"),
  "/handover": () => import("./pages/handover.tsx"),
  "/alerts": () => import("./pages/alerts.tsx"),
  "/settings": () => import("./pages/settings.tsx"),
  "/writes": () => import("./pages/writes.tsx"),
};
