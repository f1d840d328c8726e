/**
 * Every view of the page, by its address. The process answers each of them with the same document; in the browser it shows
 * which page that is. What a view shows it asks of the routes that everybody asks.
 */
export const VIEWS = [
  "/",
  "/configs/:config",
  "/gates",
  "/models",
  "/models/:id",
  "/games",
  "/games/:id",
  "/play",
  "/play/:config",
  "/why",
  "/why/:subject",
  "/journal",
  "/journal/:id",
  "/dead-letters",
  "/work",
  "/work/:id",
  "/nodes",
  "/nodes/:id",
  "/cluster",
  "/artifacts",
  "/artifacts/:id",
  "/daemons",
  "/daemons/:id",
  "/wiring",
  "/handover",
  "/alerts",
  "/settings",
  "/writes",
] as const;

export type View = (typeof VIEWS)[number];
