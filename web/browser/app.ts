/** What every part of the page works with. */
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { Answer } from "../../src/surfaces/http/wire.ts";
import type { getSession } from "../../src/surfaces/session/wire.ts";
import type { Api } from "./api.ts";
import type { Live } from "./live.ts";

export interface App {
  readonly api: Api;
  readonly live: Live;
  readonly session: Answer<typeof getSession> | undefined;
  /** Shows another view. */
  readonly go: (to: string) => void;
}

export const AppContext = createContext<App | undefined>(undefined);

export function useApp(): App {
  const app = useContext(AppContext);
  if (app === undefined) throw new Error("this part stands outside of the page");
  return app;
}

/** The start of the addresses that somebody shared with whoever looks here; `/` for all. */
export const useSharedPath = (): string => useApp().session?.path ?? "/";

/** Whether the one who looks may change something. */
export const useMayWrite = (): boolean => useApp().session?.scope === "operator";

const TICK_MS = 1_000;

/** The time, told again each second: what is relative stays right. */
export function useNow(): number {
  const { api } = useApp();
  const [now, setNow] = useState(api.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(api.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [api]);
  return now;
}
