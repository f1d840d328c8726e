/** The page begins here: it logs in where the address brings a code, and shows the view that the address names. */
import { type ComponentType, render } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { getSession } from "../src/surfaces/session/wire.ts";
import { matchView } from "../src/surfaces/web/match-view.ts";
import { NAV } from "../src/surfaces/web/nav.ts";
import { createApi, Refused } from "./browser/api.ts";
import { type App, AppContext } from "./browser/app.ts";
import { createLive } from "./browser/live.ts";
import { beginSessionOf } from "./browser/login.ts";
import { Empty, ErrorBox } from "./browser/parts.tsx";
import { Shell } from "./browser/shell.tsx";
import { loaders, type ViewProps } from "./views.ts";
import { sharedStream } from "./workers.ts";
import "./style.css";

const here = () => location.pathname + location.search;

/** Every link within the page changes the view; the browser does the rest. */
function useAddress(): readonly [string, (to: string) => void] {
  const [address, setAddress] = useState(here());
  const go = useCallback((to: string) => {
    history.pushState(null, "", to);
    setAddress(here());
    scrollTo(0, 0);
    document.querySelector<HTMLElement>("#main")?.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    const click = (event: MouseEvent) => {
      const link = (event.target as Element | null)?.closest("a");
      const isOurs = link?.origin === location.origin && !link.hasAttribute("download") && !("outside" in link.dataset);
      if (!isOurs || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey)
        return;
      event.preventDefault();
      go(link.pathname + link.search);
    };
    const back = () => setAddress(here());
    document.addEventListener("click", click);
    addEventListener("popstate", back);
    return () => {
      document.removeEventListener("click", click);
      removeEventListener("popstate", back);
    };
  }, [go]);
  return [address, go];
}

const titleOf = (path: string): string => {
  const item = NAV.flatMap(({ items }) => items).findLast(({ to }) => path === to || path.startsWith(`${to}/`));
  const rest = path.split("/").slice(2).map(decodeURIComponent).join(" ");
  return [rest, item?.name ?? (path === "/" ? "Home" : path), "RingRift"].filter((part) => part !== "").join(" · ");
};

/** The view that the address names, once it is loaded. */
function Viewed({ address }: { address: string }) {
  const { pathname, searchParams } = new URL(address, location.origin);
  const found = matchView(pathname);
  const [loaded, setLoaded] = useState<{ view: string; Page: ComponentType<ViewProps> } | undefined>();
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    document.title = titleOf(pathname);
  }, [pathname]);
  const view = found?.view;
  useEffect(() => {
    if (view === undefined) return;
    setFailed(false);
    loaders[view]().then(
      ({ default: Page }) => setLoaded({ view, Page }),
      // A process of another version has other files.
      () => setFailed(true),
    );
  }, [view]);
  if (found === undefined)
    return (
      <div class="empty">
        <Empty title={`There is no view ${pathname}.`} todo="Type / to search for what you want to see." />
      </div>
    );
  if (failed)
    return (
      <div class="empty">
        <Empty
          title="This part of the page could not be loaded."
          todo="Load the page again: the process may have another version now."
        />
      </div>
    );
  if (loaded?.view !== view) return null;
  const { Page } = loaded!;
  return <Page key={pathname} params={found.params} query={searchParams} />;
}

/** Without a session and without the right to look: how one gets one. */
const Locked = ({ refused }: { refused: Refused }) => (
  <main class="locked">
    <h1>RingRift</h1>
    <ErrorBox refused={refused} />
    <p>A link that was shared with you may have ended: ask for another.</p>
    <p>On the machine where it runs, type this. It prints an address that logs you in:</p>
    <pre>ringrift open</pre>
    <p>
      <button type="button" onClick={() => location.reload()}>
        Try again
      </button>
    </p>
  </main>
);

function Page({
  given,
  api,
  live,
  login,
}: Pick<App, "api" | "live"> & { given: App["session"]; login: Refused | undefined }) {
  const [address, go] = useAddress();
  const [denied, setDenied] = useState<Refused | undefined>(login);
  useEffect(() => {
    // The cookie is that of all tabs: who is shut out in one is so in all.
    const others = new BroadcastChannel("ringrift-denied");
    const shutOut = (refused: Refused) => {
      live.stop();
      setDenied(refused);
    };
    others.onmessage = ({ data }: MessageEvent<ConstructorParameters<typeof Refused>[0]>) => shutOut(new Refused(data));
    const hear = (event: Event) => {
      const refused = (event as CustomEvent<Refused>).detail;
      const { status, code, message: detail } = refused;
      others.postMessage({ status, code, detail });
      shutOut(refused);
    };
    addEventListener("ringrift:denied", hear);
    return () => {
      removeEventListener("ringrift:denied", hear);
      others.close();
    };
  }, [live]);
  if (denied !== undefined) return <Locked refused={denied} />;
  return (
    <AppContext.Provider value={{ api, live, session: given, go }}>
      <Shell groups={NAV} path={new URL(address, location.origin).pathname}>
        <Viewed address={address} />
      </Shell>
    </AppContext.Provider>
  );
}

async function begin(): Promise<void> {
  const api = createApi((refused) => dispatchEvent(new CustomEvent("ringrift:denied", { detail: refused })));
  const login = await beginSessionOf(location, history);
  const session = login === undefined ? await api.call(getSession).catch((thrown) => thrown as Refused) : login;
  const live = createLive(typeof SharedWorker === "undefined" ? undefined : sharedStream);
  const isIn = !(session instanceof Refused);
  // A process that is away for a moment shuts nobody out.
  const locked = isIn || session.status !== 401 ? undefined : session;
  // A link that shows a part has no stream: what it shows is asked for again and again.
  if (locked !== undefined || (isIn && (session.path ?? "/") !== "/")) live.stop();
  render(
    <Page given={isIn ? session : undefined} api={api} live={live} login={locked} />,
    document.querySelector("#page")!,
  );
}

void begin();
