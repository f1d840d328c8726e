/**
 * What each view asks. A share opens views by the start of their addresses; this says which requests that opens, and a test holds
 * it against what the views really ask. For each route: which of its parameters must be the one that the address of the view names.
 */
import { VIEWS, type View } from "./views.ts";

type Asked = Readonly<Record<string, Readonly<Record<string, string>>>>;

export const VIEW_ROUTES: Readonly<Record<View, Asked>> = {
  "/": { getOverview: {}, getLoop: {} },
  "/configs/:config": {
    getLoop: { config_key: "config" },
    getLoopHistory: { config: "config" },
    listCurves: { config: "config" },
  },
  "/gates": { getLoop: {} },
  "/models": { listModels: {} },
  "/models/:id": { getModel: { id: "id" }, getLineage: { id: "id" }, getArtifact: { sha256: "id" } },
  "/games": { listRecords: {}, listBoards: {} },
  "/games/:id": { getRecord: { id: "id" }, listModels: {}, getArtifact: {} },
  "/play": { listModels: {}, getArtifact: {} },
  "/play/:config": { listModels: {}, getArtifact: {} },
  "/why": { getOverview: {}, getLoop: {} },
  "/why/:subject": { why: { subject: "subject" } },
  "/journal": { listEvents: {}, listEventUse: {}, getEventUse: {} },
  "/journal/:id": { getEvent: { id: "id" }, getTrace: { id: "id" } },
  "/dead-letters": { listDeadLetters: {}, summarizeDeadLetters: {} },
  "/work": { listWork: {}, forecastWork: {}, getWorkStats: {}, listFailures: {} },
  "/work/:id": { getWork: { id: "id" }, getCurve: { id: "id" }, getLineage: { id: "id" } },
  "/nodes": { listNodes: {}, getResources: {} },
  "/nodes/:id": { getNode: { id: "id" }, getCopies: {}, recoveryHistory: { node: "id" } },
  "/cluster": { getCluster: {}, planRecovery: {}, recoveryHistory: {}, getFleet: {}, getSteering: {}, listLocks: {} },
  "/artifacts": { listArtifacts: {}, getCopies: {}, listDeliveries: {}, getResources: {} },
  "/artifacts/:id": { showArtifact: { id: "id" }, getLineage: { id: "id" }, getArtifact: { sha256: "id" } },
  "/daemons": { listDaemons: {}, listDaemonActions: {} },
  "/daemons/:id": { getDaemon: { name: "id" }, listDaemonActions: { daemon: "id" } },
  "/wiring": { getAudit: {} },
  "/handover": { getLoop: {}, getOverview: {}, listAlerts: {}, listWrites: {}, listEventUse: {} },
  "/alerts": { listAlerts: {}, getAlert: {} },
  "/settings": {},
  "/writes": { listWrites: {} },
};

/** Who looks at anything at all asks these as well. */
const ALWAYS: ReadonlySet<string> = new Set(["getSession", "beginSession", "endSession"]);

const partsOf = (path: string): string[] => path.split("/").filter((part) => part !== "");

/** What the start of an address says of the places of a view; undefined where it is not the start of that view. */
function placesIn(view: View, prefix: readonly string[]): ReadonlyMap<string, string> | undefined {
  const places = new Map<string, string>();
  const parts = partsOf(view);
  if (parts.length < prefix.length) return undefined;
  for (const [i, given] of prefix.entries()) {
    const part = parts[i]!;
    if (part.startsWith(":")) places.set(part.slice(1), given);
    else if (part !== given) return undefined;
  }
  return places;
}

const SHORT_HASH = /^[0-9a-f]{6,64}$/;
/** A hash may be shortened in an address; the view then asks for the whole. */
const isSame = (given: string, asked: string): boolean =>
  given === asked || (SHORT_HASH.test(given) && asked.length === 64 && asked.startsWith(given));

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

export interface RequestedRoute {
  readonly id: string;
  readonly method: string;
  readonly path: string;
}

/** The parameters of a request, of its path and of its query. */
function parametersOf(route: RequestedRoute, url: string): (name: string) => string | undefined {
  const { pathname, searchParams } = new URL(url, "http://here");
  const given = pathname.split("/");
  const wanted = route.path.split("/");
  return (name) => {
    const at = wanted.indexOf(`{${name}}`);
    // Said twice, it says nothing.
    const all = searchParams.getAll(name);
    return at >= 0 ? decoded(given[at] ?? "") : all.length === 1 ? all[0] : undefined;
  };
}

/** Whether some view has an address that begins so. */
export const isViewPrefix = (path: string): boolean =>
  path === "/" || VIEWS.some((view) => placesIn(view, partsOf(path).map(decoded)) !== undefined);

/** Whether a view's address begins with the path of a share. */
export const isWithin = (path: string, address: string): boolean =>
  path === "/" || address === path || address.startsWith(`${path}/`);

/** Whether a share of this path may ask this of us: only what its views ask, and never a change. */
export function isShared(path: string, route: RequestedRoute, url: string): boolean {
  if (ALWAYS.has(route.id)) return true;
  if (route.method !== "GET") return false;
  if (path === "/") return true;
  const prefix = partsOf(path).map(decoded);
  const parameter = parametersOf(route, url);
  return VIEWS.some((view) => {
    const places = placesIn(view, prefix);
    const bound = VIEW_ROUTES[view][route.id];
    if (places === undefined || bound === undefined) return false;
    return Object.entries(bound).every(([name, place]) => {
      const given = places.get(place);
      return given === undefined || isSame(given, parameter(name) ?? "");
    });
  });
}

/** Views that show what files there are. All others ask for files of models alone. */
const SHOW_FILES: ReadonlySet<View> = new Set<View>(["/artifacts", "/artifacts/:id"]);

/** Which files a share of this path may fetch at all: any, or models, of one config where its address names one. */
export function filesShared(path: string): "any" | { readonly configKey: string | undefined } {
  const prefix = partsOf(path).map(decoded);
  const views = VIEWS.flatMap((view) => {
    const places = placesIn(view, prefix);
    return places === undefined ? [] : [{ view, configKey: places.get("config") }];
  });
  return views.some(({ view }) => SHOW_FILES.has(view)) ? "any" : { configKey: views[0]?.configKey };
}
