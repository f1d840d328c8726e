/** The frame of every view: where one can go, how all is, and a search for anything that has a name. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isWell } from "../../src/daemons/cause.ts";
import { verdictOf } from "../../src/surfaces/status/verdict.ts";
import { getOverview } from "../../src/surfaces/status/wire.ts";
import type { NavGroup } from "../../src/surfaces/web/nav.ts";
import { isWithin } from "../../src/surfaces/web/view-routes.ts";
import { useApp, useSharedPath } from "./app.ts";
import { MARKS } from "./parts.tsx";
import { Search } from "./search.tsx";
import { SessionMenu } from "./session-menu.tsx";
import { Shortcuts, ShortcutsButton } from "./shortcuts.tsx";
import { useAnswer } from "./use-answer.ts";

const isHere = (path: string, to: string): boolean =>
  to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`);

function useStreamState() {
  const { live } = useApp();
  const [state, setState] = useState(live.state());
  useEffect(() => {
    // It may have changed between the first drawing and now.
    setState(live.state());
    return live.onState(setState);
  }, [live]);
  return state;
}

/** A stream that is not there is said, and is no reason to wait: views ask by themselves. */
function LiveMark({ isAway }: { isAway: boolean }) {
  const state = useStreamState();
  const tone = isAway ? "bad" : state === "live" ? "good" : "warn";
  const words = isAway ? "away" : state === "live" ? "live" : "polling";
  const title = isAway
    ? "The main process does not answer. What is shown is what it said last."
    : state === "live"
      ? "Views change as soon as something happens."
      : "The stream of events is not there: views ask again every 3 s.";
  return (
    <span class={`live ${tone}`} title={title} role="status">
      <i aria-hidden="true" />
      {words}
    </span>
  );
}

type Theme = "system" | "light" | "dark";
const THEMES: readonly Theme[] = ["system", "light", "dark"];
const THEME_KEY = "ringrift-theme";

function ThemeButton() {
  const [theme, setTheme] = useState<Theme>((localStorage.getItem(THEME_KEY) as Theme | null) ?? "system");
  useEffect(() => {
    localStorage.setItem(THEME_KEY, theme);
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
  const icon = { system: "◐", light: "○", dark: "●" }[theme];
  return (
    <button type="button" class="quiet" onClick={() => setTheme(next)} title={`Colours: ${theme}. Next: ${next}`}>
      <span aria-hidden="true">{icon}</span>
      <span class="visually-hidden">Colours: {theme}</span>
    </button>
  );
}

/** How all is, in the words of `ringrift status`. */
function Verdict() {
  const { answer, refused } = useAnswer(getOverview, {});
  const isAway = refused?.status === 0;
  const causes = answer?.causes ?? [];
  const isKnown = isAway || answer !== undefined;
  const worst = causes.some(({ level }) => level === "bad") ? "bad" : "warn";
  const tone = !isKnown ? "plain" : isAway ? "bad" : isWell(causes) ? "good" : worst;
  const words = isAway ? "the main process is away" : isKnown ? verdictOf(causes) : "asking";
  return (
    <>
      <a class={`verdict ${tone}`} href="/" data-verdict>
        <span aria-hidden="true">{MARKS[tone]}</span> {words}
      </a>
      <LiveMark isAway={isAway} />
    </>
  );
}

export function Shell({
  groups,
  path,
  children,
}: {
  groups: readonly NavGroup[];
  path: string;
  children: ComponentChildren;
}) {
  const [open, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  useEffect(() => setOpen(false), [path]);
  const shared = useSharedPath();
  const isWhole = shared === "/";
  const shown = groups
    .map(({ name, items }) => ({ name, items: items.filter(({ to }) => isWithin(shared, to)) }))
    .filter(({ items }) => items.length > 0);
  return (
    <div class="shell">
      <a class="skip" href="#main" data-outside>
        Skip to the content
      </a>
      <header class="top">
        <button
          type="button"
          class="quiet menu"
          aria-expanded={open}
          aria-controls="nav"
          onClick={() => setOpen(!open)}
        >
          <span aria-hidden="true">☰</span>
          <span class="visually-hidden">Menu</span>
        </button>
        <a class="brand" href={shared}>
          <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
            <circle cx="10" cy="10" r="7.5" />
            <path d="M3 12.5 17 7.5" />
          </svg>
          RingRift
        </a>
        {isWhole && <Verdict />}
        <span class="grow" />
        {isWhole && <Search />}
        <ThemeButton />
        <SessionMenu />
      </header>
      <nav id="nav" class={open ? "side open" : "side"} aria-label="Views">
        {shown.map(({ name, items }) => (
          <div class="group" key={name}>
            <h2>{name}</h2>
            <ul>
              {items.map((item) => (
                <li key={item.to}>
                  <a href={item.to} aria-current={isHere(path, item.to) ? "page" : undefined}>
                    {item.name}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
        <ShortcutsButton />
      </nav>
      <Shortcuts groups={shown} />
      <main id="main" tabIndex={-1} ref={main}>
        {children}
      </main>
    </div>
  );
}
